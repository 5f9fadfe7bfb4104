"""``elsewhere audit``: attack releases and measure how often the attackers are right."""

from __future__ import annotations

from typing import Any

import click


@click.command(short_help="Attack the releases of many users.")
@click.argument("table", metavar="TABLE")
@click.option(
    "--sensitive",
    metavar="NAME",
    multiple=True,
    help="Hide this class of places: a location, a pattern such as '*church*', a node of the taxonomy, or a preset. "
    "Required without --target. Repeatable.",
)
@click.option("--spare", "spared", metavar="NAME", multiple=True,
              help="Keep this location even though --sensitive covers it. Repeatable.")  # fmt: skip
@click.option("--taxonomy", metavar="FILE", help="Use the taxonomy in this file; 'shipped' comes with elsewhere.")
@click.option(
    "--quality", metavar="DISTANCE", default="js", show_default=True, help="Measure quality loss by this distance."
)
@click.option("--target", metavar="TARGET",
              help="Resemble and avoid this profile or weights file. Required without --sensitive.")  # fmt: skip
@click.option("--max-quality-loss", type=float, metavar="NUMBER",
              help="Limit on the quality loss; with it, shared releases are attacked, too. Required with "
              "--target.")  # fmt: skip
@click.option("--privacy", metavar="DISTANCE", default="js", show_default=True,
              help="Measure privacy distance by this distance.")  # fmt: skip
@click.option(
    "--threshold",
    type=float,
    metavar="C",
    help="Users within this distance count as members. Default: the closest quarter of the users.",
)
@click.option("--earlier", metavar="TABLE",
              help="Look for users' releases by their visits in this table, of an earlier period. Default: half of the "
              "visits of each user.")  # fmt: skip
@click.option("--splits", type=int, default=3, show_default=True, metavar="NUMBER",
              help="Repeat with this many random splits of the users; the figures are means.")  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random choices.")
@click.option("--user-column", metavar="NAME", help="Column with the users. Default: user or a similar name.")
@click.option(
    "--location-column", metavar="NAME", help="Column with the locations. Default: location or a similar name."
)
@click.option(
    "--count-column",
    metavar="NAME",
    help="Column with the counts. Default: count or a similar name; without one, each row is one visit.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("-o", "--report", metavar="FILE", help="Write the figures to this private file, as JSON.")
def audit(table: str, as_json: bool, report: str | None, **given: Any) -> None:
    """Attack the releases of the users in TABLE and report how often the attackers are right.

    TABLE has a user, a location and a count, or one row per visit. With --sensitive, attackers try to infer hidden
    visits, to tell releases from genuine histograms, and to exploit two releases of one user. With --target, the
    adversary of the paper and one who knows the method try to see through resemble and avoid. Attackers learn from
    other users than those they are tested on. They also try to find out whose release is whose. The figures are
    private.

    \b
    Examples:
      elsewhere audit checkins.parquet --sensitive preset:health
      elsewhere audit checkins.parquet --target tourist --max-quality-loss 0.05
    """
    import elsewhere as ew
    from elsewhere.cli import options
    from elsewhere.files import write_atomic
    from elsewhere.output.report import PRIVATE
    from elsewhere.output.report import as_json as written
    from elsewhere.text import plural

    options.check_paths(table, {**given, "report": report}, ("report",))
    columns = {name: given.pop(name) for name in ("user_column", "location_column", "count_column")}
    if given["earlier"] is not None:
        given["earlier"] = ew.read_users(given["earlier"], **columns)
    found = ew.audit(ew.read_users(table, **columns), given.pop("sensitive"), **given)
    figures = written({"private": PRIVATE, **found.as_dict()})
    if report is not None:
        write_atomic(report, figures.encode(), private=True)
    if as_json:
        click.echo(figures, nl=False)
        return
    for note in found.notes:
        click.echo(note, err=True)
    click.echo(f"Attacked {plural(found.users, 'user')} with {plural(found.locations, 'location')}.", err=True)
    click.echo(found)
