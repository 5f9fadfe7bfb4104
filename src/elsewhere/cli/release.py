"""``elsewhere hide``, ``resemble`` and ``avoid``: from a history to its release."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from elsewhere.cli import options
from elsewhere.model.errors import ElsewhereError, InputError
from elsewhere.text import plural, printable

if TYPE_CHECKING:
    from elsewhere.model.question import Goal, Question

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
    from elsewhere.output.report import as_json, summary
    from elsewhere.output.sentences import common_note
    from elsewhere.release_files import encode, release_format
    from elsewhere.solve import solve
    from elsewhere.verification.verify import check_release

    # The release is what standard output is for, unless the private summary is asked for.
    output: str | None = given["output"] or (None if given["as_json"] else "-")
    given["output"] = output
    options.check_paths(path, given, ("output", "report", "plot", "save_policy"))
    if goal == "hide" and not given["sensitive"] and given["policy"] is None:
        raise InputError("hide needs to know what to hide: name it with --sensitive")
    if output is not None:
        release_format(output)
    policy = options.chosen_policy(goal, given)
    say = options.speaker(given)
    plan = policy.plan()
    question = plan.question(options.read_history(path, given, say))
    result = solve(question)
    check = check_release(question, result)
    if not check.ok:
        raise ElsewhereError(f"the release failed its check and is not written: {check.problems[0]}")
    result.check_changed(given["allow_unchanged"])
    _show_covered(question, say)
    if common := common_note(question):
        say(common)
    content = None if output is None else encode(output, result.histogram.items())
    report = as_json(summary(result, policy.chosen()))
    # The release comes last: when anything before it fails, there is none.
    if given["save_policy"] is not None:
        policy.save(given["save_policy"])
    if given["report"] is not None:
        write_atomic(given["report"], report.encode(), private=True)
    if given["plot"] is not None:
        result.plot(given["plot"])
    if output is not None and content is not None and output != "-":
        write_atomic(output, content, private=False)
    if given["as_json"]:
        click.echo(report, nl=False)
    elif not given["quiet"]:
        show(result, policy, sys.stderr)
    if result.unchanged:
        say("Warning: nothing was hidden. The release equals your history.")
    if content is None:
        say("No release was written. Add -o RELEASE to write one.")
    elif output == "-" and sys.stdout.isatty():
        click.echo("\n".join(map(printable, content.decode().splitlines())))
    elif output == "-":
        click.echo(content, nl=False)


def _show_covered(question: Question, say: Callable[[str], None]) -> None:
    """Say which locations the sensitive names cover, before anything is written."""
    history = question.history
    for name, locations in question.covered.items():
        if locations == {name}:
            continue
        visits = plural(sum(history[location] for location in locations), "visit")
        places = ", ".join(f"{printable(location)} ({history[location]:,})" for location in sorted(locations))
        covered = f"{plural(len(locations), 'location')} with {visits}: {places}"
        say(f"{printable(name)} covers {covered if locations else 'no location of your history'}")
