"""One file for each promise that the project makes."""
