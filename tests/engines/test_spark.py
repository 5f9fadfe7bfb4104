"""The same batch on a real cluster: a master and two workers, processes of their own, some of which are killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from tests.support.batches import expected, people, released, rows, write
from tests.support.cluster import PARTITIONS, Cluster, executors, kill, silent_port, wait_for
from tests.support.java import java_version

pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes to kill in /proc"),
    pytest.mark.skipif(java_version() < 17 and os.environ.get("CI") != "true", reason="no JDK 17 is found"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    assert java_version() >= 17, "Spark needs a JDK 17"
    folder = tmp_path_factory.mktemp("cluster")
    found = Cluster(folder)
    try:
        found.have_workers()
        yield found
    finally:
        found.stop()
        shutil.rmtree(folder, ignore_errors=True)


def marks(folder: Path) -> int:
    return len(list(folder.iterdir()))


def in_order(folder: Path) -> dict[str, dict[str, int]]:
    """The releases, after a look at every file of them."""
    names = {path.name for path in folder.iterdir()} - {"_SUCCESS"}
    assert all(re.fullmatch(r"part-[\w-]+\.zstd\.parquet", name) for name in names)
    for path in folder.glob("part-*"):
        table = pq.read_table(path)
        found = list(zip(table.column("user").to_pylist(), table.column("location").to_pylist(), strict=True))
        assert found == sorted(found)
        assert set(pq.read_metadata(path).metadata) <= {b"org.apache.spark.version",
                                                        b"org.apache.spark.sql.parquet.row.metadata"}  # fmt: skip
        assert b"clinic" not in path.read_bytes()
    return dict(sorted(released(folder).items()))


RESEMBLE = ew.Policy("resemble", sensitive=("clinic",), target="target.csv", max_quality_loss=0.2)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Histograms, a target and choices of users' own."""
    write(tmp_path / "in.parquet", people(300))
    (tmp_path / "target.csv").write_text("location,count\npark,3\nmuseum,2\nclinic,1\n", encoding="utf-8")
    RESEMBLE.save(tmp_path / "policy.toml")
    users = list(people(300))
    own = {"user": users[:3], "sensitive": ["casino; clinic", None, "clinic"], "max_quality_loss": [None, 0.0, 0.5]}
    pq.write_table(pa.table(own), tmp_path / "own.parquet")
    return tmp_path


