"""What a field of a config says about itself stands in `--help` as it is written."""

import ast
from pathlib import Path

TEMPLATE = Path(__file__).parent.parent / "template"


def test_a_text_of_several_lines_breaks_between_sentences() -> None:
    """The help keeps a line break of the source, however wide the terminal is."""
    ragged, found = [], 0
    for path in sorted(TEMPLATE.glob("*/src/*/*configs.py")):
        for cls in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for node in cls.body[1:] if isinstance(cls, ast.ClassDef) else []:
                match node:
                    case ast.Expr(ast.Constant(str() as text)):
                        found += 1
                        ragged += [line for line in text.splitlines() if not line.endswith(".")]
    assert found > 50
    assert ragged == []
