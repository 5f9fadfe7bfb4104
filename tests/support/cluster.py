"""A Spark cluster for tests: a master and its workers, processes of their own, some of which are killed."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PARTITIONS = 4
# Whatever ends the tests ends what they have started.
BRIEF = ("setpriv", "--pdeathsig", "KILL")
# Processes that live for seconds start sooner if Java does not try hard.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
# A cluster this small need not wait for those who are dead, and compile nothing. Those who are slow may be so.
SETTINGS = f"""
spark.driver.extraJavaOptions {JAVA}
spark.executor.extraJavaOptions {JAVA}
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.executor.memory 512m
spark.python.authenticate.socketTimeout 300s
spark.shuffle.io.maxRetries 0
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.codegen.wholeStage false
spark.sql.shuffle.partitions {PARTITIONS}
spark.ui.enabled false
spark.ui.showConsoleProgress false
"""


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
        self.url = wait_for(lambda: re.search(r"(spark://127\.0\.0\.1:\d+)\s", self._log()))[1]
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

    def connect_server(self) -> str:
        """The address of a Spark Connect server, whose executors are the cluster's."""
        command = [f"{self.settings['SPARK_HOME']}/bin/spark-submit", "--master", self.url,
                   "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
                   "--conf", "spark.connect.grpc.binding.port=0", "spark-internal"]  # fmt: skip
        self._spawn(command)
        port = wait_for(lambda: re.search(r"Spark Connect server started at: \S*:(\d+)\s", self._log()))[1]
        return f"sc://127.0.0.1:{port}"

    def stop(self) -> None:
        for process in reversed(self.processes):
            kill(process)

    def _start(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        command = [f"{self.settings['SPARK_HOME']}/bin/spark-class", f"org.apache.spark.deploy.{name}"]
        return self._spawn([*command, "--host", "127.0.0.1", "--webui-port", "0", *options])

    def _spawn(self, command: list[str]) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [*BRIEF, *command], env={**os.environ, **self.settings}, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)
        return process

    def _log(self) -> str:
        return (self.folder / "log").read_text("utf-8", errors="replace")


def wait_for(condition: Callable[[], Any], seconds: float = 600.0) -> Any:
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


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that nobody else can have, and at which nobody answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])
