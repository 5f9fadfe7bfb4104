"""The same batch on a real cluster: a master and two workers, processes of their own, some of which are killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from elsewhere.model.errors import Unchanged
from tests.support.batches import BAD, expected, people, released, rows, write
from tests.support.java import java_version

pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")
ROOT = Path(__file__).parents[2]
PARTITIONS = 4
# Whatever ends the tests ends what they have started.
BRIEF = ("setpriv", "--pdeathsig", "KILL")
# Processes that live for seconds start sooner if Java does not try hard.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
# A cluster this small need not wait for those who are dead, and compile nothing.
SETTINGS = f"""
spark.driver.extraJavaOptions {JAVA}
spark.executor.extraJavaOptions {JAVA}
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.executor.memory 512m
spark.shuffle.io.maxRetries 0
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.codegen.wholeStage false
spark.sql.shuffle.partitions {PARTITIONS}
spark.ui.enabled false
spark.ui.showConsoleProgress false
"""


pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes to kill in /proc"),
    pytest.mark.skipif(java_version() < 17 and os.environ.get("CI") != "true", reason="no JDK 17 is found"),
]


class Cluster:
    """A standalone master and its workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        home = Path(str(import_module("pyspark").__file__)).parent
        (folder / "conf").mkdir()
        (folder / "conf" / "spark-defaults.conf").write_text(SETTINGS, encoding="utf-8")
        self.settings = {
            "SPARK_HOME": str(home),
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_DAEMON_JAVA_OPTS": JAVA,
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        self.master = self._start("master.Master", "--port", "0")
        self.url = wait_for(lambda: re.search(r"spark://127\.0\.0\.1:\d+", self._log()))[0]
        self.workers: list[subprocess.Popen[bytes]] = []

    def have_workers(self, number: int = 2) -> None:
        """Start what is missing, and wait until the master knows of it."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        known = self._log().count("Registering worker")
        missing = number - len(self.workers)
        for _ in range(missing):
            work = str(self.folder / "work")
            options = ("--cores", "1", "--memory", "1g", "--work-dir", work, self.url)
            self.workers.append(self._start("worker.Worker", *options))
        wait_for(lambda: self._log().count("Registering worker") >= known + missing)

    def drive(self, script: str, *arguments: Any) -> subprocess.Popen[bytes]:
        """A driver in a process of its own."""
        command = [sys.executable, "-c", script, *map(str, arguments)]
        process = subprocess.Popen([*BRIEF, *command], env={**os.environ, **self.settings}, start_new_session=True)
        self.processes.append(process)
        return process

    def stop(self) -> None:
        for process in reversed(self.processes):
            kill(process)

    def _start(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        command = [f"{self.settings['SPARK_HOME']}/bin/spark-class", f"org.apache.spark.deploy.{name}"]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [*BRIEF, *command, "--host", "127.0.0.1", "--webui-port", "0", *options],
                env={**os.environ, **self.settings}, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def _log(self) -> str:
        return (self.folder / "log").read_text("utf-8", errors="replace")


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


def wait_for(condition: Callable[[], Any], seconds: float = 180.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "this takes too long"
        time.sleep(0.05)
    return found


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it has started, at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def executors(worker: subprocess.Popen[bytes]) -> list[int]:
    """The processes in which a worker runs tasks."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            parent = (process / "stat").read_text("utf-8").rpartition(")")[2].split()[1]
            if int(parent) == worker.pid and b"ExecutorBackend" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


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

    hide = ew.Policy("hide", sensitive=("clinic", "preset:gambling"))
    asked: list[tuple[Any, dict[str, Any]]] = [
        (hide, {}), (data / "policy.toml", {"personal": data / "own.parquet"})
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
            found.setdefault(row["user"], {})[row["location"]] = row["count"]
        twice = {str(at): dict.fromkeys(counts, 2) for at, counts in enumerate(people(20).values())}
        assert {str(user): counts for user, counts in found.items()} == expected(hide, twice)
        check_bad_input(data)
        check_missing_names(data)
    finally:
        session.stop()


def check_missing_names(folder: Path) -> None:
    """They end a batch before there is a folder."""
    for name, named in (("clinik", "called 'clinik'; did you mean 'clinic'?"), ("*spa*", "covers no place")):
        policy = ew.Policy("hide", sensitive=("gym", name))
        with pytest.raises(Unchanged) as error:
            ew.batch(policy, folder / "in.parquet", folder / "missing", engine="spark")
        assert named in str(error.value)
        assert not list(folder.glob("missing*"))


def check_bad_input(folder: Path) -> None:
    hide: dict[str, Any] = {"policy": ew.Policy("hide", sensitive=("gym",)), "engine": "spark", "allow_unchanged": True}
    (folder / "all").mkdir()
    for at, (text, named) in enumerate(BAD):
        (folder / "all" / f"{at}.csv").write_text(text, encoding="utf-8")
        with pytest.raises(ew.InputError, match=named):
            ew.batch(input=folder / "all" / f"{at}.csv", output=folder / f"bad{at}", **hide)
        assert not (folder / f"bad{at}").exists()
    summary = ew.batch(input=folder / "all", output=folder / "good", on_error="skip", **hide)
    assert released(folder / "good") == {"ann": {"café": len(BAD)}}
    assert summary["skipped_rows"] == len(BAD)
    (folder / "short.csv").write_text('user,location,count\nann,"a\nb",3\n', encoding="utf-8")
    for name, error in (("short.csv", "gave up: .*[Mm]alformed"), ("nowhere.csv", "there is no file")):
        with pytest.raises(ew.InputError, match=error) as caught:
            ew.batch(input=folder / name, output=folder / "none", **hide)
        assert "\n" not in str(caught.value)


# What runs on the executors leaves a mark and takes its time: the kernel first, then the writing of another batch.
_SLOW = """
import sys, time, uuid
from pathlib import Path
import elsewhere as ew
from elsewhere.engines import spark
from pyspark.sql import SparkSession

folder, master = Path(sys.argv[1]), sys.argv[2]
sanitize_batches, releases = spark.sanitize_batches, spark.releases

def mark(name):
    (folder / name / str(uuid.uuid4())).touch()
    time.sleep(1.0)

def slow_kernel(plan, batches, **options):
    mark("sanitizing")
    yield from sanitize_batches(plan, batches, **options)

def slow_rows(batches):
    mark("writing")
    yield from batches

session = SparkSession.builder.master(master).config("spark.log.level", "OFF").getOrCreate()
spark.sanitize_batches = slow_kernel
ew.batch(folder / "policy.toml", folder / "in.parquet", folder / "out", engine="spark")
(folder / "done").touch()
spark.sanitize_batches = sanitize_batches
spark.releases = lambda results: releases(results).mapInArrow(slow_rows, releases(results).schema)
ew.batch(folder / "policy.toml", folder / "in.parquet", folder / "other", engine="spark")
"""


def test_processes_are_killed(cluster: Cluster, data: Path) -> None:
    """An executor and a worker while users are sanitized, and the driver while releases are written."""
    cluster.have_workers()
    (data / "sanitizing").mkdir()
    (data / "writing").mkdir()
    driver = cluster.drive(_SLOW, data, cluster.url)
    first, second = cluster.workers
    wait_for(lambda: executors(first) and executors(second) and marks(data / "sanitizing"))
    os.kill(executors(first)[0], signal.SIGKILL)
    before = marks(data / "sanitizing")
    wait_for(lambda: marks(data / "sanitizing") > before)
    kill(second)
    assert not (data / "out" / "_SUCCESS").exists()
    wait_for(lambda: (data / "done").exists() or driver.poll() is not None)
    assert marks(data / "sanitizing") > PARTITIONS  # something had to be done again
    assert in_order(data / "out") == expected(ew.Policy.load(data / "policy.toml"), people(300))
    assert (data / "out" / "_SUCCESS").exists()

    wait_for(lambda: marks(data / "writing") > 2)
    kill(driver)
    time.sleep(2.0)  # for those who would go on without it
    assert [path.name for path in (data / "other").iterdir()] == ["_temporary"]
    written = list((data / "other").rglob("*.parquet"))
    assert written
    assert not any(b"clinic" in path.read_bytes() for path in written)


_CONNECT = """
import json, sys
from pyspark.sql import SparkSession
import elsewhere as ew
from elsewhere.engines import spark

session = SparkSession.builder.remote("local[1]").getOrCreate()
assert not hasattr(session, "_jvm") or "connect" in type(session).__module__
frame = session.createDataFrame(json.loads(sys.argv[1]), "user string, location string, count bigint")
results = spark.sanitize(frame, ew.Policy("hide", sensitive=("clinic",)))
found = [list(row) for row in spark.releases(results).collect()]
assert spark.outcomes(results).count() == 20
session.stop()
print(json.dumps(found))
"""


def test_spark_connect(cluster: Cluster) -> None:
    asked = json.dumps(rows(people(20), shuffled=True))
    env = {**os.environ, **cluster.settings, "SPARK_LOCAL_HOSTNAME": "127.0.0.1"}
    command = [sys.executable, "-c", _CONNECT, asked]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, dict[str, int]] = {}
    for user, location, count in json.loads(done.stdout.splitlines()[-1]):
        found.setdefault(user, {})[location] = count
    assert found == expected(ew.Policy("hide", sensitive=("clinic",)), people(20))
