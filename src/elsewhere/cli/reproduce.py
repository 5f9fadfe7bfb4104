"""``elsewhere reproduce``: the paper's evaluation once more."""

from __future__ import annotations

from typing import Any

import click


@click.command(short_help="Run the paper's experiments again, and check what it says about them.")
@click.option("--data", metavar="FOLDER", help="Tables of users, or the research files; made up if there is none.")
@click.option("-o", "--output", "report", metavar="REPORT", required=True, help="The folder for the report.")
@click.option("--quick", is_flag=True, help="A look in under two minutes: fewer users, splits and runs.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same one gives the same figures.")
@click.option("--only", metavar="EXPERIMENT", multiple=True, help="Run this experiment and no other. Repeatable.")
@click.option("--user-column", metavar="NAME", help="The column that has the users.")
@click.option("--location-column", metavar="NAME", help="The column that has the locations.")
@click.option("--count-column", metavar="NAME", help="The column that has the counts.")
def reproduce(report: str, **choices: Any) -> None:
    """Run the experiments of the paper's evaluation section and write a report.

    REPORT/report.html has every figure and a table of the paper's claims with what was measured. The figures, and
    their numbers as CSV, are in REPORT/quality and REPORT/runtime. Started again after an interruption, it goes on from
    the experiments that were finished.

    \b
    Example:
      elsewhere reproduce --quick -o report
    """
    from elsewhere.reproduction import reproduce as run

    try:
        done = run(report, **choices, say=lambda sentence: click.echo(sentence, err=True))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("what is finished is kept, and the same command goes on from there") from None
    click.echo(f"{done.verdicts} The report is {done.page}.")
