"""The reproduction: fits and verdicts on known answers, generated users against the paper's table, tiny runs."""

from __future__ import annotations

import csv
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import LineCollection

import elsewhere as ew
from elsewhere import paper
from elsewhere.paper.terms import term
from elsewhere.pictures import canvas
from elsewhere.pictures.files import rendered
from elsewhere.reproduction import claims, drawing, experiments, recommending, report, reproduce, timing
from elsewhere.reproduction.cache import Outcome
from elsewhere.reproduction.data import TABLE, _lengths, generate, load
from elsewhere.reproduction.experiment import QUICK, Dataset, Drawing, Fit, Panel, Series, Study, TooFew
from elsewhere.reproduction.experiments import hide_locations, worked_examples
from elsewhere.reproduction.fits import power_law, trend
from elsewhere.reproduction.releases import METHODS, drawn, excess, hidden
from elsewhere.reproduction.rows import Rows
from tests.support.command import Run, run
from tests.support.instances import histograms

__all__ = ["run"]

#: An experiment that is quick and depends on the seed.
QUICK_ONE = "hide-recommendation"


# Fits and verdicts


def test_a_power_law_is_recovered() -> None:
    random = np.random.default_rng(3)
    x = np.geomspace(5, 500, 40)
    law = power_law(x, 3e-6 * x**2.4 * random.lognormal(sigma=0.1, size=40))
    assert law is not None
    assert abs(law.exponent - 2.4) < 0.05
    assert law.low < 2.4 < law.high
    assert power_law([1, 2, 3], [1, 2, 3]) is None
    assert power_law([1, 1, 1, 2, 2, math.nan, 3], [1, 2, 3, 0, 1, 1, math.nan]) is None


def test_a_trend_is_told_from_chance() -> None:
    x = np.arange(200)
    rising = trend(x, x + np.random.default_rng(4).normal(scale=100, size=200))
    flat = trend(x, x % 7)
    assert rising is not None
    assert flat is not None
    assert rising.chance < 1e-6
    assert 0 < rising.low < rising.correlation < rising.high
    assert flat.low < 0 < flat.high
    assert flat.chance > 0.5


def test_verdicts_follow_from_the_numbers() -> None:
    assert claims.near("", 0.012, 0.0118, "", "why").verdict == "holds"
    differing = claims.near("", 7.6e-6, 9.8e-5, "", "other data")
    assert (differing.verdict, differing.why) == ("differs", "other data")
    assert claims.near("", 0.7, 0.66, "", "why", share=True).verdict == "holds"
    assert claims.near("", 0.7, math.nan, "", "why").verdict == "not measured"
    assert [claims.at_most("", 2.4, value, "", "why").verdict for value in (2.4, 2.5)] == ["holds", "differs"]
    assert [claims.at_least("", 100, value, "", "why").verdict for value in (99, 100)] == ["differs", "holds"]
    x = np.arange(1, 101)
    assert claims.grows_as("", 1, x, x * 2.0, "", "why").verdict == "holds"
    assert claims.grows_as("", 2, x, x * 2.0, "", "why").verdict == "differs"
    assert [claims.grows_at_most("", 2, x, x**e, "", "why").verdict for e in (1.0, 2.5)] == ["holds", "differs"]
    wide = claims.grows_at_most("", 2, x[:6], [1, 9, 4, 80, 20, 60], "", "why")
    assert wide.verdict == "undecided"
    assert claims.moves("", "falls", x, -x, "", "why").verdict == "holds"
    assert claims.moves("", "rises", x, -x, "", "why").verdict == "differs"
    assert claims.moves("", "rises", x, np.where(x % 2, 1.0, 2.0), "", "why").verdict == "differs"
    assert claims.moves("", "rises", x[:6], [1, 6, 2, 5, 3, 4], "", "why").verdict == "undecided"
    assert claims.moves("", "rises", x[:4], x[:4], "", "why").verdict == "not measured"
    # 'Stays' needs evidence as well: few points without a trend are none.
    assert claims.moves("", "stays", x[:6], [1, 6, 2, 5, 3, 4], "", "why").verdict == "undecided"
    assert claims.moves("", "stays", x, np.where(x % 2, 1.0, 2.0), "", "why").verdict == "holds"
    assert claims.moves("", "stays", x, -x, "", "why").verdict == "differs"


