"""``elsewhere app``: the same in the browser."""

from __future__ import annotations

import click


@click.command(short_help="Do it in the browser.")
@click.option("--port", type=click.IntRange(1, 65535), metavar="NUMBER", help="The port; by default one that is free.")
@click.option("--no-browser", is_flag=True, help="Print the address, and leave it to you to open it.")
def app(port: int | None, no_browser: bool) -> None:
    """Open a page on this machine: drop a file, tick what nobody should know, watch what it costs, save the release.

    Nothing leaves the machine, and nothing is written but what you save. Ctrl-C ends it.

    \b
    Example:
      elsewhere app
    """
    from elsewhere.app import serve

    serve(port, not no_browser, click.echo)
