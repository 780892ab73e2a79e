"""Sweeps: many runs trained together, from their command line to the table that compares them."""
