"""``elsewhere batch``: many users under one policy."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from elsewhere.model.errors import InputError
from elsewhere.text import quote

if TYPE_CHECKING:
    from elsewhere.engines.local import Progress

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@click.command(short_help="Sanitize every user of a table.")
@click.argument("policy", metavar="POLICY")
@click.argument("input", metavar="INPUT")
@click.option("-o", "--output", metavar="FOLDER", required=True, help="Where the releases go, as Parquet parts.")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True,
              help="DuckDB on this machine, or Spark.")  # fmt: skip
@click.option("--master", metavar="URL", help="Where Spark runs; by default where it is configured to, or else here.")
@click.option("--report", metavar="FOLDER", help="Where the private outcomes go; by default FOLDER.private.")
@click.option("--personal", metavar="FILE", help="A table with choices of users' own: user, and keys of the policy.")
@click.option("--user-column", metavar="NAME", help="The column that has the users.")
@click.option("--location-column", metavar="NAME", help="The column that has the locations.")
@click.option("--count-column", metavar="NAME", help="The column that has the counts; without one a row is a visit.")
@click.option("--on-error", type=click.Choice(["stop", "skip"]), default="stop", show_default=True,
              help="What to do about rows that make no sense.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), metavar="COUNT", help="How many cores to use; by default, all.")
@click.option("--memory", metavar="SIZE", default="1GB", show_default=True, help="About how much memory to take.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def batch(policy: str, input: str, output: str, memory: str, quiet: bool, **given: Any) -> None:  # noqa: A002
    """Sanitize the histogram of every user in INPUT as POLICY says.

    INPUT is a file, a folder or a pattern of Parquet, CSV or TSV files with a user, a location and a count, or with a
    row a visit. A user for whom no release is possible is left out and counted. Begun already, a batch is finished.

    \b
    Examples:
      elsewhere batch policy.toml checkins.parquet -o releases
      elsewhere batch policy.toml "lake/*.parquet" -o releases --memory 4GB --on-error skip
      elsewhere batch policy.toml s3://lake/checkins -o s3://lake/releases --engine spark --master yarn
    """
    from elsewhere.engines import batch as run

    with _progress_bar(quiet) as progress:
        summary = run(policy, input, output, memory=_bytes(memory), progress=progress, **given)
    if quiet:
        return
    click.echo(f"{summary['released']:,} of {summary['users']:,} users have a release in {output}.", err=True)
    if summary["skipped_rows"]:
        click.echo(f"{summary['skipped_rows']:,} rows made no sense and were left out.", err=True)
    for reason, users in summary.get("reasons", {}).items():
        click.echo(f"{users:,} without a release: {reason}", err=True)


@contextmanager
def _progress_bar(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Users done, users a second and the time left, on a terminal."""
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


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise InputError(f"--memory is {quote(text)}; give a size such as 512MB or 4GB")
    return int(float(found[1]) * _UNITS[found[2].upper()])
