"""The outside world: files, checkpoints, the terminal, signals. All side effects live here."""

import time

IMPORTED_AT = time.perf_counter()
"""When this process began to import the project, before JAX and all else that takes time."""
