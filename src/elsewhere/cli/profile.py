"""``elsewhere profile``: the repository of target distributions."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click

from elsewhere.model.errors import InputError
from elsewhere.text import plural, printable, quote


@click.group(short_help="List target profiles, or learn one.")
def profile() -> None:
    """List and show the profiles that --target can name, or learn one from many users."""


@profile.command("list")
def list_() -> None:
    """List the profiles that come with elsewhere, and your own.

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
    click.echo(f"Your own profiles are in {profiles.folder()}", err=True)


@profile.command()
@click.argument("name", metavar="NAME|FILE")
def show(name: str) -> None:
    """Show a profile: its description, its source and its weights.

    \b
    Example:
      elsewhere profile show tourist
    """
    from elsewhere import profiles

    stored = profiles.load(name) if name.endswith(".toml") else profiles.stored(name)
    for line in (stored.label, stored.description, f"Source: {stored.source}"):
        click.echo(printable(line))
    if stored.users is not None:
        click.echo(f"Users: {stored.users}")
    if (spread := stored.profile.spread) is not None:
        places, distances = spread.places, spread.distances
        click.echo(f"Half of the members visit {places[5]:.3g} to {places[15]:.3g} of its places.")
        click.echo(f"Half of them are at a distance of {distances[5]:.3g} to {distances[15]:.3g} ({spread.privacy}).")
    for location, weight in sorted(stored.profile.items(), key=lambda item: (-item[1], item[0])):
        click.echo(f"{weight:8.4f}  {printable(location)}")


@profile.command(short_help="Learn a profile from many users.")
@click.argument("table", metavar="TABLE")
@click.option("--name", required=True, metavar="NAME", help="Name of the profile, for --target.")
@click.option("--label", metavar="TEXT", help="Describe the profile in a few words. Default: its name.")
@click.option("--visited", metavar="NAME", multiple=True, help="Use only users who visited this location. Repeatable.")
@click.option("--format", metavar="FORMAT", help="Read TABLE as csv, json, jsonl, parquet or foursquare. "
              "Default: recognise the format.")  # fmt: skip
@click.option(
    "--location-column", metavar="NAME", help="Column with the locations. Default: location or a similar name."
)
@click.option(
    "--count-column",
    metavar="NAME",
    help="Column with the counts. Default: count or a similar name; without one, each row is one visit.",
)
@click.option("--user-column", metavar="NAME", help="Column with the users. Default: user or a similar name.")
@click.option("-o", "--output", metavar="FILE", help="Write the profile here (.toml). Default: to your own profiles.")
def learn(table: str, name: str, label: str | None, visited: tuple[str, ...], output: str | None, **given: str) -> None:
    """Learn a profile from the histograms of many users.

    TABLE has the columns user,location,count, or user,location with one row per visit. The profile is the mean of the
    users' shares, so every user counts the same.

    \b
    Example:
      elsewhere profile learn users.csv --name museum-goers --visited Museum
    """
    from elsewhere import profiles
    from elsewhere.histories import read_users
    from elsewhere.model.taxonomy import Taxonomy

    if output is None and re.fullmatch(r"[\w-]+", name) is None:
        raise InputError(f"--name is {quote(name)}; use only letters, digits, - and _")
    learned = profiles.learn(read_users(table, **given), visited=visited)
    stored = replace(learned, name=name, label=label or name)
    path = Path(output) if output is not None else profiles.folder() / f"{name}.toml"
    if output is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    shipped = {known for known, other in profiles.all_profiles().items() if other.shipped}
    profiles.save(path, stored)
    if output is None and name in shipped:
        click.echo(f"It replaces the profile {name} that comes with elsewhere.", err=True)
    click.echo(f"Learned from {plural(learned.users or 0, 'user')} and written to {path}.", err=True)
    places = Taxonomy.shipped()
    # Everybody has a home, and most people work, so these may be in a profile.
    telling = [f"preset:{preset}" for preset in places.presets if preset not in ("all", "home", "work")]
    sensitive = places.select(telling, among=learned.profile)
    if sensitive:
        click.echo(
            f"It includes places that may be sensitive: {', '.join(map(printable, sorted(sensitive)))}.", err=True
        )
    if stored.warning is not None:
        click.echo(f"Warning: {stored.warning}.", err=True)
