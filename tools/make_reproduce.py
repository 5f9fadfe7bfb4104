"""Make docs/reproduce.md from what a run of `elsewhere reproduce` wrote: `python -m tools.make_reproduce REPORT`.

The words are in tools/reproduce_page.md, and every measured figure comes from the folder REPORT. In the words,
``{{name}}`` stands for a part that is made here, and ``{{COLUMN: EXPERIMENT ;; CLAIM ;; ON}}`` for a cell of the table
of claims: ``measured``, ``verdict`` or ``why``.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from elsewhere.reproduction import claims, comparing, recommending
from elsewhere.reproduction.experiment import FULL, Scale
from elsewhere.reproduction.experiments import target_runtime_long
from elsewhere.reproduction.timing import every_length_patience

ROOT = Path(__file__).parents[1]
WORDS = ROOT / "tools" / "reproduce_page.md"
PAGE = ROOT / "docs" / "reproduce.md"
PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NOTE = "<!-- Made by tools/make_reproduce.py: change tools/reproduce_page.md, or run `make reproduce`. -->\n\n"
_WIDTH = 100
#: The verdicts in the order of the columns.
_VERDICTS = ("holds", "differs", "undecided", "not measured", "another reading", "not in the paper")


def main(arguments: list[str]) -> None:
    """Write the page."""
    if len(arguments) != 1:
        sys.exit("usage: python -m tools.make_reproduce REPORT")
    PAGE.write_text(page(Path(arguments[0]), WORDS.read_text(encoding="utf-8")), encoding="utf-8")


def page(report: Path, words: str) -> str:
    """The words, with the placeholders filled in from the report."""
    run = json.loads((report / "runtime" / "run.json").read_text(encoding="utf-8"))
    rows: dict[str, list[dict[str, str]]] = {it["name"]: [] for it in run["experiments"]}
    for file in dict.fromkeys(it["claims"] for it in run["experiments"]):
        with (report / file).open(encoding="utf-8", newline="") as table:
            for row in csv.DictReader(table):
                rows[row["experiment"]].append(row)
    made: dict[str, Callable[[], str]] = {
        "run": lambda: _run(run),
        "data": lambda: "\n".join(f"- {note}" for note in run["data"]),
        "tolerances": _tolerances,
        "limits": lambda: _limits(run["scale"]),
        "substantial": lambda: f"{recommending.SUBSTANTIAL:.0%}",
        "similar": lambda: f"{comparing.SIMILAR:g}",
        "low": lambda: f"{comparing.LOW:g}",
        "well": lambda: f"{target_runtime_long.WELL:g}",
        "summary": lambda: "\n".join(_summary(run, rows)),
        "claims": lambda: "\n".join(_claims(run, rows)),
    }

    def fill(found: re.Match[str]) -> str:
        what = " ".join(found[1].split())
        column, colon, row = what.partition(":")
        if colon:
            return _row(rows, row)[column]
        if what not in made:
            raise SystemExit(f"there is no part {what!r}; choose from {', '.join(made)}")
        return made[what]()

    return _NOTE + "\n".join(_rewrapped(PLACEHOLDER.sub(fill, words)))


def _row(rows: dict[str, list[dict[str, str]]], asked: str) -> dict[str, str]:
    """The one row of the table of claims that a placeholder names."""
    experiment, claim, on = (word.strip() for word in asked.split(";;"))
    found = [row for row in rows.get(experiment, []) if (row["claim"], row["on"]) == (claim, on)]
    if len(found) != 1:
        known = "\n".join(f"{row['claim']} ;; {row['on']}" for row in rows.get(experiment, []))
        raise SystemExit(f"{experiment} has {len(found)} rows for {claim!r} on {on!r}, not 1; it has\n{known}")
    return found[0]


def _run(run: dict[str, Any]) -> str:
    minutes = sum(it["seconds"] for it in run["experiments"]) / 60
    scale, usual = run["scale"], asdict(FULL)
    if scale["name"] != "full":
        much = "a quick run: fewer users, splits and runs"
    elif scale == usual:
        much = "the full run"
    else:
        much = (
            f"a full run, except that series of runtimes have {scale['timed']} histograms (not {usual['timed']}), and "
            f"that runs of the paper's algorithms are ended after {scale['patience']:g} seconds (not "
            f"{usual['patience']:g})"
        )
    users = "made-up users" if run["generated"] else "the sets below"
    text = (
        f"The figures on this page come from elsewhere {run['version']} (Python {run['python']}), seed "
        f"{run['seed']}, {much}, on {users}. The run took {minutes:.0f} minutes of processor time on a machine with "
        f"{run['cores']} cores. "
        f"{run['verdicts']}"
    )
    refused = [
        f"`{it['name']}` was left out, at least in part: {it['refused']}" for it in run["experiments"] if it["refused"]
    ]
    return " ".join([text, *refused])


def _tolerances() -> str:
    return "\n".join(
        (
            "| the paper gives | the claim holds |",
            "| --- | --- |",
            f"| a number: seconds, a distance, a change in percent | within {claims.NUMBER_OFF:.0%} of it |",
            f"| a share of histograms, locations or visits, or an NCE | within {claims.SHARE_OFF:g} of it |",
            "| a bound: 'at most', 'at least' | if the value satisfies it, with no tolerance |",
            f"| an exponent, fitted by least squares on the logarithms | within {claims.EXPONENT_OFF:g} of it |",
            f"| a trend, up or down | if chance alone shows one as strong in at most {claims.CHANCE:.0%} of cases |",
            "| no trend | if there is none by that rule, and the 95% confidence interval of the rank correlation "
            f"is within {claims.MODERATE:g} of 0 |",
            "| a printed histogram | if it is the same |",
        )
    )


def _limits(scale: dict[str, Any]) -> str:
    return (
        f"Graphs of more than {scale['edges']:,} edges are not built. A run is ended after {scale['patience']:g} "
        f"seconds of processor time, and RO with every length after {every_length_patience(Scale(**scale)):g}."
    )


def _summary(run: dict[str, Any], rows: dict[str, list[dict[str, str]]]) -> Iterator[str]:
    """A table that counts the verdicts of each experiment."""
    yield f"| experiment | {' | '.join(_VERDICTS)} |"
    yield "| --- |" + " --- |" * len(_VERDICTS)
    totals = Counter[str]()
    for it in run["experiments"]:
        counts = Counter(row["verdict"] for row in rows[it["name"]])
        totals += counts
        yield f"| {_cell(it['title'])} | {' | '.join(str(counts[verdict] or '') for verdict in _VERDICTS)} |"
    yield f"| **all** | {' | '.join(str(totals[verdict] or '') for verdict in _VERDICTS)} |"


def _claims(run: dict[str, Any], rows: dict[str, list[dict[str, str]]]) -> Iterator[str]:
    """One section per experiment: how it is done, and its rows."""
    for it in run["experiments"]:
        yield f"### {it['title']}\n"
        yield f"{it['method']}\n"
        if it["refused"]:
            yield f"Left out, at least in part: {it['refused']}\n"
        yield "| claim | paper | measured | on | verdict |\n| --- | --- | --- | --- | --- |"
        for row in rows[it["name"]]:
            verdict = f"{row['verdict']}: {row['why']}" if row["why"] else row["verdict"]
            cells = (row["claim"], row["paper"], row["measured"], row["on"], verdict)
            yield f"| {' | '.join(map(_cell, cells))} |"
        yield ""


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*")


def _rewrapped(text: str) -> Iterator[str]:
    """The lines of the page, with paragraphs and list items wrapped and everything else unchanged."""
    code, paragraph = False, list[str]()
    for line in [*text.split("\n"), ""]:
        fence = line.startswith("```")
        alone = code or fence or not line.strip() or line.startswith(("|", "#"))
        if paragraph and (alone or line.startswith("- ")):
            yield _wrapped(paragraph)
            paragraph = []
        if alone:
            yield line
        else:
            paragraph.append(line.strip())
        code ^= fence


def _wrapped(lines: list[str]) -> str:
    indent = "  " if lines[0].startswith("- ") else ""
    text = " ".join(lines)
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    main(sys.argv[1:])
