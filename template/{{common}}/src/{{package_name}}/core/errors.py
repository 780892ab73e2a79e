"""The errors that are meant to be read by whoever typed the command."""


class UserError(Exception):
    """Something in the input is wrong and its author can mend it.

    The message says what was wrong, where (field, file or flag) and what to do. Scripts print it
    without a traceback and exit with status 2.
    """


class TrainingError(Exception):
    """Training cannot go on. Scripts print the message without a traceback and exit with 1."""


def first_line(error: Exception) -> str:
    """What another library's error says in its first line, or its kind if it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
