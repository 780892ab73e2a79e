"""Render this work tree, as it is now, into a project folder.

    python tools/render.py FOLDER [key=value ...]

Copier clones a git checkout and renders its newest tag, or a commit that it makes up when the tree
is dirty. Neither is what lies here. So the files that git would commit are copied into a plain
temporary folder, and that is rendered (docs/decisions/0004-render-from-a-snapshot.md).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def snapshot(folder: Path) -> Path:
    """Copy all files that git tracks or would track into `folder`, as the work tree has them."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    for name in sorted({os.fsdecode(n) for n in names.split(b"\0") if n}):
        if (ROOT / name).is_file():  # a file deleted in the work tree is still listed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("answers", nargs="*", metavar="key=value")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        # The settings of the person at the keyboard would change the defaults.
        settings = Path(scratch, "settings.yml")
        settings.write_text("{}\n")
        environment = os.environ | {"COPIER_SETTINGS_PATH": str(settings)}
        template = snapshot(Path(scratch, "template"))
        command = [sys.executable, "-m", "copier", "copy", "--defaults", "--quiet"]
        for answer in args.answers:
            command += ["--data", answer]
        return subprocess.run(
            [*command, str(template), str(args.folder)], env=environment
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
