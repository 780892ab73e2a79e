"""Where examples come from, and which of them come next."""
