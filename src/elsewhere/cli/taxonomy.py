"""``elsewhere taxonomy``: show kinds of place as a tree, and the visits of a history in it."""

from __future__ import annotations

from typing import Any

import click

from elsewhere.cli import options
from elsewhere.text import printable


@click.group(short_help="Show kinds of place as a tree.")
def taxonomy() -> None:
    """Show a taxonomy: a tree of kinds of place, from which --sensitive can choose a whole branch."""


@taxonomy.command(short_help="Print a tree.")
@click.argument("file", metavar="FILE", default="shipped")
@click.option("--node", metavar="NAME", help="Show only this node or preset, with all below it.")
@click.option("--history", metavar="HISTORY", help="Show the visits of this history at each node and below.")
@options.reading
def show(file: str, node: str | None, history: str | None, **given: Any) -> None:
    """Print the tree in FILE. Default: the taxonomy that comes with elsewhere.

    With --history, each node shows the visits there and, in brackets, the visits there or below. Nodes without visits
    are left out.

    \b
    Examples:
      elsewhere taxonomy show --node preset:health
      elsewhere taxonomy show taxonomy.csv --history history.csv
    """
    from elsewhere.model.taxonomy import Taxonomy

    tree: Taxonomy = Taxonomy.shipped() if file == "shipped" else Taxonomy.load(file)
    if history is None:
        for depth, item in tree.tree(node):
            click.echo("  " * depth + printable(item.name))
        return
    visits = options.read_history(history, given, options.speaker({}))
    tree = tree.with_types(visits.types)
    counts = tree.counts(visits.histogram)
    for depth, item in tree.tree(node):
        if counts.below[item.id]:
            click.echo(f"{'  ' * depth}{printable(item.name)}  {counts.own[item.id]:,} [{counts.below[item.id]:,}]")
    if counts.unknown and node is None:
        click.echo(f"not in the taxonomy: {', '.join(map(printable, counts.unknown))}")


@taxonomy.command(short_help="List the presets.")
def presets() -> None:
    """List the presets: groups of kinds of place that people often want to hide.

    \b
    Example:
      elsewhere taxonomy presets
    """
    from elsewhere.model.taxonomy import Taxonomy

    for name, description in Taxonomy.shipped().presets.items():
        click.echo(f"preset:{name}  {description}")
