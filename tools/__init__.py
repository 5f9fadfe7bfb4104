"""Scripts that generate files of the repository from other data."""
