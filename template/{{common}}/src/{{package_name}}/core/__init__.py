"""What knows JAX and nothing of this project."""
