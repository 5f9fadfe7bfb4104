"""The engine for a cluster: Spark groups, spreads and sorts the rows, and its executors run the kernel on them.

All of it is operations on DataFrames, so that a Spark Connect session does as well.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from elsewhere.engines.arrow import Batch, pa, pc
from elsewhere.engines.columns import about_personal, bad_row, kind_of
from elsewhere.engines.kernel import FAILED_CHECK, is_plain, sanitize_batches
from elsewhere.engines.listing import check_apart
from elsewhere.engines.names import (
    MOST_NAMES,
    SUGGESTED,
    check_named,
    hidden_by_name,
    matched_in,
    not_found,
)
from elsewhere.engines.outcome import result_schema
from elsewhere.engines.plans import PERSONAL
from elsewhere.histories.columns import SAMPLE, find_columns, find_user, numeric_columns
from elsewhere.histories.delimited import guess_delimiter
from elsewhere.model.errors import InputError
from elsewhere.output.report import PRIVATE
from elsewhere.policy import Plan, Policy
from elsewhere.text import quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_FRACTION = ("float", "double", "decimal")
_NUMBER = (*_FRACTION, "string")
_LARGEST = 2**63 - 1
_Path: TypeAlias = str | os.PathLike[str]
#: Where one of these is set, Spark has been told where to run.
_CONFIGURED = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT")
# On a plain file system Spark would leave a file of checksums beside each part.
_RELEASE = {"fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem", "fs.file.impl.disable.cache": "true"}
_PRIVATE = {**_RELEASE, "fs.permissions.umask-mode": "077"}


def sanitize(
    df: DataFrame,
    policy: Policy | Plan,
    *,
    user: str | None = None,
    location: str | None = None,
    count: str | None = None,
    personal: DataFrame | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    allow_unchanged: bool = False,
) -> DataFrame:
    """The releases and private outcomes of all users of a DataFrame: a row a user, once somebody asks for it.

    Parameters
    ----------
    df
        A row a visit, or a row with a count; sorted or not.
    policy
        What is asked of every release. Its files are read now and here; no executor needs them.
    user, location, count
        What the columns are called, if not user, location and count.
    personal
        Choices of users' own: a column for the user, and columns called like keys of the policy.
    on_error
        Whether a row without a user, a location or a whole count from 0 up ends the job or is left out.
    allow_unchanged
        Whether a user gets a release whose own sensitive names cover none of the user's places.
    """
    from pyspark.sql import functions as sql

    rows = _rows(df, user=user, location=location, count=count)
    if on_error == "skip":
        rows = rows.filter(~_nonsense())
    else:
        # Not which row: what an executor says goes to its log.
        ending = sql.raise_error(sql.lit("a row has no user, no location or no whole count from 0 up"))
        rows = rows.withColumn("user", sql.when(_nonsense(), ending).otherwise(sql.col("user")))
    # A sum that no integer holds is of a user who is refused for the size anyway.
    total = sql.coalesce(sql.try_sum("count"), sql.lit(_LARGEST))
    grouped = rows.groupBy("user", "location").agg(total.alias("count"))
    if personal is not None:
        grouped = grouped.join(_choices(personal, user, dict(rows.dtypes)["user"]), "user", "left")
    plan = policy if isinstance(policy, Plan) else policy.plan()
    ordered = _spread(grouped, plan).sortWithinPartitions("user", "location")
    kernel = partial(sanitize_batches, plan, allow_unchanged=allow_unchanged)
    return ordered.mapInArrow(kernel, _result_type(rows))


def releases(results: DataFrame) -> DataFrame:
    """The releases alone: user, location, count; one row a location."""
    from pyspark.sql import functions as sql

    pairs = results.select("user", sql.explode(sql.arrays_zip("location", "count")).alias("pair"))
    return pairs.select("user", "pair.location", "pair.count")


def outcomes(results: DataFrame) -> DataFrame:
    """The private outcomes alone: a row a user, without the histogram."""
    return results.drop("location", "count")


def run(
    plan: Plan,
    source: _Path,
    output: _Path,
    *,
    report: _Path | None = None,
    master: str | None = None,
    personal: _Path | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    allow_unchanged: bool = False,
    user: str | None = None,
    location: str | None = None,
    count: str | None = None,
) -> dict[str, Any]:
    """Sanitize the users of the files at a path; the paths are Spark's, of whatever file system it knows."""
    folder = os.fspath(output).rstrip("/")
    private = f"{folder}.private" if report is None else os.fspath(report).rstrip("/")
    check_apart(Path(folder), Path(private))
    columns = {"user": user, "location": location, "count": count}
    with _sentences(), _session(master) as spark:
        for path in (folder, private):
            if _files(spark, path) is not None:
                raise InputError(f"{quote(path)} exists already; name a new folder")
        table = _table(spark, os.fspath(source))
        with about_personal():
            own = None if personal is None else _table(spark, os.fspath(personal))
        rows = _rows(table, **columns)
        if not allow_unchanged:
            check_named(plan, () if own is None else own.columns)
            _check_found(plan, rows)
        skipped = _skipped(rows, on_error)
        results = sanitize(table, plan, **columns, personal=own, on_error="skip", allow_unchanged=allow_unchanged)
        first = {"skipped_rows": skipped, "notes": column_notes(table, **columns)}
        return _write(results, folder, private, plan.policy.sensitive, first)


