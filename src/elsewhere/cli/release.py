"""``elsewhere hide``, ``resemble`` and ``avoid``: from a history to its release."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from elsewhere.cli import options
from elsewhere.model.errors import ElsewhereError, InputError
from elsewhere.text import plural

if TYPE_CHECKING:
    from elsewhere.model.histogram import Histogram
    from elsewhere.model.result import Goal
    from elsewhere.policy import Plan

_HISTORY = click.argument("history", metavar="HISTORY")
_METHOD = click.option("--method", type=click.Choice(["optimal", "heuristic"]), help="Exact (the default), or greedy.")


@click.command(short_help="Leave no visit at a sensitive place.")
@_HISTORY
@options.asking
@click.option("--redistribute", type=int, metavar="COUNT", help="Give the other places so many counts; 0 just deletes.")
@options.limits
@options.reading
@options.output
def hide(history: str, **given: Any) -> None:
    """Leave no visit at a sensitive place, and change the rest as little as possible.

    The visits to sensitive places are given to the others, so that the size stays the same, in the way that keeps the
    quality loss least. What --sensitive catches is shown before anything is written.

    \b
    Examples:
      elsewhere hide history.csv --sensitive clinic --sensitive casino -o release.csv
      elsewhere hide Takeout.zip --sensitive preset:health -o release.csv
    """
    _release("hide", history, given)


@click.command(short_help="Come near to a profile.")
@_HISTORY
@options.target
@options.max_quality_loss
@click.option("--max-distance", type=float, metavar="C", help="No release that is farther than this from the target.")
@_METHOD
@options.asking
@options.limits
@options.reading
@options.output
def resemble(history: str, **given: Any) -> None:
    """Come as near to a wanted profile as a limit on the quality loss allows.

    \b
    Example:
      elsewhere resemble history.csv --target tourist --max-quality-loss 0.05 -o release.csv
    """
    _release("resemble", history, given)


@click.command(short_help="Go far from a profile.")
@_HISTORY
@options.target
@options.max_quality_loss
@click.option("--min-distance", type=float, metavar="C", help="No release that is nearer than this to the target.")
@_METHOD
@options.asking
@options.limits
@options.reading
@options.output
def avoid(history: str, **given: Any) -> None:
    """Go as far from an unwanted profile as a limit on the quality loss allows.

    \b
    Example:
      elsewhere avoid history.csv --target student --max-quality-loss 0.05 -o release.csv
    """
    _release("avoid", history, given)


def _release(goal: Goal, path: str, given: dict[str, Any]) -> None:
    from elsewhere.cli.view import show
    from elsewhere.files import write_atomic
    from elsewhere.output.releases import release_form
    from elsewhere.output.report import as_json, summary

    options.check_paths(path, given, ("output", "report", "plot", "save_policy"))
    if goal == "hide" and not given["sensitive"] and given["policy"] is None:
        raise InputError("hide needs to know what: name it with --sensitive")
    form = None if given["output"] is None else release_form(given["output"])
    policy = options.chosen_policy(goal, given)
    plan = policy.plan()
    say = options.speaker(given)
    history = options.read_history(path, given, say).histogram
    _show_caught(plan, history, say)
    _show_common(plan, history, say)
    result = plan.sanitize(history)
    check = plan.verify(history, result.histogram)
    if not check.ok:
        raise ElsewhereError(f"the release failed its check and is not written: {check.problems[0]}")
    if result.histogram == history:
        say("Mind: the release is your history, unchanged.")
    content = None if form is None else form(result.histogram)
    report = as_json(summary(result, policy.chosen()))
    # The release comes last: when anything before it fails, there is none.
    if given["save_policy"] is not None:
        policy.save(given["save_policy"])
    if given["report"] is not None:
        write_atomic(given["report"], report.encode(), private=True)
    if given["plot"] is not None:
        result.plot(given["plot"])
    if content is not None and given["output"] != "-":
        write_atomic(given["output"], content, private=False)
    if given["as_json"]:
        click.echo(report, nl=False)
    elif not given["quiet"]:
        show(result, policy, sys.stderr if given["output"] == "-" else sys.stdout)
        if content is None:
            say("Nothing was written: -o RELEASE says where to.")
    if content is not None and given["output"] == "-":
        click.echo(content, nl=False)


def _show_caught(plan: Plan, history: Histogram, say: Callable[[str], None]) -> None:
    """Say which locations the sensitive nodes and presets cover, before anything is written."""

    for name in plan.policy.sensitive:
        caught = plan.caught(name, history)
        if name in caught and len(caught) == 1:
            continue
        listed = ", ".join(f"{location} ({history[location]})" for location in sorted(caught))
        visits = plural(sum(history[location] for location in caught), "visit")
        covered = (
            f"{plural(len(caught), 'location')} with {visits}: {listed}" if caught else "no location of the history"
        )
        say(f"{name} covers {covered}")


def _show_common(plan: Plan, history: Histogram, say: Callable[[str], None]) -> None:
    """Say when history and target hardly speak of the same places: they may call them differently."""
    if plan.target is None:
        return
    common = sum(location in history for location in plan.target)
    if 2 * common < len(plan.target):
        say(f"{common} of the target's {len(plan.target)} locations are in the history; only names spelt alike match")
