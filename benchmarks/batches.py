"""Batches on one machine: against DuckDB alone, by threads, and as the number of users grows."""

from __future__ import annotations

import csv
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from benchmarks.data import users
from benchmarks.measure import Row, duration, timed
from elsewhere import Policy
from elsewhere.engines import batch, kernel

_VISITS_PER_USER = 50
_POLICY = 'goal = "hide"\nsensitive = ["Category 3", "Category 17", "Category 200", "Category 201"]\n'
_HIDE_CROWD = 'goal = "hide"\nsensitive = ["Bar", "Church", "Gym / Fitness Center"]\n'
_TARGETING = 'goal = "{}"\ntarget = "{}"\nmax_quality_loss = 0.05\nvisited_only = {}\n'
#: The number of rounds, in which both sides alternate. Medians are used, also of the ratios: a shared machine may be
#: half as fast a minute later, but two measurements side by side are affected alike.
_ROUNDS = 5
_SEARCH_ROUNDS = 3
_MEMORY = 10**9
#: Prints the peak memory of a command in KiB, after it has ended.
_PEAK = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from _against_duckdb(folder)
        yield from _resembling_a_million(folder)
        yield from _one_among_many(folder)
        yield from _against_hide(folder)
        yield from _checking(folder)
        yield from _own_choices(folder)


def _against_duckdb(folder: Path) -> Iterator[Row]:
    """Both are processes with the same memory and threads; DuckDB writes the histograms unchanged."""
    (folder / "hide.toml").write_text(_POLICY)
    seconds = {}
    for number in (10**5, 10**6):
        _write_visits(folder / "visits.parquet", number)
        rounds = [_round(folder, f"out{number}-{at}") for at in range(_ROUNDS)]
        rival, ordered, took, peaks = zip(*rounds, strict=True)
        seconds[number], peak = median(took), max(peaks)
        ratio, words = _ratio(took, rival)
        together, together_words = _ratio(took, ordered)
        is_large = number == 10**6
        goal = ("<= 1.5 times, <= 1.5 GiB", ratio <= 1.5 and peak <= 1.5 * 2**20) if is_large else ()
        visits = f"{number:,} users, {number * _VISITS_PER_USER:,} visits"
        yield Row(f"batch hide, {visits}, against DuckDB's grouping alone",
                  f"{duration(seconds[number])}, {peak / 2**20:.2f} GiB", duration(median(rival)), words,
                  *goal)  # fmt: skip
        yield Row("the same, against DuckDB's grouping with the rows of a user together", duration(seconds[number]),
                  duration(median(ordered)), together_words,
                  *(("<= 1.15 times", together <= 1.15) if is_large else ()))  # fmt: skip
    small, peak = timed(_batch, folder, "hide", "small", "512MB")
    yield Row("the same with --memory 512MB", f"{duration(small)}, {peak / 2**20:.2f} GiB", "", "", "finishes", True)
    exponent = math.log10(seconds[10**6] / seconds[10**5])
    hours = 1000 * seconds[10**6] / 3600
    yield Row("batch hide as users grow from 10^5 to 10^6", f"{10**6 / seconds[10**6]:,.0f} users a second", "",
              f"exponent {exponent:.2f}", "<= 1.05", exponent <= 1.05)  # fmt: skip
    yield Row("a billion users at that rate, on paper", f"{hours:.0f} hours on {os.cpu_count()} cores")


def _resembling_a_million(folder: Path) -> Iterator[Row]:
    """Resemble on the visits of the last hide; measured once, because it takes minutes."""
    (folder / "kinds.csv").write_text("location,count\n" + "".join(f"Category {at},1\n" for at in range(400)))
    (folder / "million.toml").write_text(_TARGETING.format("resemble", "kinds.csv", "true"))
    seconds, peak = timed(_batch, folder, "million", "million", "1GB")
    yield Row("batch resemble at visited places, 1,000,000 users, 50,000,000 visits, a target of all 400 kinds",
              f"{duration(seconds)}, {peak / 2**20:.2f} GiB", "", "", "minutes", seconds <= 600)  # fmt: skip


def _one_among_many(folder: Path) -> Iterator[Row]:
    """Skew: one user with a million places among a million users with five visits, against these alone; once."""
    _write_small(folder / "small.parquet", 10**6, 0)
    _write_small(folder / "skewed.parquet", 10**6, 10**6)
    (folder / "skewed.toml").write_text(_POLICY + "memory_limit = 1e9\n")
    alone, _ = timed(_batch, folder, "skewed", "small-out", "1GB", "small.parquet")
    seconds, peak = timed(_batch, folder, "skewed", "skewed-out", "1GB", "skewed.parquet")
    yield Row("batch hide, one user with 1,000,000 places among 1,000,000 with 5 visits, against these alone",
              f"{duration(seconds)}, {peak / 2**20:.2f} GiB", duration(alone), f"{seconds / alone:.2f}",
              "<= 2 GiB", peak <= 2 * 2**20)  # fmt: skip