def _check_found(plan: Plan, rows: DataFrame) -> None:
    """Raise if a sensitive name of the policy covers no location."""
    from pyspark.sql import functions as sql

    wanted = plan.policy.sensitive
    if not wanted:
        return
    where = rows.select("location").filter(sql.isnotnull("location"))
    found = where.mapInArrow(partial(_matched, plan), "name string").distinct().collect()
    for name in wanted:
        if name not in {row["name"] for row in found}:
            raise not_found(plan, name, [row["location"] for row in where.distinct().limit(SUGGESTED).collect()])


def _matched(plan: Plan, batches: Iterable[Batch]) -> Iterator[Batch]:
    """The sensitive names that cover any of the locations."""
    for name in matched_in(plan, (pc.unique(batch.column("location")).to_pylist() for batch in batches)):
        yield pa.record_batch({"name": [name]})


def _write(
    results: DataFrame, folder: str, private: str, names: Sequence[str], known: dict[str, Any]
) -> dict[str, Any]:
    """Write the outcomes and the releases; the summary, of which something is known, is returned as well."""
    from pyspark import StorageLevel

    spark = results.sparkSession
    results = results.persist(StorageLevel.DISK_ONLY)
    try:
        outcomes(results).write.options(compression="zstd", **_PRIVATE).parquet(f"{private}/outcomes")
        summary = _summary(spark.read.parquet(f"{private}/outcomes"), names) | known
        text = spark.createDataFrame([(json.dumps(summary, ensure_ascii=False),)], "value string")
        text.coalesce(1).write.options(**_PRIVATE).text(f"{private}/summary")
        # Last, for its _SUCCESS says that all is there.
        releases(results).write.options(compression="zstd", **_RELEASE).parquet(folder)
    finally:
        results.unpersist()
    return summary


def column_notes(df: DataFrame, **columns: str | None) -> list[str]:
    """Sentences for the person about columns of numbers in a table of files that are not read."""
    if kind_of(df.inputFiles()[0]) == "parquet":
        numeric = [name for name, type_ in df.dtypes if type_ in _WHOLE or type_.startswith(_FRACTION)]
    else:
        numeric = numeric_columns(df.columns, df.limit(SAMPLE).collect())
    return find_columns(df.columns, **columns).notes(numeric)


def _rows(df: DataFrame, *, user: str | None, location: str | None, count: str | None) -> DataFrame:
    """User, location and count, which are null where they make no sense."""
    from pyspark.sql import functions as sql

    types = dict(df.dtypes)
    found = find_columns(df.columns, user=user, location=location, count=count)
    whose, where, counted = found.required_user(), found.location, found.count
    return df.select(
        _user(whose, types[whose]).alias("user"),
        _text(where).alias("location"),
        (sql.lit(1).cast("bigint") if counted is None else _whole(counted, types[counted])).alias("count"),
    )


def _nonsense() -> Column:
    from pyspark.sql import functions as sql

    return sql.isnull("user") | sql.isnull("location") | sql.isnull("count")


def _user(name: str, type_: str) -> Column:
    return _column(name) if type_ in _WHOLE else _text(name)


