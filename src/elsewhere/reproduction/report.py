"""The report: one self-contained page, and every figure with its numbers as separate files."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from elsewhere import __version__
from elsewhere.files import write_atomic
from elsewhere.model.errors import InputError
from elsewhere.pictures import canvas
from elsewhere.pictures.files import of_the_page, rendered
from elsewhere.reproduction.cache import Outcome
from elsewhere.reproduction.claims import Claim, Verdict
from elsewhere.reproduction.data import Data
from elsewhere.reproduction.drawing import draw
from elsewhere.reproduction.experiment import FULL, QUICK, Drawing, Experiment, Study
from elsewhere.text import quote

PAGE = "report.html"
#: What was run, for programs. It contains seconds, so it is in the folder of runtimes.
RUN = "run.json"
_ENDINGS = (".svg", ".png")
GENERATED = "Generated data: made-up users, calibrated to the paper's table of characteristics."


class Section(NamedTuple):
    """An experiment, its outcome and its claims."""

    name: str
    experiment: Experiment
    outcome: Outcome
    claims: tuple[Claim, ...]

    @property
    def folder(self) -> str:
        """Runtimes differ from run to run, so they are kept apart from results that do not."""
        return "runtime" if self.experiment.timed else "quality"

    @property
    def left_out(self) -> str:
        """A sentence that says what was left out, and why."""
        return f"left out{' in part' if self.outcome.rows else ''}: {self.outcome.refused}"

    def drawings(self) -> Sequence[Drawing]:
        """The figures of the experiment."""
        return self.experiment.draw(self.outcome.rows) if self.outcome.rows else ()


def section(name: str, experiment: Experiment, outcome: Outcome) -> Section:
    """Make the section of an experiment."""
    return Section(name, experiment, outcome, tuple(experiment.claims(outcome.rows)) if outcome.rows else ())


def write(folder: Path, parts: Sequence[Section], study: Study, data: Data) -> Path:
    """Write the tables and the page, into which the figures in the folder go; return the path of the page."""
    body = []
    for part in parts:
        make(folder / part.folder)
        if part.outcome.rows:
            _put(folder / part.folder / f"{part.name}.csv", part.outcome.rows.as_csv().encode())
        body.append(_section(part, list(_figures(folder, part))))
    for kind in dict.fromkeys(part.folder for part in parts):
        _put(folder / kind / "claims.csv", _claims_csv([part for part in parts if part.folder == kind]).encode())
    make(folder / "runtime")
    _put(folder / "runtime" / RUN, json.dumps(_run(parts, study, data), indent=1).encode())
    page = folder / PAGE
    _put(page, _page(parts, body, study, data).encode())
    return page


def draw_all(folder: Path, part: Section, footer: str) -> None:
    """Draw the figures of an experiment, as SVG and as PNG."""
    make(folder / part.folder)
    with canvas.settings():
        for drawing in part.drawings():
            figure = draw(drawing, footer)
            for ending in _ENDINGS:
                _put(_path(folder, part, drawing, ending), rendered(figure, ending))


def is_drawn(folder: Path, part: Section) -> bool:
    """Whether all figures of an experiment exist."""
    return all(_path(folder, part, drawing, ending).exists() for drawing in part.drawings() for ending in _ENDINGS)


def footer(data: Data) -> str:
    """The line below every figure."""
    return GENERATED if data.generated else "Data: " + ", ".join(dataset.name for dataset in data.sets)


def make(folder: Path) -> None:
    """Create the folder if needed; raise if it is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {quote(str(folder))} cannot be created: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"the folder {quote(str(folder))} is not writable")


def verdicts(parts: Sequence[Section]) -> str:
    """A sentence that counts the verdicts. A claim of the paper has one row for each code, set and reading."""
    counts = Counter(claim.verdict for part in parts for claim in part.claims)
    named: dict[Verdict, tuple[str, str]] = {
        "holds": ("holds", "hold"),
        "differs": ("differs", "differ"),
        "undecided": ("is undecided", "are undecided"),
        "not measured": ("could not be measured", "could not be measured"),
    }
    words = [f"{counts[verdict]} {word[counts[verdict] > 1]}" for verdict, word in named.items() if counts[verdict]]
    if not words:
        return "No claim of the paper was measured."
    rows = sum(counts[verdict] for verdict in named)
    *most, last = words
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"Of {rows} row{'s' * (rows > 1)} about the paper's claims, {listed}."


def _run(parts: Sequence[Section], study: Study, data: Data) -> dict[str, Any]:
    return {
        "version": __version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "seed": study.seed,
        "scale": asdict(study.scale),
        "generated": data.generated,
        "data": data.notes,
        "verdicts": verdicts(parts),
        "experiments": [
            {
                "name": part.name,
                "title": part.experiment.title,
                "method": part.experiment.method,
                "claims": f"{part.folder}/claims.csv",
                "refused": part.outcome.refused,
                "seconds": part.outcome.seconds,
            }
            for part in parts
        ],
    }


def _figures(folder: Path, part: Section) -> Iterator[str]:
    for drawing in part.drawings():
        svg = _path(folder, part, drawing, ".svg").read_text(encoding="utf-8")
        yield f'<figure aria-label="{escape(drawing.title)}">{of_the_page(svg)}</figure>'


def _path(folder: Path, part: Section, drawing: Drawing, ending: str) -> Path:
    return folder / part.folder / f"{part.name}-{drawing.name}{ending}"