def test_all_is_as_on_one_machine(cluster: Cluster, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.have_workers()
    for name, value in cluster.settings.items():
        monkeypatch.setenv(name, value)
    from pyspark.sql import SparkSession

    from elsewhere.engines import spark

    monkeypatch.setenv("ELSEWHERE_KEY", "5f" * 32)  # which the executors do not have
    hide = ew.Policy("hide", sensitive=("clinic", "preset:gambling"))
    near = ew.Policy("resemble", target="tourist", max_quality_loss=0.3, method="drawn", by="kind", allow_mismatch=True)
    asked: list[tuple[Any, dict[str, Any]]] = [
        (hide, {}), (data / "policy.toml", {"personal": data / "own.parquet"}), (replace(hide, method="drawn"), {}),
        (replace(hide, mechanism="shared", max_quality_loss=0.2), {}),
        (near, {}),
    ]  # fmt: skip
    session = SparkSession.builder.master(cluster.url).config("spark.log.level", "OFF").getOrCreate()
    try:
        for at, (policy, more) in enumerate(asked):
            here = ew.batch(policy, data / "in.parquet", data / f"here{at}", **more)
            there = ew.batch(policy, data / "in.parquet", data / f"there{at}", engine="spark", **more)
            assert in_order(data / f"there{at}") == released(data / f"here{at}") != {}
            for key in ("users", "released", "skipped_rows", "without_release", "reasons", "hidden", "merged_spellings",
                        "failed_checks", "notes"):  # fmt: skip
                assert there[key] == here[key], key
            for key in ("with_secret", "without_secret", "most_served") if "shared" in here else ():
                assert there["shared"][key] == here["shared"][key]
            for key in ("mean_quality_loss", "largest_quality_loss", "mean_privacy_distance"):
                assert there[key] == (here[key] and pytest.approx(here[key], rel=1e-9))
            (text,) = (data / f"there{at}.private" / "summary").glob("part-*")
            assert json.loads(text.read_text("utf-8")) == there
            assert (data / f"there{at}.private").stat().st_mode & 0o077 == 0
            with pytest.raises(ew.InputError, match="exists already"):
                ew.batch(policy, data / "in.parquet", data / f"there{at}", engine="spark")
        visits = [(at, name) for at, counts in enumerate(people(20).values()) for name in counts]
        frame = session.createDataFrame(visits * 2, "who int, place string")
        results = spark.sanitize(frame, hide, user="who")
        found: dict[int, dict[str, int]] = {}
        for row in spark.releases(results).collect():
            found.setdefault(row["who"], {})[row["location"]] = row["count"]
        twice = {str(at): dict.fromkeys(counts, 2) for at, counts in enumerate(people(20).values())}
        assert {str(user): counts for user, counts in found.items()} == expected(hide, twice)
    finally:
        session.stop()


# What runs on the executors leaves a mark and waits until it may go on: the kernel first, then the writing of another
# batch, of which two parts are not held up.
_SLOW = """
import sys, time, uuid
from pathlib import Path
import elsewhere as ew
from elsewhere.engines.spark import batch, frames
from pyspark.sql import SparkSession

folder, master = Path(sys.argv[1]), sys.argv[2]
sanitize_checked, releases = frames.sanitize_checked, batch.releases

def mark(name, free=0):
    (folder / name / str(uuid.uuid4())).touch()
    while len(list((folder / name).iterdir())) > free and not (folder / f"{name} may go on").exists():
        time.sleep(0.05)

def slow_kernel(plan, batches, **options):
    mark("sanitizing")
    yield from sanitize_checked(plan, batches, **options)

def slow_rows(batches):
    mark("writing", 2)
    yield from batches

session = SparkSession.builder.master(master).config("spark.log.level", "OFF").getOrCreate()
frames.sanitize_checked = slow_kernel
ew.batch(folder / "policy.toml", folder / "in", folder / "out", engine="spark", on_error="skip")
(folder / "done").touch()
frames.sanitize_checked = sanitize_checked
batch.releases = lambda results: releases(results).mapInArrow(slow_rows, releases(results).schema)
ew.batch(folder / "policy.toml", folder / "in", folder / "other", engine="spark", on_error="skip")
"""


def test_processes_are_killed(cluster: Cluster, data: Path) -> None:
    """An executor and a worker while users are sanitized, and the driver while releases are written."""
    cluster.have_workers()
    for name in ("sanitizing", "writing", "in"):
        (data / name).mkdir()
    (data / "in.parquet").rename(data / "in" / "1.parquet")
    bad = {"user": [None, "user 00001", "user 00001"], "location": ["gym", None, "gym"], "count": [1, 1, -1]}
    pq.write_table(pa.table(bad), data / "in" / "2.parquet")
    driver = cluster.drive(_SLOW, data, cluster.url)
    first, second = cluster.workers
    wait_for(lambda: marks(data / "sanitizing") >= 2)  # each of the two executors is at one of the four parts
    before = marks(data / "sanitizing")
    os.kill(executors(first)[0], signal.SIGKILL)
    wait_for(lambda: marks(data / "sanitizing") > before)
    kill(second)
    assert not (data / "out" / "_SUCCESS").exists()
    (data / "sanitizing may go on").touch()
    wait_for(lambda: (data / "done").exists() or driver.poll() is not None)
    assert marks(data / "sanitizing") > PARTITIONS  # something had to be done again
    assert in_order(data / "out") == expected(ew.Policy.load(data / "policy.toml"), people(300))
    assert (data / "out" / "_SUCCESS").exists()
    (text,) = (data / "out.private" / "summary").glob("part-*")
    summary = json.loads(text.read_text("utf-8"))
    assert (summary["users"], summary["skipped_rows"]) == (300, 3)  # whatever was done twice

    wait_for(lambda: marks(data / "writing") > 2)
    kill(driver)
    (data / "writing may go on").touch()
    wait_for(lambda: not executors(first))  # who might go on without it
    assert [path.name for path in (data / "other").iterdir()] == ["_temporary"]
    written = list((data / "other").rglob("*.parquet"))
    assert written
    assert not any(b"clinic" in path.read_bytes() for path in written)


_CONNECT = """
import json, sys
from pyspark.sql import SparkSession
import elsewhere as ew
from elsewhere.engines import spark

folder, master, rows = sys.argv[1:]
session = SparkSession.builder.remote(master).getOrCreate()
assert "connect" in type(session).__module__
hide = ew.Policy("hide", sensitive=("clinic",))
frame = session.createDataFrame(json.loads(rows), "user string, location string, count bigint")
results = spark.sanitize(frame, hide)
found = [list(row) for row in spark.releases(results).collect()]
assert spark.outcomes(results).count() == 20
spark.register(session, hide)
assert session.sql("SELECT sanitize(map('gym', 1L, 'clinic', 2L)) AS release").first()["release"] == {"gym": 3}
spark.run(hide.plan(), frame, f"{folder}/frame")
print(json.dumps(found))
"""


def test_spark_connect(cluster: Cluster, data: Path) -> None:
    """The command and the functions, at a server of its own; and what is said if there is none."""
    cluster.have_workers()
    server = cluster.connect_server()
    env = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    env["PYTHONPATH"] = cluster.settings["PYTHONPATH"]

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True, timeout=900)

    write(data / "in.parquet", people(20))
    visits = ",".join(("user", "location", "count")) + "\n" + "".join(f"{u},{p},{n}\n" for u, p, n in rows(people(20)))
    (data / "in.csv").write_text(visits, encoding="utf-8")
    ew.Policy("hide", sensitive=("clinic",)).save(data / "hide.toml")
    wanted = expected(ew.Policy("hide", sensitive=("clinic",)), people(20))
    command = ["-m", "elsewhere", "batch", str(data / "hide.toml")]
    for name in ("in.parquet", "in.csv"):
        done = run(*command, str(data / name), "-o", str(data / f"out-{name}"), "--engine", "spark", "--master", server)
        assert done.returncode == 0, done.stderr[-2000:]
        assert in_order(data / f"out-{name}") == wanted
    done = run("-c", _CONNECT, str(data), server, json.dumps(rows(people(20), shuffled=True)))
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, dict[str, int]] = {}
    for user, location, count in json.loads(done.stdout.splitlines()[-1]):
        found.setdefault(user, {})[location] = count
    assert found == in_order(data / "frame") == wanted

    with silent_port() as port:
        nobody = f"sc://127.0.0.1:{port}"
        done = run(*command, str(data / "in.csv"), "-o", str(data / "none"), "--engine", "spark", "--master", nobody)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"no Spark Connect server answers at --master '{nobody}'" in done.stderr
    without = "import sys; sys.modules['grpc'] = None; import elsewhere.cli as cli; cli.main(sys.argv[1:])"
    done = run("-c", without, *command[2:], str(data / "in.csv"), "-o", str(data / "none"), "--engine", "spark",
               "--master", server)  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "pip install 'elsewhere[spark]'" in done.stderr
    assert not (data / "none").exists()
