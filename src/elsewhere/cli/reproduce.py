"""``elsewhere reproduce``: repeat the paper's evaluation."""

from __future__ import annotations

from typing import Any

import click


@click.command(short_help="Repeat the paper's experiments and check its claims.")
@click.option("--data", metavar="FOLDER", help="Read tables of users, or the research files. Default: synthetic users.")
@click.option("-o", "--output", "report", metavar="REPORT", required=True, help="Write the report to this folder.")
@click.option("--quick", is_flag=True, help="Finish in under two minutes, with fewer users, splits and runs.")
@click.option("--runs", type=int, metavar="N", help="Time N histograms per series. Default: 40, or 8 with --quick.")
@click.option(
    "--patience",
    type=float,
    metavar="SECONDS",
    help="End a run of one of the paper's algorithms after this time. Default: 20, or 0.5 with --quick.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random choices.")
@click.option("--only", metavar="EXPERIMENT", multiple=True, help="Run only this experiment. Repeatable.")
@click.option("--user-column", metavar="NAME", help="Column with the users. Default: user or a similar name.")
@click.option(
    "--location-column", metavar="NAME", help="Column with the locations. Default: location or a similar name."
)
@click.option(
    "--count-column",
    metavar="NAME",
    help="Column with the counts. Default: count or a similar name; without one, each row is one visit.",
)
def reproduce(report: str, **choices: Any) -> None:
    """Repeat the experiments of the paper's evaluation section and write a report.

    REPORT/report.html has every figure, and a table of the paper's claims beside the measurements. The figures and
    their numbers (CSV) are in REPORT/quality and REPORT/runtime. Rerunning resumes an interrupted run.

    \b
    Example:
      elsewhere reproduce --quick -o report
    """
    from elsewhere.reproduction import reproduce as run

    try:
        done = run(report, **choices, say=lambda sentence: click.echo(sentence, err=True))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("finished experiments are kept; rerun the same command to resume") from None
    click.echo(f"{done.verdicts} The report is {done.page}.")
