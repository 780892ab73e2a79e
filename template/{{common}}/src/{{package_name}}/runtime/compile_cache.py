"""Compiled programs are kept between processes, in the cache folder of the user.

What a user has set for JAX itself, as `JAX_COMPILATION_CACHE_DIR`, is left as it is.
"""

import os
import platform
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

_SETTINGS = {
    # By default JAX keeps only what took a second to compile, which is next to nothing on a CPU.
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}


def use_compile_cache(wanted: bool) -> None:
    """Keep compiled programs, and use those of earlier processes; call it before the first one.

    Args:
        wanted: whether to, or to compile everything anew.
    """
    if not wanted:
        jax.config.update("jax_enable_compilation_cache", False)
        return
    for name, value in cache_settings(os.environ).items():
        jax.config.update(name, value)


def cache_settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """Settings of JAX that the environment has not made; none where no folder can be written."""
    settings = dict(_SETTINGS)
    if "JAX_COMPILATION_CACHE_DIR" not in environ:
        try:
            folder = _cache_home(environ) / __name__.partition(".")[0] / "compiled" / _machine()
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):  # the second where the user has no home at all
            return {}
        if not os.access(folder, os.W_OK):
            return {}
        settings["jax_compilation_cache_dir"] = str(folder)
        # What was used longest ago goes first. JAX fails to write into a folder with a limit where
        # something was written without one, so this is for no other folder.
        settings["jax_compilation_cache_max_size"] = 2 * 2**30
    return {name: value for name, value in settings.items() if name.upper() not in environ}


def _cache_home(environ: Mapping[str, str]) -> Path:
    usual = {"win32": "~/AppData/Local", "darwin": "~/Library/Caches"}.get(sys.platform, "~/.cache")
    name = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    return Path(environ.get(name) or usual).expanduser()


def _machine() -> str:
    """A name for the kind of processor: home folders are shared, and programs are made for one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    about = [line for line in lines if line.startswith(("flags", "Features"))][:1]
    text = " ".join([platform.machine(), platform.processor(), *about])
    return f"{platform.machine()}-{zlib.crc32(text.encode()):08x}"
