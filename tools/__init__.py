"""What makes files of the repository from those of others."""
