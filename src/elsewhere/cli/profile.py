"""``elsewhere profile``: the repository of target distributions."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click

from elsewhere.model.errors import InputError
from elsewhere.text import printable, quote


@click.group(short_help="Look at target profiles, or learn one.")
def profile() -> None:
    """Look at profiles that --target can name, or learn one from many users."""


@profile.command("list")
def list_() -> None:
    """List the profiles: those that come with elsewhere, and your own.

    \b
    Example:
      elsewhere profile list
    """
    from elsewhere import profiles

    known = profiles.all_profiles()
    for name, stored in known.items():
        click.echo(f"{name}  {printable(stored.label)}" + ("" if stored.shipped else " (your own)"))
    for note in known.notes:
        click.echo(note, err=True)
    click.echo(f"Your own are in {profiles.folder()}", err=True)


@profile.command()
@click.argument("name", metavar="NAME|FILE")
def show(name: str) -> None:
    """Show a profile: what it is, where it comes from, and its weights.

    \b
    Example:
      elsewhere profile show tourist
    """
    from elsewhere import profiles

    stored = profiles.load(name) if name.endswith(".toml") else profiles.stored(name)
    for line in (stored.label, stored.description, f"Source: {stored.source}"):
        click.echo(printable(line))
    if stored.users is not None:
        click.echo(f"Users behind it: {stored.users}")
    for location, weight in sorted(stored.profile.items(), key=lambda item: (-item[1], item[0])):
        click.echo(f"{weight:8.4f}  {printable(location)}")


@profile.command()
@click.argument("table", metavar="TABLE")
@click.option("--name", required=True, help="What --target will call it.")
@click.option("--label", help="What it is, in a few words.")
@click.option("--visited", metavar="NAME", multiple=True, help="Only users who were at this location. Repeatable.")
@click.option("--format", help="The format of TABLE, if it is not to be recognised.")
@click.option("--location-column", metavar="NAME", help="The column that has the locations.")
@click.option("--count-column", metavar="NAME", help="The column that has the counts.")
@click.option("--user-column", metavar="NAME", help="The column that has the users.")
@click.option("-o", "--output", metavar="FILE", help="Where to write it (.toml); by default among your own profiles.")
def learn(table: str, name: str, label: str | None, visited: tuple[str, ...], output: str | None, **given: str) -> None:
    """Learn a profile from a TABLE of many users' histograms: user,location,count, or a row a visit.

    It is the mean of the users' shares, so that every user counts the same.

    \b
    Example:
      elsewhere profile learn users.csv --name museum-goers --visited Museum
    """
    from elsewhere import profiles
    from elsewhere.histories import read_users
    from elsewhere.model.taxonomy import Taxonomy

    if output is None and re.fullmatch(r"[\w-]+", name) is None:
        raise InputError(f"--name is {quote(name)}; give letters, digits, - and _ only")
    learned = profiles.learn(read_users(table, **given), visited=visited)
    stored = replace(learned, name=name, label=label or name)
    path = Path(output) if output is not None else profiles.folder() / f"{name}.toml"
    if output is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    shipped = {known for known, other in profiles.all_profiles().items() if other.shipped}
    profiles.save(path, stored)
    if output is None and name in shipped:
        click.echo(f"It takes the place of the profile {name} that comes with elsewhere.", err=True)
    click.echo(f"Learned from {learned.users} users, and written to {path}.", err=True)
    places = Taxonomy.shipped()
    sensitive = places.select([f"preset:{preset}" for preset in places.presets], among=learned.profile)
    if sensitive:
        click.echo(f"It has places that may be sensitive: {', '.join(map(printable, sorted(sensitive)))}.", err=True)
    if stored.warning is not None:
        click.echo(f"Mind that {stored.warning}.", err=True)
