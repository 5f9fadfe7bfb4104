"""``elsewhere taxonomy``: the tree of kinds of place, and what of it a history has."""

from __future__ import annotations

from typing import Any

import click

from elsewhere.cli import options
from elsewhere.text import printable


@click.group(short_help="Look at kinds of place in a tree.")
def taxonomy() -> None:
    """Look at a taxonomy: kinds of place in a tree, from which sensitive ones are chosen by the branch."""


@taxonomy.command()
@click.argument("file", metavar="FILE", default="shipped")
@click.option("--node", metavar="NAME", help="Show what is at or below this node or preset.")
@click.option("--history", metavar="HISTORY", help="Show how often you were at each node and below it.")
@options.reading
def show(file: str, node: str | None, history: str | None, **given: Any) -> None:
    """Print the tree in FILE; without one, the taxonomy that comes with elsewhere.

    With a history each node has the visits at it and, in brackets, at or below it; nodes without any are left out.

    \b
    Examples:
      elsewhere taxonomy show --node preset:health
      elsewhere taxonomy show taxonomy.csv --node "Medical Center" --history history.csv
    """
    from elsewhere.model.taxonomy import Taxonomy

    tree = Taxonomy.shipped() if file == "shipped" else Taxonomy.load(file)
    if history is None:
        for depth, item in tree.tree(node):
            click.echo("  " * depth + printable(item.name))
        return
    visits = options.read_history(history, given, options.speaker({})).histogram
    counts = tree.counts(visits)
    for depth, item in tree.tree(node):
        if counts.below[item.id]:
            click.echo(f"{'  ' * depth}{printable(item.name)}  {counts.own[item.id]:,} [{counts.below[item.id]:,}]")
    if counts.unknown and node is None:
        click.echo(f"not in the taxonomy: {', '.join(map(printable, counts.unknown))}")


@taxonomy.command()
def presets() -> None:
    """List the presets: groups of kinds of place that people often want to hide.

    \b
    Example:
      elsewhere taxonomy presets
    """
    from elsewhere.model.taxonomy import Taxonomy

    for name, description in Taxonomy.shipped().presets.items():
        click.echo(f"preset:{name}  {description}")
