"""``elsewhere frontier``: show what each limit on the quality loss buys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from elsewhere.cli import options
from elsewhere.model.errors import InputError
from elsewhere.text import quote

if TYPE_CHECKING:
    from elsewhere.model.result import Frontier

_COLUMNS = ("budget", "quality_loss", "privacy_distance", "bound", "gap", "status")


@click.command(short_help="Show what each limit on the quality loss buys.")
@options.history
@options.target
@click.option("--goal", type=click.Choice(["resemble", "avoid"]), default="resemble", show_default=True,
              help="Move towards the target or away from it.")  # fmt: skip
@options.aim("near", "far")
@click.option("--budgets", metavar="A,B,...", help="Try these limits: quality losses, or distances to meet with --aim "
              "least-loss. Default: about twenty over the whole range.")  # fmt: skip
@click.option("--max-quality-loss", type=float, metavar="NUMBER", help="Add this limit, and mark it in the curve.")
@click.option("--suggest", is_flag=True, help="Suggest a limit: the knee of the curve.")
@options.asking
@options.limits
@options.reading
@click.option("-o", "--output", metavar="FILE",
              help="Write a table (.csv) or a curve (.png, .svg, .pdf, .html). Default: print a table.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print only errors.")
def frontier(history: options.Paths, goal: Any, budgets: str | None, suggest: bool, **given: Any) -> None:
    """Show which privacy distance each limit on the quality loss buys.

    The first steps buy most and later ones less. --suggest names the knee of the curve, and --max-quality-loss marks
    your own choice. With --aim least-loss the limits are privacy distances, and the curve shows the least quality loss
    that meets each. The output is private.

    \b
    Examples:
      elsewhere frontier history.csv --target tourist --suggest -o frontier.html
      elsewhere frontier history.csv --target tourist --aim least-loss
    """
    from elsewhere.budgets import frontier_budgets
    from elsewhere.cli.view import suggestion
    from elsewhere.model.question import DISTANCE_LIMITS
    from elsewhere.solve import solve_frontier

    output = given["output"]
    options.check_paths(history, given, ("output",))
    tabular = output is None or output == "-" or output.endswith(".csv")
    chosen = given["max_quality_loss"]
    if given["aim"] == "least-loss":
        if chosen is not None:
            raise InputError("--max-quality-loss cannot be combined with --aim least-loss; leave one of them out")
        given[DISTANCE_LIMITS[goal]] = 0.0
    else:
        given["max_quality_loss"] = 0.0 if chosen is None else chosen
    _check_fixed_size(given)
    policy = options.chosen_policy(goal, given)
    if policy.method == "drawn":
        raise InputError("a frontier cannot be drawn; use another method", ("method",))
    say = options.speaker(given)
    question = policy.plan().question(options.read_history(history, given, say))
    wanted = _numbers(budgets) if budgets is not None else frontier_budgets(question)
    if chosen is not None:
        wanted = sorted({*wanted, chosen})
    if question.aim != "least-loss":
        question = question.within(max(wanted))
    points = solve_frontier(question, wanted).distinct(chosen)
    if not tabular:
        points.plot(output, chosen=chosen)
    elif output is None or output == "-":
        click.echo(_table(points), nl=False)
    else:
        from elsewhere.files import write_atomic

        write_atomic(output, _table(points).encode(), private=True)
    if suggest:
        say(suggestion(points))


def _check_fixed_size(given: dict[str, Any]) -> None:
    """Raise if the policy only adds visits, because then there is no limit to vary."""
    from elsewhere.policy import Policy

    if given["policy"] is not None and given["size"] is None and Policy.load(given["policy"]).size == "free":
        told = f"the policy {quote(given['policy'])} only adds visits (size = 'free'), which has no frontier"
        raise InputError(f"{told}; add --size original")


def _table(points: Frontier) -> str:
    rows = [",".join(_COLUMNS)]
    for budget, point in zip(points.budgets, points, strict=True):
        figures = (budget, point.quality_loss, point.privacy_distance, point.bound, point.gap)
        rows.append(",".join([*map(repr, figures), point.status]))
    return "\n".join(rows) + "\n"


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--budgets is {quote(text)}; give numbers separated by commas") from None