def _text(name: str) -> Column:
    from pyspark.sql import functions as sql

    return sql.nullif(_column(name).cast("string"), sql.lit(""))


def _whole(name: str, type_: str) -> Column:
    """The counts that are whole numbers from 0 up; of text too, however they are written."""
    from pyspark.sql import functions as sql

    if type_ not in _WHOLE and not type_.startswith(_NUMBER):
        raise InputError(f"the column {quote(name)} is of type {type_}; counts are whole numbers")
    number = _column(name).try_cast("double")
    whole = sql.coalesce(_column(name).try_cast("bigint"), number.try_cast("bigint"))
    return sql.when((whole >= 0) & (whole.cast("double") == number), whole)


def _column(name: str) -> Column:
    from pyspark.sql import functions as sql

    return sql.col("`" + name.replace("`", "``") + "`")


def _choices(personal: DataFrame, user: str | None, type_: str) -> DataFrame:
    """A row for each user with choices of their own."""
    from pyspark.sql import functions as sql

    key = find_user(personal.columns, user)
    one = sql.when(sql.count("*") > 1, sql.raise_error(sql.lit("a user has more than one row of choices")))
    own = [one.otherwise(sql.any_value(_column(name))).alias(name) for name in personal.columns if name in PERSONAL]
    if not own:
        raise InputError(f"no column with choices of users' own is called like one of {', '.join(PERSONAL)}")
    return personal.groupBy(_column(key).try_cast(type_).alias("user")).agg(*own)


def _spread(grouped: DataFrame, plan: Plan) -> DataFrame:
    """All rows of a user in one partition; few rows are gathered in few of them, unless each user takes a search."""
    if is_plain(plan.policy):
        return grouped.repartition("user")
    return grouped.repartition(int(grouped.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200), "user")


def _result_type(rows: DataFrame) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructField, StructType

    known = from_arrow_schema(result_schema([pa.field("user", pa.string())]))
    return StructType([StructField("user", rows.schema["user"].dataType), *known.fields[1:]])


def _skipped(rows: DataFrame, on_error: str) -> int:
    """How many rows make no sense; any at all is an error unless they are to be skipped."""
    from pyspark.sql import functions as sql

    nonsense = rows.filter(_nonsense())
    if on_error == "skip":
        return nonsense.count()
    grouped = nonsense.groupBy("user", "location").agg(sql.count("*").alias("rows"))
    for first in grouped.orderBy(sql.asc_nulls_first("user"), sql.asc_nulls_first("location")).limit(1).collect():
        raise bad_row(first.asDict())
    return 0


