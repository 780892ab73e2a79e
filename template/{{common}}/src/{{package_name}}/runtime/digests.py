"""Digests of a checkpoint's files, so that damage is found and not loaded.

The format is that of `sha256sum`: `sha256sum --check SHA256SUMS` in the folder says the same.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

DIGESTS = "SHA256SUMS"


def write_digests(folder: Path) -> None:
    """Write the digest of every file in the folders below `folder`."""
    lines = [f"{_digest(path)}  {path.relative_to(folder).as_posix()}" for path in _files(folder)]
    (folder / DIGESTS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def find_damage(folder: Path) -> Iterator[str]:
    """What is wrong with the files of a folder that `write_digests` was called on."""
    try:
        text = (folder / DIGESTS).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        yield f"{DIGESTS} cannot be read"
        return
    if not text:
        yield f"{DIGESTS} is empty"
        return
    wanted = {}
    for line in text.splitlines():
        digest, _, name = line.partition("  ")
        wanted[name] = digest
    present = {path.relative_to(folder).as_posix() for path in _files(folder)}
    for name in sorted(present - wanted.keys()):
        yield f"{name} is not in {DIGESTS}"
    for name, digest in wanted.items():
        try:
            if _digest(folder / name) != digest:
                yield f"{name} was changed"
        except OSError as error:
            yield f"{name}: {error.strerror}"
        except ValueError:
            yield f"{DIGESTS} was changed"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*/**/*") if path.is_file())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