# What experiments are made of


def test_generated_users_are_like_the_papers() -> None:
    data = generate(seed=5)
    for dataset, (users, length, longest, size) in zip(
        data.sets, ((1_083, 40.28, 139, 209.99), (2_293, 32.36, 158, 221.57)), strict=True
    ):
        lengths = [history.length for history in dataset.histograms]
        assert len(lengths) == users
        assert max(lengths) == longest
        assert abs(np.mean(lengths) - length) < 0.005
        assert abs(np.mean([history.size for history in dataset.histograms]) - size) < 0.005
        assert all(min(history.counts) > 0 for history in dataset.histograms)
    assert generate(seed=5).digest() == data.digest()


def test_no_seed_makes_up_impossible_lengths() -> None:
    for shape in TABLE.values():
        for seed in range(100):
            lengths = _lengths(shape, np.random.default_rng([seed, shape.users]))
            assert (lengths[0] >= 3, lengths[-1], len(lengths)) == (True, shape.greatest_length, shape.users)
            assert abs(lengths.mean() - shape.mean_length) < 0.001
            assert np.all(np.diff(lengths) >= 0)


def test_a_heuristic_that_misses_an_optimum_of_0_is_not_called_perfect() -> None:
    distances = [(0.0, 0.0), (0.0, 0.1), (0.2, 0.3)]
    rows = Rows({"question": at, "goal": "resemble", "method": method, "d_p": d_p}
                for at, pair in enumerate(distances) for method, d_p in zip(METHODS, pair, strict=True))  # fmt: skip
    assert excess(rows) == [0.0, math.inf, pytest.approx(0.5)]


def hidings(seconds: Sequence[float], above: float = 0.0) -> Rows:
    """Runs of LHO, one for each number of seconds, ever larger; what was not finished was ended at `above`."""
    return Rows({"set": "NYC", "like": "NYC", "n": 30, "K": 20 * at, "sensitive": 10, "bins": 20, "lambda": 1e5 * at,
                 "paper": taken, "paper_above": above if math.isnan(taken) else 0.0, "verbs": 1e-4}
                for at, taken in enumerate(seconds, 1))  # fmt: skip


def verdict(name: str, rows: Rows, says: str) -> claims.Claim:
    found: claims.Claim
    [found] = [it for it in experiments.modules()[name].EXPERIMENT.claims(rows)
               if it.on.startswith("LHO") and it.says.startswith(says)]  # fmt: skip
    return found


def test_a_run_that_was_not_finished_may_have_been_the_slowest() -> None:
    seconds = [0.1 * at for at in range(1, 9)]
    assert verdict("hide-runtime-visits", hidings(seconds), "the slowest").verdict == "holds"
    assert verdict("hide-runtime-visits", hidings([*seconds, math.nan]), "the slowest").verdict == "not measured"


def test_a_run_that_was_ended_is_not_predicted_to_be_faster() -> None:
    below = partial(verdict, "hide-runtime-locations", says="share of histograms below 1 s at |L'| = 10")
    seconds = [0.01 * at for at in range(1, 7)]
    assert below(hidings(seconds)).ours == "1"
    # By the law through the others it would take less than a second.
    assert below(hidings([*seconds, math.nan, math.nan])).ours == "1"
    assert below(hidings([*seconds, math.nan, math.nan], above=20.0)).ours == "0.75"
    assert below(hidings([*seconds[:5], math.nan])).verdict == "not measured"


