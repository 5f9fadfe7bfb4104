"""``elsewhere evaluate``: what releases are still good for."""

from __future__ import annotations

from typing import Any

import click


@click.command(short_help="Measure what users' releases are still good for.")
@click.argument("original", metavar="ORIGINAL")
@click.argument("sanitized", metavar="SANITIZED")
@click.option("--clusters", type=int, default=3, show_default=True, help="Into how many clusters counts are put.")
@click.option("--neighbours", type=int, default=25, show_default=True, help="Whom a recommendation is made from.")
@click.option("--splits", type=int, default=10, show_default=True, help="How often users are split for testing.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same one gives the same figures.")
@click.option("--user-column", metavar="NAME", help="The column of ORIGINAL that has the users.")
@click.option("--location-column", metavar="NAME", help="The column of ORIGINAL that has the locations.")
@click.option("--count-column", metavar="NAME", help="The column of ORIGINAL that has the counts.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def evaluate(
    original: str, sanitized: str, clusters: int, neighbours: int, splits: int, seed: int, as_json: bool, **columns: Any
) -> None:
    """Compare the histograms of the users in ORIGINAL with their releases in SANITIZED.

    Both are tables with a user, a location and a count, or with a row a visit; SANITIZED may be the folder that
    elsewhere batch wrote. Quality loss is told in every distance, NCE says how much of the grouping of places by
    frequency is lost, and MAE and RMSE how far off the visits are that a recommender predicts. All of it is private.

    \b
    Example:
      elsewhere evaluate checkins.parquet releases
    """
    from elsewhere.evaluation import Tables
    from elsewhere.evaluation import evaluate as measure
    from elsewhere.output.report import PRIVATE
    from elsewhere.output.report import as_json as written

    tables = Tables.read(original, sanitized, **columns)
    found = measure(tables, clusters=clusters, neighbours=neighbours, splits=splits, seed=seed)
    if as_json:
        click.echo(written({"private": PRIVATE, **found.as_dict()}), nl=False)
        return
    for note in found.notes:
        click.echo(note, err=True)
    click.echo(f"{found.users:,} users and {found.locations:,} locations are compared.", err=True)
    click.echo(found)
