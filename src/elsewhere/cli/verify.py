"""``elsewhere verify``: someone's release, checked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from elsewhere.cli import options

if TYPE_CHECKING:
    from elsewhere.model.question import Goal


@click.command(short_help="Check a release again.")
@click.argument("history", metavar="HISTORY")
@click.argument("release", metavar="RELEASE")
@options.target
@options.max_quality_loss
@click.option("--max-distance", type=float, metavar="C", help="The release may not be farther from the target.")
@click.option("--min-distance", type=float, metavar="C", help="The release may not be nearer to the target.")
@click.option("--redistribute", type=int, metavar="COUNT", help="How many counts the other places received.")
@click.option("--method", hidden=True, help="How the release was made makes no difference.")
@options.asking
@options.limits
@options.reading
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@click.option("--quiet", is_flag=True, help="Print nothing but what is wrong.")
def verify(history: str, release: str, **given: Any) -> None:
    """Check that RELEASE keeps to what was asked of HISTORY; no solver takes part.

    With a target the release is checked as one of resemble, or of avoid if --min-distance is given; without, as one
    of hide. What is wrong is said in sentences, and the exit status is then 1.

    \b
    Example:
      elsewhere verify history.csv release.csv --sensitive preset:health
    """
    from elsewhere.histories import read
    from elsewhere.output.report import as_json
    from elsewhere.output.sentences import on_scale

    given["method"] = None
    plan = options.chosen_policy(_goal(given), given).plan()
    say = options.speaker(given)
    original = options.read_history(history, given, say).histogram
    check = plan.verify(original, read(release).histogram)
    if given["as_json"]:
        found = {"ok": check.ok, "problems": check.problems, "quality_loss": check.quality_loss}
        click.echo(as_json({**found, "privacy_distance": check.privacy_distance}), nl=False)
        click.get_current_context().exit(0 if check.ok else 1)
    for problem in check.problems:
        click.echo(problem, err=True)
    if not check.ok:
        click.get_current_context().exit(1)
    say(f"The release keeps to all of it; its quality loss is {on_scale(check.quality_loss, plan.policy.quality)}.")
    if check.privacy_distance is not None:
        say(f"Its privacy distance is {on_scale(check.privacy_distance, plan.policy.privacy)}.")


def _goal(given: dict[str, Any]) -> Goal:
    """What the release is one of: what the policy says, or what the options are for."""
    if given["policy"] is not None:
        from elsewhere.policy import Policy

        return Policy.load(given["policy"]).goal
    if given["target"] is None:
        return "hide"
    if given["max_quality_loss"] is None:
        given["max_quality_loss"] = float("inf")
    return "avoid" if given["min_distance"] is not None else "resemble"
