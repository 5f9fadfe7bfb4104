"""``elsewhere evaluate``: measure how useful releases still are."""

from __future__ import annotations

from typing import Any

import click

from elsewhere.cli import options


@click.command(short_help="Measure how useful releases still are.")
@click.argument("original", metavar="ORIGINAL")
@click.argument("sanitized", metavar="SANITIZED")
@click.option("--clusters", type=int, default=3, show_default=True, help="Number of clusters of counts, for NCE.")
@click.option("--neighbours", type=int, default=25, show_default=True, help="Number of neighbours per prediction.")
@click.option("--splits", type=int, default=10, show_default=True, help="Number of random splits for testing.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random choices.")
@click.option("--taxonomy", metavar="FILE",
              help="Measure over the taxonomy in this file, too; 'shipped' comes with elsewhere.")  # fmt: skip
@click.option("--levels", metavar="W,W,...",
              help="Weights of the taxonomy's levels, from the top down to the locations. "
              "Default: equal shares.")  # fmt: skip
@click.option(
    "--user-column", metavar="NAME", help="Column of ORIGINAL with the users. Default: user or a similar name."
)
@click.option("--location-column", metavar="NAME",
              help="Column of ORIGINAL with the locations. Default: location or a similar name.")  # fmt: skip
@click.option(
    "--count-column",
    metavar="NAME",
    help="Column of ORIGINAL with the counts. Default: count or a similar name; without one, each row is one visit.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def evaluate(
    original: str,
    sanitized: str,
    clusters: int,
    neighbours: int,
    splits: int,
    seed: int,
    taxonomy: str | None,
    levels: str | None,
    as_json: bool,
    **columns: Any,
) -> None:
    """Compare the histograms of the users in ORIGINAL with their releases in SANITIZED.

    Both are tables with a user, a location and a count, or with one row per visit. SANITIZED can be the folder that
    elsewhere batch wrote. The figures are the quality loss in every distance, NCE (how much of the grouping of places
    by frequency is lost), and MAE and RMSE (the errors of a recommender's predictions). With --taxonomy you also get
    the loss over the taxonomy, where a move to a similar place costs less, and NCE, MAE and RMSE of the kinds of place
    at its top level. The figures are private.

    \b
    Examples:
      elsewhere evaluate checkins.parquet releases
      elsewhere evaluate checkins.parquet releases --taxonomy shipped
    """
    from elsewhere.evaluation import Tables
    from elsewhere.evaluation import evaluate as measure
    from elsewhere.model.taxonomy import Taxonomy
    from elsewhere.output.report import PRIVATE
    from elsewhere.output.report import as_json as written
    from elsewhere.policy import SHIPPED
    from elsewhere.text import plural

    tree = None
    if taxonomy is not None:
        tree = Taxonomy.shipped() if taxonomy == SHIPPED else Taxonomy.load(taxonomy)
    weights = None if levels is None else options.level_weights(levels)
    tables = Tables.read(original, sanitized, **columns)
    found = measure(
        tables, clusters=clusters, neighbours=neighbours, splits=splits, seed=seed, taxonomy=tree, levels=weights
    )
    if as_json:
        click.echo(written({"private": PRIVATE, **found.as_dict()}), nl=False)
        return
    for note in found.notes:
        click.echo(note, err=True)
    kinds = "" if found.kinds is None else f" of {plural(found.kinds.number, 'kind')}"
    click.echo(f"Compared {plural(found.users, 'user')} with {plural(found.locations, 'location')}{kinds}.", err=True)
    click.echo(found)