def _summary(found: DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """The totals of all outcomes, what each of the sensitive names hid, and why users got no release."""
    from pyspark.sql import functions as sql

    totals = found.agg(
        sql.count("*").alias("users"),
        sql.count_if(sql.col("status") != "none").alias("released"),
        sql.count_if(sql.col("status") == "none").alias("without_release"),
        sql.avg("quality_loss").alias("mean_quality_loss"),
        # The exact one holds all the values in one place.
        sql.percentile_approx("quality_loss", 0.5).alias("median_quality_loss"),
        sql.max("quality_loss").alias("largest_quality_loss"),
        sql.avg("privacy_distance").alias("mean_privacy_distance"),
        sql.percentile_approx("privacy_distance", 0.5).alias("median_privacy_distance"),
        sql.max("gap").alias("largest_gap"),
        sql.count_if(sql.col("reason").startswith(FAILED_CHECK)).alias("failed_checks"),
        sql.coalesce(sql.sum("merged_spellings"), sql.lit(0)).alias("merged_spellings"),
    )
    entries = found.filter(sql.col("status") != "none").select(sql.explode("hidden").alias("name", "visits"))
    by_name = entries.filter("visits > 0").groupBy("name").agg(
        sql.count("*").alias("users"), sql.sum("visits").alias("visits")
    )  # fmt: skip
    most = by_name.orderBy(sql.desc("visits"), "name").limit(MOST_NAMES + len(names)).collect()
    hidden = hidden_by_name(names, [(row["name"], row["users"], row["visits"]) for row in most])
    # Figures in a reason are the user's; the same reason with other figures is the same reason.
    why = sql.regexp_replace("reason", "[0-9][0-9.e+-]*", "#").alias("why")
    reasons = found.filter(sql.isnotnull("reason")).groupBy(why).agg(sql.count("*").alias("users"))
    common = reasons.orderBy(sql.desc("users"), "why").limit(100).collect()
    why_not = {row["why"]: row["users"] for row in common}
    return {"private": PRIVATE, **totals.collect()[0].asDict(), "hidden": hidden, "reasons": why_not}


def _table(spark: SparkSession, path: str) -> DataFrame:
    """The files at a path: a file, a folder of them, or a pattern."""
    files = _files(spark, path)
    if not files:
        raise InputError(f"there is no file at {quote(path)}")
    kinds = {kind_of(file) for file in files}
    if len(kinds) > 1:
        raise InputError(f"{quote(path)} has files of more than one kind")
    kind = kinds.pop()
    if kind == "parquet":
        return spark.read.parquet(path)
    first = spark.read.text(path).filter("trim(value) <> ''").first()
    header = "" if first is None else first["value"].removeprefix("\ufeff")
    delimiter = "\t" if kind == "tsv" else guess_delimiter(header)
    # A line that is cut short, and a file with other columns, are errors: Spark would make the best of them.
    table = spark.read.options(
        header=True, sep=delimiter, escape='"', mode="FAILFAST", columnPruning=False, enforceSchema=False
    ).csv(path)
    # Spark renames columns of one name; which of them is meant, the header itself leaves open.
    names = next(csv.reader([header], delimiter=delimiter))
    return table.toDF(*names) if len(names) == len(table.columns) else table


def _files(spark: SparkSession, path: str) -> list[str] | None:
    """The files at a path, which Spark lists as if they were to be read; None if there is nothing."""
    from pyspark.errors import AnalysisException

    try:
        return spark.read.text(path).inputFiles()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise


@contextmanager
def _session(master: str | None) -> Iterator[SparkSession]:
    """The session that is running, or a new one that ends with the batch."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        if master is not None:
            raise InputError(f"a Spark session is running already, so that there is none to start at {quote(master)}")
        yield running
        return
    if master is None and not any(name in os.environ for name in _CONFIGURED):
        master = "local[*]"
    spark = _builder(master).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def _builder(master: str | None) -> SparkSession.Builder:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("elsewhere")
    if master is not None and master.startswith("sc://"):
        return builder.remote(master)
    # The log of a failure has rows in it. Few rows that are stored in many files are of no use.
    settings = {"log.level": "FATAL", "sql.optimizer.canChangeCachedPlanOutputPartitioning": "true"}
    settings["ui.showConsoleProgress"] = str(sys.stderr.isatty()).lower()
    if master is not None and master.startswith("local"):
        # This machine is all there is: nobody else need reach it, and its Python is the right one.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings |= {"ui.enabled": "false", "driver.host": "127.0.0.1", "driver.bindAddress": "127.0.0.1"}
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    return builder if master is None else builder.master(master)


@contextmanager
def _sentences() -> Iterator[None]:
    """What Spark has to complain about, in one sentence."""
    try:
        java: Any = import_module("py4j.protocol")
        from pyspark.errors import PySparkException
    except ImportError:
        raise InputError("the engine needs PySpark; install it with: pip install 'elsewhere[spark]'") from None
    try:
        yield
    except (PySparkException, java.Py4JError) as error:
        raise InputError(f"Spark gave up: {_gist(str(error))}") from None


def _gist(text: str) -> str:
    """The line that says what is wrong: the last cause or the end of a traceback, if there are any."""
    if "JAVA_GATEWAY_EXITED" in text:
        return "it finds no Java to run on, and needs a JDK 17"
    causes = re.findall(r"^Caused by: [\w.$]+: (.+)", text, re.MULTILINE)
    lines = [line.strip(" :") for line in text.partition("JVM stacktrace")[0].splitlines() if line.strip(" :")]
    lines = [line for line in lines if not line.startswith(("SQLSTATE", "at ", "An error occurred"))]
    traceback = any(line.startswith("Traceback") for line in lines)
    found = lines[-1:] if traceback else causes[-1:] or lines[:1]
    return found[0] if found else "it does not say why"
