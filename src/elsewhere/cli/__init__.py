"""The command line. It holds no algorithm: every command asks the package and shows the answer."""

from __future__ import annotations

import click

from elsewhere import __version__
from elsewhere.cli.demo import demo


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="elsewhere")
def main() -> None:
    """Change a location histogram before it leaves your hands."""


main.add_command(demo)
