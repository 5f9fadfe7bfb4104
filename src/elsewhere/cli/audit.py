"""``elsewhere audit``: what attackers get out of releases."""

from __future__ import annotations

from typing import Any

import click


@click.command(short_help="Attack the releases of many users, and measure what comes out.")
@click.argument("table", metavar="TABLE")
@click.option(
    "--sensitive",
    metavar="NAME",
    multiple=True,
    help="A class of places that is hidden: a location, a node of the taxonomy, or a preset. Repeatable.",
)
@click.option("--spare", "spared", metavar="NAME", multiple=True, help="A location that stays all the same.")
@click.option("--taxonomy", metavar="FILE", help="Kinds of place in a tree; 'shipped' is the one that comes along.")
@click.option("--quality", metavar="DISTANCE", default="js", show_default=True, help="How quality loss is measured.")
@click.option("--target", metavar="TARGET", help="A profile, or a table of weights, to resemble and to avoid.")
@click.option("--max-quality-loss", type=float, metavar="NUMBER", help="The limit on quality loss, with --target.")
@click.option("--privacy", metavar="DISTANCE", default="js", show_default=True, help="How the target is compared with.")
@click.option(
    "--threshold",
    type=float,
    metavar="C",
    help="Who is this near to the target belongs to its group; by default the nearest quarter of the users.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="The same one gives the same figures.")
@click.option("--user-column", metavar="NAME", help="The column that has the users.")
@click.option("--location-column", metavar="NAME", help="The column that has the locations.")
@click.option("--count-column", metavar="NAME", help="The column that has the counts.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("-o", "--report", metavar="FILE", help="Write the figures as JSON. Private.")
def audit(table: str, as_json: bool, report: str | None, **given: Any) -> None:
    """Attack the releases that the users of TABLE would give away, and say how often the attackers are right.

    With --sensitive: are visits to a hidden class of places inferred from the rest, is a release told from a genuine
    histogram, and what do two releases tell? With --target: how often is the adversary of the paper wrong about those
    who resemble or avoid it, and how often is one right who knows the method? Attackers learn from other users than
    those whom they are tested on. All of it is private.

    \b
    Examples:
      elsewhere audit checkins.parquet --sensitive preset:health --sensitive preset:religion
      elsewhere audit checkins.parquet --target tourist --max-quality-loss 0.05
    """
    import elsewhere as ew
    from elsewhere.cli import options
    from elsewhere.files import write_atomic
    from elsewhere.output.report import PRIVATE
    from elsewhere.output.report import as_json as written

    options.check_paths(table, {**given, "report": report}, ("report",))
    columns = {name: given.pop(name) for name in ("user_column", "location_column", "count_column")}
    found = ew.audit(ew.read_users(table, **columns), given.pop("sensitive"), **given)
    figures = written({"private": PRIVATE, **found.as_dict()})
    if report is not None:
        write_atomic(report, figures.encode(), private=True)
    if as_json:
        click.echo(figures, nl=False)
        return
    for note in found.notes:
        click.echo(note, err=True)
    click.echo(f"{found.users:,} users and {found.locations:,} locations are attacked.", err=True)
    click.echo(found)
