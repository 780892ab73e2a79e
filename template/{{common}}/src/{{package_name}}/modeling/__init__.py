"""The model: Equinox modules, and the function that builds them from a config."""
