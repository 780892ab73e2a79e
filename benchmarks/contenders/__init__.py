"""The same training, written as each library's documentation writes it; all give `run(steps)`."""