def _write_small(path: Path, number: int, places: int) -> None:
    """Five visits of each of some users at 400 kinds of place, and one to each of some places by another user."""
    small = (
        f"SELECT 'user' || lpad((i // 5)::VARCHAR, 8, '0') AS \"user\", 'Category ' || (hash(i) % 400) AS location "
        f"FROM range({5 * number}) t(i)"
    )
    one = f"SELECT 'everywhere', 'Place ' || i FROM range({places}) t(i)"
    import_module("duckdb").execute(f"COPY ({small} UNION ALL {one}) TO '{path}' (FORMAT parquet)")


def _round(folder: Path, output: str) -> tuple[float, float, float, int]:
    """The seconds of DuckDB, of DuckDB in the order of users, and of the batch, with its peak memory."""
    rival, ordered = timed(_group, folder)[0], timed(_group, folder, 'ORDER BY hash("user")')[0]
    seconds, peak = timed(_batch, folder, "hide", output, "1GB")
    return rival, ordered, seconds, peak


def _against_hide(folder: Path) -> Iterator[Row]:
    """Whole commands on the same file of 20,256 users, at visited places: with two threads, and with one.

    Two commands at the same time share nothing but the machine, so they show what its second core is worth.
    """
    _write_people(folder / "people.csv", 1)
    _write_people(folder / "crowd.csv", 6)
    (folder / "hide-crowd.toml").write_text(_HIDE_CROWD)
    totals = Counter[str]()
    for set_ in ("nyc", "tky"):
        for histogram in users(set_)[0]:
            totals.update(dict(histogram))
    targets = {f"a target of all {len(totals)} kinds": totals, "a uniform target": dict.fromkeys(totals, 1)}
    asked = {}
    for at, (target, weights) in enumerate(targets.items()):
        rows = "".join(f'"{name}",{weight}\n' for name, weight in weights.items())
        (folder / f"target{at}.csv").write_text(f"location,count\n{rows}")
        for goal in ("resemble", "avoid"):
            asked[goal, target] = f"{goal}{at}"
            (folder / f"{goal}{at}.toml").write_text(_TARGETING.format(goal, f"target{at}.csv", "true"))
    commands = [(name, threads) for name in ("hide-crowd", *asked.values()) for threads in (2, 1)]
    rounds = [
        {(name, threads): timed(_batch, folder, name, f"{name}-{threads}-{at}", "1GB", "crowd.csv", threads)
         for name, threads in commands}
        for at in range(_SEARCH_ROUNDS)
    ]  # fmt: skip
    at_once = [timed(_two_at_once, folder, "resemble0", f"both-{at}", "1GB", "crowd.csv", 1)[0]
               for at in range(_SEARCH_ROUNDS)]  # fmt: skip

    def took(name: str, threads: int = 2) -> list[float]:
        return [taken[name, threads][0] for taken in rounds]

    for (goal, target), name in asked.items():
        peak = max(taken[name, 2][1] for taken in rounds)
        ratio, words = _ratio(took(name), took("hide-crowd"))
        yield Row(f"batch {goal}, 20,256 users, {target}, two threads, against hide",
                  f"{duration(median(took(name)))}, {peak / 2**20:.2f} GiB", duration(median(took("hide-crowd"))),
                  words, "<= 3 times", ratio <= 3.0)  # fmt: skip
    for (goal, target), name in asked.items():
        ratio, words = _ratio(took(name, 1), took(name))
        yield Row(f"batch {goal}, the same users, {target}, two threads against one", duration(median(took(name))),
                  duration(median(took(name, 1))), words, ">= 1.8", ratio >= 1.8)  # fmt: skip
    _, words = _ratio([2.0 * seconds for seconds in took("resemble0", 1)], at_once)
    yield Row("two such commands at once with one thread each, against one after the other", duration(median(at_once)),
              duration(2.0 * median(took("resemble0", 1))), words)  # fmt: skip


def _two_at_once(folder: Path, policy: str, output: str, *given: Any) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda at: _batch(folder, policy, f"{output}-{at}", *given), range(2)))


def _write_people(path: Path, copies: int) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("user", "location", "count"))
        for copy in range(copies):
            for set_ in ("nyc", "tky"):
                for at, histogram in enumerate(users(set_)[0]):
                    rows.writerows((f"{set_}{at}-{copy}", location, count) for location, count in histogram.items())


