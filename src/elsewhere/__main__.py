"""``python -m elsewhere``."""

from elsewhere.cli import main

main(prog_name="elsewhere")
