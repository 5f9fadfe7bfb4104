"""The page on the paper's evaluation: figures come from a run, words from one file, and nothing is typed by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tools.make_reproduce import PAGE, PLACEHOLDER, WORDS, page

from elsewhere.reproduction import reproduce


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run of the experiments that need no data writes, on two users."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "nyc.csv").write_text("user,location,count\nann,a|b,2\nann,c,1\nbob,c,5\n")
    reproduce(folder / "report", folder / "nyc.csv", quick=True, only=["worked-examples", "datasets"])
    return folder / "report"


def test_figures_come_from_the_run(report: Path) -> None:
    words = "Mean N: {{measured: datasets ;; mean size N ;;\nNYC}}.\n\n{{run}}\n\n{{claims}}\n\n{{summary}}\n"
    made = page(report, words)
    assert "Mean N: 4.00.\n" in made
    assert "a quick run" in made
    with (report / "quality" / "claims.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert all(f"| {row['claim']} | {row['paper']} | {row['measured']} |" in made for row in rows)
    assert all(len(line) <= 100 for line in made.splitlines() if not line.startswith(("|", "#", "<!--")))
    holding = sum(row["verdict"] == "holds" for row in rows)
    assert f"| **all** | {holding} |" in made


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("{{measured: datasets ;; mean size ;; NYC}}", "datasets has 0 rows for 'mean size' on 'NYC', not 1"),
        ("{{nothing}}", "there is no part 'nothing'"),
    ],
)
def test_what_is_not_there_is_named(report: Path, words: str, sentence: str) -> None:
    with pytest.raises(SystemExit, match=sentence):
        page(report, words)


def test_the_page_has_the_words_of_the_file() -> None:
    """Whoever edits the page by hand, or the words without making it again, is told."""
    made = " ".join(PAGE.read_text(encoding="utf-8").split())
    words = PLACEHOLDER.split(WORDS.read_text(encoding="utf-8"))[::2]
    assert len(words) > 10
    assert all(" ".join(part.split()) in made for part in words)
    assert not PLACEHOLDER.search(made)