def _put(path: Path, content: bytes) -> None:
    write_atomic(path, content, private=True)


def _claims_csv(parts: Sequence[Section]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["experiment", "claim", "paper", "measured", "on", "verdict", "why"])
    for part in parts:
        for it in part.claims:
            writer.writerow([part.name, it.says, it.paper, it.ours, it.on, it.verdict, it.why])
    return text.getvalue()


def _page(parts: Sequence[Section], body: Sequence[str], study: Study, data: Data) -> str:
    banner = f'<p class="banner">{escape(GENERATED)}</p>' if data.generated else ""
    style = _STYLE + (_GENERATED_PRINT if data.generated else "")
    notes = "".join(f"<li>{escape(note)}</li>" for note in data.notes)
    scale = "the full run" if study.scale.name == "full" else "a quick run: fewer users, splits and runs"
    if study.scale not in (FULL, QUICK):
        scale += f"; {study.scale.timed} histograms per series of runtimes, {study.scale.patience:g} s per run"
    contents = "".join(f'<li><a href="#{part.name}">{escape(part.experiment.title)}</a></li>' for part in parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>The paper's evaluation, reproduced</title>\n<style>{style}</style>\n</head>\n<body>\n{banner}\n"
        f"<h1>The paper's evaluation, reproduced</h1>\n<p>{escape(_SOURCE)}</p>\n<ul>{notes}"
        f"<li>elsewhere {escape(__version__)}, seed {study.seed}, {scale}.</li></ul>\n"
        f"<nav><h2>Contents</h2><ol><li><a href='#claims'>The paper's claims</a></li>{contents}</ol></nav>\n"
        f'<section id="claims"><h2>The paper\'s claims</h2>\n<p>{escape(verdicts(parts))} {escape(_RULE)}</p>\n'
        f"{_claims_table(parts)}</section>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def _section(part: Section, figures: Sequence[str]) -> str:
    refused = f'<p class="refused">This is {escape(part.left_out)}</p>' if part.outcome.refused else ""
    files = f'<p class="files">{len(part.outcome.rows):,} rows in {part.folder}/{part.name}.csv</p>' if figures else ""
    return (
        f'<section id="{part.name}"><h2>{escape(part.experiment.title)}</h2>\n<p>{escape(part.experiment.method)}</p>\n'
        f"{refused}{files}\n" + "\n".join(figures) + "</section>"
    )


def _claims_table(parts: Sequence[Section]) -> str:
    head = "".join(f"<th scope='col'>{name}</th>" for name in ("claim", "paper", "measured", "on", "verdict"))
    return (
        f"<table><thead><tr>{head}</tr></thead>\n{''.join(line for part in parts for line in _claims_of(part))}</table>"
    )


def _claims_of(part: Section) -> Iterator[str]:
    if not part.claims:
        return
    yield f"<tbody><tr><th colspan='5' scope='rowgroup'>{escape(part.experiment.title)}</th></tr>\n"
    for it in part.claims:
        mark = it.verdict.replace(" ", "-")
        why = f"<br><small>{escape(it.why)}</small>" if it.why else ""
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in (it.says, it.paper, it.ours, it.on))
        yield f"<tr class='{mark}'>{cells}<td><b>{it.verdict}</b>{why}</td></tr>\n"
    yield "</tbody>"


_SOURCE = (
    "Grigorios Loukides and George Theodorakopoulos: Location histogram privacy by Sensitive Location Hiding and "
    "Target Histogram Avoidance/Resemblance (Knowledge and Information Systems, 2020, extended version). Figures "
    "are numbered as there."
)
_RULE = (
    "A claim has one row for each code, set and reading that it is checked on. The tolerances were fixed before "
    "anything was measured: a number (also seconds and changes in percent) within a quarter of the paper's; a share of "
    "histograms, locations or visits, or an NCE, within 0.05; a bound ('at most', 'at least', and the mean by which RH "
    "misses RO) with no tolerance; a fitted exponent within 0.25; a trend that chance would show in at most 5% of "
    "cases (rho is Spearman's rank correlation). 'Undecided' means that the confidence interval leaves the question "
    "open, and 'not measured' that a run did not finish."
)
_STYLE = """
:root { color-scheme: light; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color: #1f2329;
  background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
.banner { position: sticky; top: 0; margin: 0; padding: 0.4rem 1rem; background: #fff3d6; border: 1px solid #e69f00;
  z-index: 1; }
figure { margin: 1.5rem 0; } svg { width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.85rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.6rem 0.25rem 0; border-top: 1px solid #d5d8dc; }
tbody th { padding-top: 1rem; border-top: 2px solid #1f2329; }
td:nth-child(3) { font-variant-numeric: tabular-nums; }
small { color: #555; } .files { color: #555; font-size: 0.85rem; }
.holds b { color: #006b4f; } .differs b { color: #b34700; } .refused { color: #b34700; }
@page { margin: 18mm 14mm; @bottom-right { content: counter(page); font: 8pt sans-serif; } }
@media print {
  body { margin: 0; max-width: none; font-size: 9.5pt; padding: 0; }
  .banner { position: static; }
  nav { display: none; } figure, tr { break-inside: avoid; } h2, tr:has(th) { break-after: avoid; }
  table { font-size: 8pt; }
  figure svg { max-height: 235mm; }
}
"""
#: The header of every printed page.
_GENERATED_PRINT = f'@page {{ @top-left {{ content: "{GENERATED}"; font: 8pt sans-serif; }} }}\n'