def test_what_hiding_costs_is_that_of_the_paper_s_path() -> None:
    """The length of LHO's path, bin by bin, is what is left when the emptied bins are taken away."""
    users = tuple(ew.Histogram({f"{at}": 1 + at * at % 7 for at in range(n)}) for n in (8, 11))
    study = Study((dataset := Dataset("NYC", "NYC", users),), 1, QUICK)
    random = study.random("sensitive", "NYC", 0)
    for row, history in zip(hidden(study, dataset, 5), users, strict=True):
        sensitive = drawn(history, 5, random)
        release = paper.lho(history, sensitive)
        other = [name for name in history if name not in sensitive]
        js = term("js", history.size, history.size)
        path = sum(js(history[name], release[name]) for name in other)
        assert row["js_path"] == pytest.approx(path, abs=1e-12)
        assert row["js"] == pytest.approx(ew.distance("js", history, release), abs=1e-12)
        assert row["l2_path"] == pytest.approx(math.dist(*([h[name] for name in other] for h in (history, release))))


def test_the_worked_examples_come_out() -> None:
    dataset = Dataset("NYC", "NYC", (ew.Histogram({"a": 1}),))
    rows = worked_examples.run(Study((dataset,), 1, QUICK), dataset)
    found = list(worked_examples.claims(rows))
    assert {claim.verdict for claim in found} == {"holds"}
    assert any(claim.on == "RO" and claim.ours == "(10, 6, 5, 2, 14, 5, 5, 3)" for claim in found)
    changed = Rows({**row, "count": row["count"] + 1} for row in rows)
    assert "differs" in {claim.verdict for claim in worked_examples.claims(changed)}


@settings(max_examples=100)
@given(histograms(), st.data())
def test_no_path_is_shorter_than_the_least_possible(history: ew.Histogram, data: st.DataObject) -> None:
    visited = [name for name in history if history[name]]
    if len(visited) < 2:
        return
    secret = data.draw(st.sampled_from(visited))
    release = ew.hide(history, {secret}).histogram
    js = term("js", history.size, history.size)
    path = sum(js(history[name], release[name]) for name in history if name != secret)
    assert path >= hide_locations._least_possible(Rows([{"N": history.size}])) - 1e-12


def test_the_misprint_is_named_in_its_row() -> None:
    """On users of the paper's sizes, no median can be the printed one."""
    rows = Rows({"set": "NYC", "like": "NYC", "n": 40, "N": 153, "K": 1, "sensitive": number, "js_path": 8e-5,
                 "js": 0.01, "l2_path": 1.0, "nce": 0.0, "nce_2": 0.0, "nce_4": 0.0, "nce_5": 0.0}
                for number in (1, 1, 2, 2, 5, 5, 10, 10))  # fmt: skip
    printed, presumed, *_ = (
        it for it in hide_locations.claims(rows) if it.says.startswith("median JS at |L'| = 1") and "path" in it.on
    )
    assert (printed.verdict, printed.paper) == ("differs", "7.6e-06")
    assert printed.why == (
        "the least possible median for these sizes is 7.7e-06; 7.6e-06 is presumably a misprint for 7.6e-05"
    )
    assert (presumed.verdict, presumed.paper) == ("holds", "7.6e-05")


def test_a_figure_has_the_fit_of_the_claim_and_bars_where_there_are_intervals() -> None:
    x = np.geomspace(1, 1e4, 13)
    y = np.where(x < 100, 1.0, x / 100)  # flat at first, then linear
    series = Series("LHO", x, y, low=0.9 * y, high=1.2 * y)
    panels = [Panel("", "", "", [series, series], fit=Fit(least=100)), Panel("", "", "", [series, series])]
    with canvas.settings():
        fitted, plain = drawing.draw(Drawing("", "", "", panels), "").axes
    assert [axes.get_legend_handles_labels()[1][0] for axes in (fitted, plain)] == ["LHO: x^1.00 from 100 on", "LHO"]
    law = next(line for line in fitted.get_lines() if line.get_linestyle() == "--")
    assert np.min(np.asarray(law.get_xdata())) == pytest.approx(100)
    bars = next(it for it in plain.get_children() if isinstance(it, LineCollection))
    assert bars.get_segments()[0][:, 1] == pytest.approx([0.9, 1.2])


