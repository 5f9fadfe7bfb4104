"""``elsewhere hide``, ``resemble`` and ``avoid``: make a release from a history."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from elsewhere.cli import options
from elsewhere.model.errors import ElsewhereError, InputError
from elsewhere.text import plural, printable

if TYPE_CHECKING:
    from elsewhere.model.question import Goal, Question
    from elsewhere.model.result import Sanitized
    from elsewhere.policy import Policy

_METHOD = click.option(
    "--method",
    type=click.Choice(["optimal", "heuristic", "drawn"]),
    help="Search exactly (optimal) or greedily (heuristic), or draw at random with a secret key. Default: optimal.",
)
_KEY_FILE = click.option(
    "--key-file",
    metavar="FILE",
    help="With --method drawn: the secret key; elsewhere key makes one. Default: $ELSEWHERE_KEY, or your own key file.",
)


@click.command(short_help="Remove every visit to sensitive places.")
@options.history
@options.asking
@click.option("--redistribute", type=int, metavar="COUNT", help="Add this many visits to the other places; 0 only "
              "deletes. Default: as many as are hidden.")  # fmt: skip
@click.option("--method", type=click.Choice(["optimal", "drawn"]), help="Minimise the quality loss, or draw at "
              "random, with a secret key, where visits go. Default: optimal.")  # fmt: skip
@click.option("--max-quality-loss", type=float, metavar="NUMBER", help="Limit on the quality loss. Default: none.")
@click.option("--popularity", metavar="FILE", help="With --method drawn: weights of places by location, or the name "
              "of a profile. Default: by kind of place.")  # fmt: skip
@_KEY_FILE
@options.limits
@options.reading
@options.output
def hide(history: options.Paths, **given: Any) -> None:
    """Remove every visit to sensitive places, and change the rest as little as possible.

    The hidden visits move to the other places, so the size stays the same and the quality loss is as small as possible.
    The places that --sensitive covers are shown first. If no visit is hidden, nothing is written.

    \b
    Examples:
      elsewhere hide history.csv --sensitive clinic -o release.csv
      elsewhere hide history.csv --sensitive '*church*' -o release.csv
      elsewhere hide Takeout.zip --sensitive preset:health -o release.csv
      elsewhere hide history.csv --sensitive clinic --method drawn -o release.csv
    """
    _release("hide", history, given)


@click.command(short_help="Make a history look more like a target.")
@options.history
@options.target
@options.max_quality_loss
@click.option(
    "--max-distance",
    type=float,
    metavar="C",
    help="Refuse a release farther than this from the target. Without --max-quality-loss, find the smallest change "
    "that is this close. Default: accept any.",
)
@options.add_only
@options.aim("near")
@_METHOD
@_KEY_FILE
@options.asking
@options.limits
@options.reading
@options.output
def resemble(history: options.Paths, **given: Any) -> None:
    """Move a history as close to a target profile as a limit on the quality loss allows, or just close enough.

    \b
    Examples:
      elsewhere resemble history.csv --target tourist \\
        --max-quality-loss 0.05 -o release.csv
      elsewhere resemble history.csv --target tourist \\
        --max-distance 0.3 -o release.csv
      elsewhere resemble history.csv --target tourist \\
        --max-quality-loss 0.1 --method drawn -o release.csv
      elsewhere resemble history.csv --target tourist \\
        --max-distance 0.3 --add-only
    """
    _release("resemble", history, given)


@click.command(short_help="Make a history look less like a target.")
@options.history
@options.target
@options.max_quality_loss
@click.option(
    "--min-distance",
    type=float,
    metavar="C",
    help="Refuse a release closer than this to the target. Without --max-quality-loss, find the smallest change that "
    "is this far. Default: accept any.",
)
@options.add_only
@options.aim("far")
@_METHOD
@_KEY_FILE
@options.asking
@options.limits
@options.reading
@options.output
def avoid(history: options.Paths, **given: Any) -> None:
    """Move a history as far from a target profile as a limit on the quality loss allows, or just far enough.

    \b
    Examples:
      elsewhere avoid history.csv --target student \\
        --max-quality-loss 0.05 -o release.csv
      elsewhere avoid history.csv --target student \\
        --min-distance 0.6 -o release.csv
    """
    _release("avoid", history, given)


def _release(goal: Goal, path: options.Paths, given: dict[str, Any]) -> None:
    # Standard output is for the release, unless the private summary is requested.
    if given["output"] is None and not given["as_json"]:
        given["output"] = "-"
    policy = _checked_options(goal, path, given)
    say, notes = options.speaker(given), list[str]()
    plan = policy.plan()
    plan.check_single()  # before a key is made
    plan = plan.with_key(given.get("key_file"))
    question = plan.question(options.read_history(path, given, notes.append))
    result = _checked_result(question, given["allow_unchanged"])
    # A failing command prints one sentence only, so all other sentences come after everything that may fail.
    for note in notes:
        say(note)
    _show_covered(question, say)
    _write_and_show(result, policy, given, say)


def _checked_options(goal: Goal, path: options.Paths, given: dict[str, Any]) -> Policy:
    from elsewhere.release_files import release_format

    options.check_paths(path, given, ("output", "report", "plot", "save_policy"))
    if goal == "hide" and not given["sensitive"] and not given["sensitive_zones"] and given["policy"] is None:
        raise InputError("there is nothing to hide; name sensitive places with --sensitive or --sensitive-zone")
    if given["output"] is not None:
        release_format(given["output"])
    policy = options.chosen_policy(goal, given)
    if given.get("key_file") is not None and policy.method != "drawn":
        raise InputError("--key-file is for --method drawn only")
    return policy


def _checked_result(question: Question, allow_unchanged: bool) -> Sanitized:
    """The result, after its check; raise if it protects nothing."""
    from elsewhere.solve import solve
    from elsewhere.verification.verify import check_release

    result = solve(question)
    check = check_release(question, result)
    if not check.ok:
        raise ElsewhereError(f"the release failed its check and was not written: {check.problems[0]}")
    result.check_changed(allow_unchanged)
    return result


def _write_and_show(result: Sanitized, policy: Policy, given: dict[str, Any], say: Callable[[str], None]) -> None:
    from elsewhere.cli.view import show
    from elsewhere.files import write_atomic
    from elsewhere.output.report import as_json, summary
    from elsewhere.release_files import encode

    output = given["output"]
    content = b"" if output is None else encode(output, result.histogram.items())
    is_reported = given["report"] is not None or given["as_json"]
    report = as_json(summary(result, policy.chosen())) if is_reported else ""
    # The release is written last, so that there is none if anything before fails.
    if given["save_policy"] is not None:
        policy.save(given["save_policy"])
        if unsaved := shlex.join(options.reading_words(given)):
            say(f"--save-policy does not save how HISTORY is read; give this again with the policy: {unsaved}")
    if given["report"] is not None:
        write_atomic(given["report"], report.encode(), private=True)
    if given["plot"] is not None:
        result.plot(given["plot"])
    if output not in (None, "-"):
        write_atomic(output, content, private=False)
    if given["as_json"]:
        click.echo(report, nl=False)
    elif not given["quiet"]:
        show(result, policy, sys.stderr)
    if result.unchanged:
        say("Warning: nothing was hidden. The release equals your history.")
    if output is None:
        say("No release was written. Add -o RELEASE to write one.")
    elif output == "-" and sys.stdout.isatty():
        click.echo("\n".join(map(printable, content.decode().splitlines())))
    elif output == "-":
        click.echo(content, nl=False)


def _show_covered(question: Question, say: Callable[[str], None]) -> None:
    """Print which locations the sensitive names cover, before anything is written."""
    history = question.history
    for name, locations in question.covered.items():
        if locations == {name}:
            continue
        visits = plural(sum(history[location] for location in locations), "visit")
        places = ", ".join(f"{printable(location)} ({history[location]:,})" for location in sorted(locations))
        covered = f"{plural(len(locations), 'location')} with {visits}: {places}"
        say(f"{printable(name)} covers {covered if locations else 'no location of your history'}")
