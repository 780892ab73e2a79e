"""Training as pure functions: values in, values out; no files, no clock, no global state."""