def test_questions_are_the_same_for_every_threshold() -> None:
    """What a recommender makes of the originals depends on nothing that is varied."""
    random = np.random.default_rng(5)
    users = tuple(
        ew.Histogram({f"{at:02}": int(n) for at, n in enumerate(random.geometric(0.2, 14))}) for _ in range(40)
    )
    dataset = Dataset("NYC", "NYC", users)
    study = Study((dataset,), 1, replace(QUICK, users=40, splits=2))
    for name in ("hide-recommendation", "target-recommendation"):
        rows = experiments.modules()[name].EXPERIMENT.run(study, dataset)
        for goal in {row.get("goal") for row in rows}:
            for error in ("MAE", "RMSE"):
                originals = {row["original"] for row in rows if row["error"] == error and row.get("goal") == goal}
                assert len(originals) == 1
        judged = rows.where(reading=recommending.JUDGED)
        assert len(judged) * len(recommending.READINGS) == len(rows)


def test_every_experiment_can_be_drawn_and_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """On few users, of which there are some of every kind that experiments ask for, and on made-up seconds."""
    random = np.random.default_rng(2)
    monkeypatch.setattr(timing, "seconds", lambda *_, limit: random.choice([math.nan, 0.01 * limit, 0.5 * limit]))
    monkeypatch.setattr(timing, "mean_seconds", lambda *_, **__: random.uniform(0.001, 0.002))
    lengths = [25] * 8 + [26] * 3 + [30, 35, 40] * 4 + [80] + [*range(15, 35)]
    users = tuple(
        ew.Histogram(
            dict(zip(map(str, range(n)), (1 + random.multinomial(100 - n, [1 / n] * n)).tolist(), strict=True))
        )
        for n in lengths
    )
    scale = replace(QUICK, users=30, splits=2, timed=6)
    datasets = (Dataset(r"a$\frac$", "NYC", users), Dataset("TKY", "TKY", users))
    for name, module in experiments.modules().items():
        study = Study(datasets, 1, scale)
        rows = Rows(row for dataset in datasets for row in module.EXPERIMENT.run(study, dataset))
        part = report.section(name, module.EXPERIMENT, Outcome(rows))
        assert part.claims
        assert all(panel.series for it in part.drawings() for panel in it.panels), name
    with canvas.settings():
        # The name of a file is no formula.
        rendered(drawing.draw(part.drawings()[0], datasets[0].name), ".svg")


# The report


