"""``elsewhere batch``: many users under one policy."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from elsewhere.model.errors import InputError, TooFewReleased
from elsewhere.text import plural, quote

if TYPE_CHECKING:
    from elsewhere.engines.local.pipeline import Progress

#: Seconds after which a thread lets another one run. The thread that reads rows needs the interpreter often but
#: briefly, and by default it would wait ten times as long for the thread that loads the solvers, each time.
_TURN = 0.0005
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@click.command(short_help="Sanitize every user of a table.")
@click.argument("policy", metavar="POLICY")
@click.argument("input", metavar="INPUT")
@click.option("-o", "--output", metavar="FOLDER", required=True,
              help="Write the releases to this folder, as Parquet files. Required.")  # fmt: skip
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True,
              help="Run on this machine (DuckDB) or on Spark.")  # fmt: skip
@click.option("--master", metavar="URL", help="Run on this Spark master. Default: as configured, or this machine.")
@click.option("--report", metavar="FOLDER", help="Write the private outcomes to this folder. Default: FOLDER.private.")
@click.option("--personal", metavar="FILE",
              help="Read users' own choices from this table: a user column, and keys of the policy.")  # fmt: skip
@click.option("--user-column", metavar="NAME", help="Read the users from this column.")
@click.option("--location-column", metavar="NAME", help="Read the locations from this column.")
@click.option("--count-column", metavar="NAME", help="Read the counts from this column.")
@click.option("--rows-are-visits", is_flag=True, help="Count every row as one visit, even if there is a count column.")
@click.option("--key", "keys", multiple=True, metavar="NAME",
              help="Make a release for each user and value of this column, such as a month. Repeatable.")  # fmt: skip
@click.option("--partition-by", multiple=True, metavar="NAME",
              help="Put the values of this --key into folders of the output. Repeatable.")  # fmt: skip
@click.option("--part-rows", type=click.IntRange(1), metavar="COUNT",
              help="Write about this many rows per file. Default: a million.")  # fmt: skip
@click.option("--on-error", type=click.Choice(["stop", "skip"]), default="stop", show_default=True,
              help="Stop at rows without a user, a location or a valid count, or skip them.")  # fmt: skip
@click.option("--allow-unchanged", is_flag=True, help="Continue even if a sensitive name covers no visited place.")
@click.option("--min-released", metavar="SHARE", default="0%", show_default=True,
              help="Exit with status 3, without _SUCCESS, if fewer users can have a release.")  # fmt: skip
@click.option("--key-file", metavar="FILE",
              help="Draw with the secret key in this file; elsewhere key makes one. Only for method = 'drawn' or "
              "mechanism = 'shared'. "
              "Default: $ELSEWHERE_KEY, or your own key file.")  # fmt: skip
@click.option("--since", metavar="EARLIER",
              help="Continue the releases in this folder or table of an earlier batch: no count falls.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), metavar="COUNT", help="Use this many cores. Default: all.")
@click.option("--memory", metavar="SIZE", default="1GB", show_default=True, help="Use about this much memory.")
@click.option("--json", "as_json", is_flag=True, help="Print the private summary as JSON on standard output.")
@click.option("--quiet", is_flag=True, help="Print only errors.")
def batch(
    policy: str,
    input: str,  # noqa: A002
    output: str,
    memory: str,
    min_released: str,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Sanitize the histogram of every user in INPUT as POLICY says.

    INPUT is a file, a folder or a pattern of Parquet, CSV or TSV files with the columns user, location and count, or
    with one row per visit; paths may begin with s3://, gs:// or az://. Every release is checked before it is written.
    Users for whom no release is possible are left out and counted. Rerunning resumes an interrupted batch.

    \b
    Examples:
      elsewhere batch policy.toml checkins.parquet -o releases
      elsewhere batch policy.toml "lake/*.parquet" -o releases --memory 4GB --on-error skip
      elsewhere batch policy.toml s3://lake/checkins -o s3://lake/releases --key month --partition-by month
      elsewhere batch policy.toml checkins.parquet -o march --since february
      elsewhere batch policy.toml s3a://lake/checkins -o s3a://lake/releases --engine spark --master yarn
    """
    from elsewhere.engines import batch as run

    sys.setswitchinterval(_TURN)
    given |= {"memory": _bytes(memory), "min_released": _share(min_released)}
    try:
        with _progress_bar(quiet) as progress:
            summary: Mapping[str, Any] = run(policy, input, output, progress=progress, **given)
    except TooFewReleased as error:
        _show(error.summary, "", as_json, quiet)
        raise
    _show(summary, output, as_json, quiet)


def _show(summary: Mapping[str, Any], output: str, as_json: bool, quiet: bool) -> None:
    for sentence in _sentences(summary, output, quiet):
        click.echo(sentence, err=True)
    if as_json:
        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))


def _sentences(summary: Mapping[str, Any], output: str, quiet: bool) -> Iterator[str]:
    """The sentences about a batch; `output` is "" if it is not finished. Defects are always reported."""
    if summary["failed_checks"]:
        failed = plural(summary["failed_checks"], "release")
        yield f"WARNING: {failed} not written, because of a failed check. This is a bug in elsewhere; please report it."
    if quiet:
        return
    yield from summary["notes"]
    if output:
        yield f"{summary['released']:,} of {summary['users']:,} users have a release in {output}."
    if "shared" in summary:
        yield _shared(summary["shared"])
    for name, hidden in summary["hidden"].items():
        what = f"{plural(hidden['visits'], 'visit')} of {plural(hidden['users'], 'user')}"
        yield f"{quote(name)} hid {what if hidden['visits'] else 'nothing'}."
    if summary["merged_spellings"]:
        merged = plural(summary["merged_spellings"], "spelling")
        yield f"Counted {merged} together with another spelling of the same place."
    if summary["skipped_rows"]:
        yield f"Skipped {plural(summary['skipped_rows'], 'row')} without a user, a location or a valid count."
    for reason, users in summary.get("reasons", {}).items():
        yield f"{users:,} without a release: {reason}"


def _shared(figures: Mapping[str, Any]) -> str:
    """A sentence about how many users of each kind share a release, and how many could."""
    kinds = [(figures[f"{what}_secret"], f"{what} the secret") for what in ("with", "without")]
    served = " and ".join(f"{of['served']:,} of {of['users']:,} {what}" for of, what in kinds)
    total = sum(of["served"] for of, _ in kinds)
    most = figures["most_served"]
    proven = "no pairing serves more" if most == total else f"at most {most:,} users could"
    return f"{total:,} users share a release with a user of the opposite kind: {served}; proven: {proven}."


@contextmanager
def _progress_bar(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A progress bar on a terminal: users done, users per second, and the time left."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    words = TextColumn("{task.completed:,.0f} users, {task.fields[rate]:,.0f} a second")
    with Bar(BarColumn(), words, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, rate=0.0)

        def update(progress: Progress) -> None:
            rate = progress.users / (bar.tasks[0].elapsed or 1.0)
            bar.update(task, completed=progress.users, total=progress.expected, rate=rate)

        yield update


def _share(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    if found is None:
        raise InputError(f"--min-released is {quote(text)}; give a share such as 99%")
    return float(found[1]) / (100 if found[2] else 1)


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise InputError(f"--memory is {quote(text)}; give a size such as 512MB or 4GB")
    return int(float(found[1]) * _UNITS[found[2].upper()])
