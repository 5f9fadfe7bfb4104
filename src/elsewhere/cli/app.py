"""``elsewhere app``: edit a history in the browser."""

from __future__ import annotations

import click


@click.command(short_help="Edit a history in your browser.")
@click.option("--port", type=click.IntRange(1, 65535), metavar="NUMBER", help="Use this port. Default: a free one.")
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening it.")
def app(port: int | None, no_browser: bool) -> None:
    """Open a page on this machine where you can edit a history.

    Drop a file, tick the places to hide, see what it costs, and save the release. Nothing leaves this machine, and only
    what you save is written. Press Ctrl-C to stop.

    \b
    Example:
      elsewhere app
    """
    from elsewhere.app import serve

    serve(port, not no_browser, click.echo)