def _checking(folder: Path) -> Iterator[Row]:
    """The share of a batch's processor time for checking its releases, in one process, so that all of it is seen."""
    _write_visits(folder / "visits.parquet", 10**5)
    # Users with something to hide are expensive to check, so hiding common places costs more than rare ones.
    common = Policy("hide", sensitive=("Category 0", "Category 1", "Category 10"))
    for goal in ("resemble", "avoid"):
        (folder / f"{goal}.toml").write_text(_TARGETING.format(goal, "tourist", "false"))
    cases = {
        "hide": (Policy.load(folder / "hide.toml"), "visits.parquet"),
        "hide, common places": (common, "visits.parquet"),
        "resemble": (Policy.load(folder / "resemble.toml"), "people.csv"),
        "avoid": (Policy.load(folder / "avoid.toml"), "people.csv"),
    }
    for name, (policy, source) in cases.items():
        shares = [_share(policy, folder / source, folder / f"checked-{name}-{at}") for at in range(_ROUNDS)]
        share = median(shares)
        yield Row(f"batch {name}, the part of the time that checks every release", f"{share:.1%}", "",
                  f"{min(shares):.1%} to {max(shares):.1%}", "<= 10%", share <= 0.1)  # fmt: skip


def _share(policy: Policy, source: Path, output: Path) -> float:
    spent, check = 0.0, kernel._check

    def timed_check(*given: Any) -> None:
        nonlocal spent
        begin = time.thread_time()
        check(*given)
        spent += time.thread_time() - begin

    with patch.object(kernel, "_check", timed_check):
        begin = time.process_time()
        batch(policy, source, output, threads=1)
        return spent / (time.process_time() - begin)


def _own_choices(folder: Path) -> Iterator[Row]:
    """Users who each have their own places, and their own sensitive one."""
    seconds = []
    for number in (10**4, 4 * 10**4):
        places = f"range({number}) t(u), (VALUES ('home'), ('clinic'), ('gym')) v(k)"
        rows = f"SELECT 'user ' || u AS \"user\", k || ' of ' || u AS location FROM {places}"
        own = f"SELECT 'user ' || u AS \"user\", 'clinic of ' || u AS sensitive FROM range({number}) t(u)"
        for name, query in (("visits", rows), ("own", own)):
            import_module("duckdb").execute(f"COPY ({query}) TO '{folder}/{name}{number}.parquet' (FORMAT parquet)")
        policy, own_choices = Policy("hide", sensitive=("home of 1",)), folder / f"own{number}.parquet"
        source, output = folder / f"visits{number}.parquet", folder / f"personal{number}"
        seconds.append(timed(batch, policy, source, output, personal=own_choices)[0])
    exponent = math.log(seconds[1] / seconds[0], 4)
    yield Row("batch hide as users with choices of their own grow from 10,000 to 40,000", duration(seconds[1]), "",
              f"exponent {exponent:.2f}", "<= 1.2", exponent <= 1.2)  # fmt: skip


def _ratio(some: Sequence[float], others: Sequence[float]) -> tuple[float, str]:
    """The median ratio of measurements side by side, also in words with the least and the greatest."""
    ratios = [one / other for one, other in zip(some, others, strict=True)]
    return median(ratios), f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _write_visits(path: Path, number: int) -> None:
    """Visits of users who have favourites, at 400 kinds of place of which few are common."""
    who = f"(hash(i * 7919) % {number})"
    favourite = f"hash({who} * 13 + hash(i * 17) % 9) % 400"
    common = "floor(400 * pow((hash(i * 101) % 1000000) / 1000000.0, 3))"
    query = (
        f"SELECT 'user' || lpad({who}::VARCHAR, 8, '0') AS \"user\", 'Category ' || "
        f"(CASE WHEN hash(i * 31 + 5) % 10 < 7 THEN {favourite} ELSE {common} END)::INT AS location "
        f"FROM range({number * _VISITS_PER_USER}) t(i)"
    )
    import_module("duckdb").execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def _group(folder: Path, order: str = "") -> None:
    grouped = f"SELECT \"user\", location, count(*) AS count FROM '{folder}/visits.parquet' GROUP BY ALL"
    query = f"COPY (SELECT * FROM ({grouped}) {order}) TO '{folder}/grouped.parquet' (FORMAT parquet, COMPRESSION zstd)"
    settings = {"memory_limit": f"{_MEMORY}B", "temp_directory": f"{folder}/spill", "preserve_insertion_order": False}
    code = "import duckdb, sys; duckdb.connect(config=eval(sys.argv[1])).execute(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, repr(settings), query], check=True, capture_output=True)


def _batch(
    folder: Path, policy: str, output: str, memory: str, source: str = "visits.parquet", threads: int | None = None
) -> int:
    """Run the command, by default with a thread per core; return its peak memory in KiB."""
    command = [sys.executable, "-m", "elsewhere", "batch", f"{folder}/{policy}.toml", f"{folder}/{source}",
               "-o", f"{folder}/{output}", "--memory", memory, "--quiet"]  # fmt: skip
    if threads is not None:
        command += ["--threads", str(threads)]
    result = subprocess.run([sys.executable, "-c", _PEAK, *command], check=True, capture_output=True, text=True)
    return int(result.stdout)
