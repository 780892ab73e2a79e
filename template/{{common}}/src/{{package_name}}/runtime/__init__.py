"""The outside world: files, checkpoints, the terminal, signals. All side effects live here."""
