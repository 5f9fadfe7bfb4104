"""``elsewhere verify``: check a release."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from elsewhere.cli import options

if TYPE_CHECKING:
    from elsewhere.model.question import Goal, Question
    from elsewhere.policy import Policy
    from elsewhere.verification.verify import Check

#: Seconds that the search for a better release may take.
_SECONDS = 10.0
#: The options that decide whether a release with a target is one of resemble or of avoid.
_GOAL_FROM = ("policy", "max_distance", "min_distance")


@click.command(short_help="Check a release.")
@click.argument("history", metavar="HISTORY")
@click.argument("release", metavar="RELEASE")
@options.target
@click.option("--max-quality-loss", type=float, metavar="NUMBER", help="Require at most this quality loss.")
@click.option("--max-distance", type=float, metavar="C", help="Require at most this distance from the target.")
@click.option("--min-distance", type=float, metavar="C", help="Require at least this distance from the target.")
@options.add_only
@options.aim("near", "far")
@click.option(
    "--redistribute",
    type=int,
    metavar="COUNT",
    help="Number of visits that were added to the other places. Default: as many as are hidden.",
)
@click.option(
    "--method",
    type=click.Choice(["optimal", "heuristic", "drawn"]),
    help="Method that made the release. A drawn release is not optimal, on purpose. Default: optimal.",
)
@click.option("--popularity", metavar="FILE", help="With --method drawn: weights of places by location, or the name "
              "of a profile. Default: by kind of place.")  # fmt: skip
@options.asking
@options.search_ignored
@options.reading
@click.option("--report", metavar="FILE", help="Also check this private report of the release, with its certificate.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--quiet", is_flag=True, help="Print only problems.")
def verify(history: str, release: str, **given: Any) -> None:
    """Check that RELEASE satisfies every constraint, and that its file holds nothing else.

    No solver takes part in the check. Give the options that you made the release with, or --report to read them from
    the report. Without --target, the release is checked as one of hide. With --target, add --max-distance to check it
    as one of resemble, or --min-distance as one of avoid. Each problem is one sentence on standard error, and the exit
    status is 1.

    \b
    Examples:
      elsewhere verify history.csv release.csv --sensitive preset:health
      elsewhere verify history.csv release.csv --report report.json
    """
    from elsewhere.output.report import as_json, read_report, reported
    from elsewhere.output.sentences import on_scale
    from elsewhere.verification.release_file import read_release
    from elsewhere.verification.verify import check_release

    say = options.speaker(given)
    report = None if given["report"] is None else read_report(given["report"])
    policy = _policy(given, report)
    question = policy.plan().question(options.read_history(history, given, say))
    file = read_release(release)
    claims = None if report is None else reported(report, file.histogram, question)
    check = check_release(question, file.histogram if claims is None else claims)
    check.problems[:0] = file.problems
    goal_known = report is not None or any(given[name] is not None for name in _GOAL_FROM)
    better = _better(question, check) if goal_known or question.goal == "hide" else None
    if given["as_json"]:
        found = {"ok": check.ok, "problems": check.problems, "quality_loss": check.quality_loss}
        found |= {"privacy_distance": check.privacy_distance, "bound": check.bound, "better": better}
        click.echo(as_json(found), nl=False)
        click.get_current_context().exit(0 if check.ok else 1)
    for problem in check.problems:
        click.echo(problem, err=True)
    if not check.ok:
        click.get_current_context().exit(1)
    say(f"The release satisfies every constraint. Its quality loss is {on_scale(check.quality_loss, policy.quality)}.")
    if check.privacy_distance is not None:
        say(f"Its privacy distance is {on_scale(check.privacy_distance, policy.privacy)}.")
    if better is not None:
        say(_not_the_best(question, better))
    elif claims is not None and claims.certificate is not None:
        say(f"The certificate in the report holds: it proves a bound of {check.bound:.6g}.")
        if policy.size == "free" and check.optimal:
            say("No release with fewer added visits meets the privacy distance.")


def _policy(given: dict[str, Any], report: dict[str, Any] | None) -> Policy:
    """The policy of the options, on top of a policy file or of the report's."""
    from elsewhere.policy import Policy

    if report is not None and given["policy"] is None:
        recorded = Policy.of(report["policy"])
        return options.chosen_policy(recorded.goal, given, recorded)
    return options.chosen_policy(_goal(given), given)


def _goal(given: dict[str, Any]) -> Goal:
    """The goal of the release: from the policy, or from the options."""
    if given["policy"] is not None:
        from elsewhere.policy import Policy

        return Policy.load(given["policy"]).goal
    if given["target"] is None:
        return "hide"
    if given["max_quality_loss"] is None and given["max_distance"] is None and given["min_distance"] is None:
        given["max_quality_loss"] = math.inf
    # Only a release of avoid may have an infinite distance, so check it as avoid unless the distance is limited.
    return "avoid" if given["max_distance"] is None else "resemble"


def _better(question: Question, check: Check) -> float | None:
    """The objective of a better release, if one is found and passes the same check."""
    from dataclasses import replace

    from elsewhere.solve import find_better
    from elsewhere.verification.verify import check_release

    if not check.ok or (not question.minimises_loss and question.max_quality_loss == math.inf):
        return None
    asked = question
    if question.method == "drawn":
        asked = replace(question, method="optimal", popularity=None, key=None)
    asked = replace(asked, search=question.search._replace(time_limit=_SECONDS))
    best = find_better(asked, check.quality_loss, check.privacy_distance)
    if best is None or not check_release(question, best.histogram).ok:
        return None
    return best.objective


def _not_the_best(question: Question, better: float) -> str:
    from elsewhere.model.question import METHODS

    what = "quality loss" if question.minimises_loss else "privacy distance"
    exists = f"a release with a {what} of {better:.4g} exists"
    if question.method == "drawn":
        return f"A drawn release is not optimal, on purpose: {exists}."
    told = f"Valid, but not optimal: {exists}."
    if "drawn" in METHODS[question.goal]:
        told += " If you drew this one, that is on purpose: add --method drawn."
    return told