def tiny(folder: Path, users: int = 40) -> Path:
    """A folder with a table of few users, and with a file that is none."""
    folder.mkdir()
    random = np.random.default_rng(9)
    with (folder / "towns.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "location", "count"])
        for user in range(users):
            writer.writerows([user, f"place {at}", count] for at, count in enumerate(random.geometric(0.2, size=14)))
    (folder / "README.txt").write_text("Towns.\n")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """What the seed decides: all but what depends on the clock."""
    files = (path.relative_to(folder) for path in sorted(folder.rglob("*.*")))
    return {str(path): (folder / path).read_bytes() for path in files if path.parts[0] not in ("done", "runtime")}


def test_a_run_goes_on_and_the_seed_decides(tmp_path: Path) -> None:
    data, said = tiny(tmp_path / "data"), list[str]()
    again = partial(reproduce, data=data, quick=True, only=[QUICK_ONE], say=said.append)
    first = again(tmp_path / "one")
    assert first.claims
    assert any("README.txt" in sentence for sentence in said)
    before = contents(tmp_path / "one")
    page = before["report.html"].decode()
    assert page.count("<svg") == 1
    assert "http" not in page.replace("http://www.w3.org/", "")
    assert "Generated" not in page

    said.clear()
    again(tmp_path / "one")
    assert said.count(f"{QUICK_ONE}: already done") == 1
    assert contents(tmp_path / "one") == before
    again(tmp_path / "two")
    assert contents(tmp_path / "two") == before

    said.clear()
    (tmp_path / "one" / "quality" / f"{QUICK_ONE}-errors.svg").unlink()
    again(tmp_path / "one")
    assert f"{QUICK_ONE}: running again, because a figure is missing" in said
    assert contents(tmp_path / "one") == before

    (tmp_path / "two" / "done" / f"{QUICK_ONE}.json").write_text('{"rows": [], "refused": "", "made from": 3}')
    again(tmp_path / "two")
    assert contents(tmp_path / "two") == before

    said.clear()
    reproduce(tmp_path / "one", data, seed=2, quick=True, only=[QUICK_ONE], say=said.append)
    assert f"{QUICK_ONE}: running again, because of a change: seed" in said


#: Stands still when the first experiment has ended; the others go on.
_HELD = """
import time
from elsewhere.cli import main
from elsewhere.reproduction import running
running._Workers._ended = lambda *_: time.sleep(3600)
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_killed_run_keeps_what_was_done(tmp_path: Path) -> None:
    data, report = tiny(tmp_path / "data"), tmp_path / "report"
    command = [sys.executable, "-c", _HELD, "reproduce", "--data", str(data), "-o", str(report), "--quick",
               "--only", QUICK_ONE, "--only", "target-runtime-threshold"]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    done = report / "done" / f"{QUICK_ONE}.json"
    limit = time.monotonic() + 600
    try:
        while not done.exists() and process.poll() is None:
            assert time.monotonic() < limit, "the process hangs"
            time.sleep(0.01)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert done.exists()
    assert not (report / "report.html").exists()
    said: list[str] = []
    reproduce(report, data, quick=True, only=[QUICK_ONE], say=said.append)
    assert f"{QUICK_ONE}: already done" in said
    assert (report / "report.html").exists()


def test_a_set_that_is_too_small_is_named(tmp_path: Path) -> None:
    [dataset] = load(tiny(tmp_path / "data", users=3), {}).sets
    study = Study((dataset,), 1, QUICK)
    with pytest.raises(TooFew, match="towns has 0 histograms of size 100; at least 4 are needed"):
        experiments.modules()["target-length"].EXPERIMENT.run(study, dataset)
    with pytest.raises(TooFew, match="towns has 3 histograms"):
        experiments.modules()["hide-recommendation"].EXPERIMENT.run(study, dataset)


def test_bad_input_is_one_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing").mkdir()
    (tmp_path / "nothing" / "nyc.csv").write_text("")
    (tmp_path / "file").write_text("")
    for arguments, words in (
        (["--data", "nowhere", "-o", "out"], "'nowhere' does not exist"),
        (["--data", "empty", "-o", "out"], "no table of users can be read from the folder 'empty'; it has no files"),
        (["--data", "nothing", "-o", "out"], "no table of users can be read from the folder 'nothing': 'nyc.csv"),
        (["-o", "file/out"], "the folder 'file/out' cannot be created: Not a directory"),
        (["-o", "out", "--only", "hide-lenght"], "there is no experiment 'hide-lenght'; did you mean 'hide-length'?"),
        (["-o", "out", "--seed", "-1"], "seed is -1"),
        (["-o", "out", "--runs", "0"], "runs is 0"),
        (["-o", "out", "--patience", "-2"], "patience is -2.0; it must be a positive number of seconds"),
    ):
        status, out, err = run("reproduce", *arguments)
        assert (status, out) == (2, "")
        assert words in err
        assert err.count("\n") == 1
