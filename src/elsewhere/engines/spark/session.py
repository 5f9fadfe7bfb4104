"""The Spark session of a batch, and Spark's errors in one sentence."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from pyspark.errors import PySparkException, PySparkImportError
from pyspark.sql import DataFrame, SparkSession

from elsewhere.model.errors import InputError
from elsewhere.text import one_line, quote

#: If one of these is set, the user has configured where Spark runs.
_CONFIGURED = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT")
#: Seconds to wait for a Spark Connect server. PySpark would try for ten minutes.
_ANSWER = 10.0


@contextmanager
def session_at(master: str | None, frame: DataFrame | None = None) -> Iterator[SparkSession]:
    """The session of the DataFrame, the active session, or a new one that ends with the batch."""
    running = SparkSession.getActiveSession() if frame is None else frame.sparkSession
    if running is not None:
        if master is not None:
            told = f"a Spark session is running already, so master {quote(master)} has no effect"
            raise InputError(f"{told}; leave it out", ("master",))
        yield running
        return
    if master is None and not any(name in os.environ for name in _CONFIGURED):
        master = "local[*]"
    spark = builder(master).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def builder(master: str | None) -> SparkSession.Builder:
    """The builder of a session at a master; None means wherever Spark is configured to run."""
    asked = SparkSession.builder.appName("elsewhere")
    if master is not None and master.startswith("sc://"):
        _check_server(master)
        return asked.remote(master)
    # Spark's log of a failure would contain rows. The second setting avoids many small output files.
    settings = {"log.level": "FATAL", "sql.optimizer.canChangeCachedPlanOutputPartitioning": "true"}
    settings["ui.showConsoleProgress"] = str(sys.stderr.isatty()).lower()
    if master is not None and master.startswith("local"):
        # Spark runs on this machine only, so nobody else needs to reach it, and this Python is the right one.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings |= {"ui.enabled": "false", "driver.host": "127.0.0.1", "driver.bindAddress": "127.0.0.1"}
    for name, value in settings.items():
        asked = asked.config(f"spark.{name}", value)
    return asked if master is None else asked.master(master)


def _check_server(url: str) -> None:
    """Raise if no Spark Connect server answers."""
    try:
        grpc: Any = import_module("grpc")
        client: Any = import_module("pyspark.sql.connect.client")
    except (ImportError, PySparkImportError) as error:
        told = f"Spark Connect needs more packages ({one_line(error)})"
        raise InputError(f"{told}; install them with: pip install 'elsewhere[spark]'", ("master",)) from None
    with client.DefaultChannelBuilder(url).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=_ANSWER)
        except grpc.FutureTimeoutError:
            raise InputError(f"no Spark Connect server answers at master {quote(url)}", ("master",)) from None


@contextmanager
def sentences() -> Iterator[None]:
    """Turn Spark's errors into one sentence."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, (PySparkException, *_java_errors())):
            raise
        raise InputError(f"Spark failed: {_gist(str(error))}") from None


def _java_errors() -> tuple[type[Exception], ...]:
    try:
        java: Any = import_module("py4j.protocol")
    except ImportError:  # PySpark's client for Spark Connect does not have it
        return ()
    return (java.Py4JError,)


def _gist(text: str) -> str:
    """The line with the actual error: the last cause, or the end of a traceback, if there is one."""
    if "JAVA_GATEWAY_EXITED" in text:
        return "it found no Java; install a JDK 17"
    causes = re.findall(r"^Caused by: [\w.$]+: (.+)", text, re.MULTILINE)
    lines = [line.strip(" :") for line in text.partition("JVM stacktrace")[0].splitlines() if line.strip(" :")]
    lines = [line for line in lines if not line.startswith(("SQLSTATE", "at ", "An error occurred"))]
    traceback = any(line.startswith("Traceback") for line in lines)
    found = lines[-1:] if traceback else causes[-1:] or lines[:1]
    return found[0] if found else "it does not say why"
