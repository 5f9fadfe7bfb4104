"""``elsewhere key``: make a secret key."""

from __future__ import annotations

import click


@click.command(short_help="Make a secret key for drawn releases.")
@click.argument("file", metavar="FILE")
def key(file: str) -> None:
    """Make a new secret key in FILE, which only you can read. An existing file is not overwritten.

    You rarely need this: without --key-file, drawn releases use a key of your own, which is made on first use. Keep the
    file, and keep it secret. The same question has the same answer only with the same key.

    \b
    Example:
      elsewhere key team.key
      elsewhere hide history.csv --sensitive clinic --method drawn \\
        --key-file team.key -o release.csv
    """
    from elsewhere.model.keys import Key
    from elsewhere.text import quote

    Key.make(file)
    click.echo(f"Made a secret key in {quote(file)}. Keep it, and keep it secret.", err=True)
