"""``elsewhere look``: say what a history tells before anything is hidden."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from elsewhere.cli import options
from elsewhere.text import printable

if TYPE_CHECKING:
    from elsewhere.looking import Look

#: The most unrecognised places that are listed.
_LISTED = 20


@click.command(short_help="Show what a history reveals about you.")
@options.history
@options.reading
@click.option(
    "--against",
    metavar="PROFILE",
    help="Compare the history with the members of this profile, by name or .toml file. Default: with nobody.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def look(history: options.Paths, **given: Any) -> None:
    """Show what a history reveals: where you seem to live and work, which places are often sensitive, and why.

    Nothing is written. Then hide what you do not want to share, or correct a kind with --labels.

    \b
    Example:
      elsewhere look Timeline.json
    """
    from elsewhere import profiles
    from elsewhere.looking import look as look_at
    from elsewhere.looking import sentences
    from elsewhere.output.report import as_json

    notes = list[str]()
    against = given["against"]
    profile = None
    if against is not None:
        profile = profiles.load(against) if against.endswith(".toml") else profiles.stored(against)
    found = look_at(options.read_history(history, given, notes.append), profile)
    if given["as_json"]:
        click.echo(as_json(_as_json(found)), nl=False)
        return
    for line in (*notes, *sentences(found)):
        click.echo(printable(line))
    for place in found.unrecognised[:_LISTED]:
        click.echo(f"  {printable(place.name)} ({place.visits:,})")
    if len(found.unrecognised) > _LISTED:
        click.echo(f"  ... and {len(found.unrecognised) - _LISTED:,} more; elsewhere labels lists all of them")
    if found.presets:
        hidden = [word for name in found.presets for word in ("--sensitive", f"preset:{name}")]
        files = (history,) if isinstance(history, str) else history
        read_as = options.reading_words(given)
        command = shlex.join(["elsewhere", "hide", *files, *read_as, *hidden, "-o", "release.csv"])
        click.echo(f"To hide this: {command}")


def _as_json(found: Look) -> dict[str, Any]:
    """The findings, as plain values for JSON."""
    from dataclasses import asdict

    told = {name: getattr(found, name) for name in ("presets", "visits", "top_visits", "visited_once")}
    return {**asdict(found), **told}
