"""How Spark understands an input: what it takes as it is, and what it refuses."""

from __future__ import annotations

import csv
import io
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from elsewhere.engines.spark import run, sanitize
from elsewhere.engines.spark.delimited import PROBLEM
from elsewhere.engines.spark.files import Table, file_table, frame_table
from elsewhere.engines.spark.frames import checked_results
from elsewhere.engines.spark.rows import find_roles, rows_of
from elsewhere.engines.spark.session import builder
from elsewhere.model.errors import TooFewReleased, Unchanged
from tests.support.batches import BAD, expected, people, rows, write
from tests.support.java import java_version

pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")
HIDE = ew.Policy("hide", sensitive=("clinic",))
COLUMNS: dict[str, Any] = {"user": None, "location": None, "count": None, "rows_are_visits": False}

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(java_version() < 17, reason="no JDK 17 is found"),
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    settings = {
        "sql.shuffle.partitions": "2",
        "sql.codegen.wholeStage": "false",
        "sql.files.maxPartitionBytes": "64k",
        "sql.files.openCostInBytes": "1k",
    }
    asked = builder("local[2]").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    for name, value in settings.items():
        asked = asked.config(f"spark.{name}", value)
    session = asked.getOrCreate()
    yield session
    session.stop()


def rows_in(spark: Any, path: Path, wanted: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
    """All rows of the files at a path; what is wrong with one of them is raised."""
    table = file_table(spark, str(path))
    found = table.read(wanted or table.columns).collect()
    if problems := [row[PROBLEM] for row in found if row[PROBLEM] is not None]:
        raise ew.InputError(min(problems))
    return [tuple(row)[:-1] for row in found]


def released(folder: Path) -> dict[str, Any]:
    """The releases by user, whatever the users' column is called."""
    found: dict[str, Any] = {}
    for row in pq.read_table(folder, partitioning=None).to_pylist():
        *_, location, count = row.values()
        found.setdefault(next(iter(row.values())), {})[location] = count
    return found


PIECES = ["", " ", "\n", "\r\n", "\r", "\t", "\ufeff", "\u2028", "\x0b", "  x  ", '"', '""', '\\"']
PIECES += [
    "a",
    "é",
    "日本",
    "'",
    "'17'",
    "#",
    "#1",
    "\\",
    ",",
    ";",
    "-",
    "007",
    "1e5",
    "0x1F",
    "1_000",
    "NULL",
    "nan",
    "true",
]


def written(dice: random.Random, header: list[str]) -> tuple[bytes, list[list[str]]]:
    """A file in one of the ways that programs write CSV, and its rows as Python's csv module reads them."""
    rows = [["".join(dice.choices(PIECES, k=dice.randint(0, 3))) for _ in header] for _ in range(dice.randint(0, 8))]
    text, end = io.StringIO(newline=""), dice.choice(["\n", "\r\n", "\r"])
    writer = csv.writer(text, quoting=dice.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), lineterminator=end)
    writer.writerow(header)
    for row in rows:
        writer.writerow(row)
        if dice.random() < 0.1:
            text.write(end)
    content = text.getvalue()
    if dice.random() < 0.2:
        content = content.removesuffix(end)
    found = [row for row in csv.reader(io.StringIO(content, newline=""), strict=True) if row][1:]
    if any(len(row) != len(header) for row in found):  # Python writes some line breaks without quotes
        return written(dice, header)
    bom = "\ufeff" if dice.random() < 0.3 else ""
    return f"{bom}{content}".encode(), found


def test_csv_is_read_as_python_reads_it(spark: Any, tmp_path: Path) -> None:
    dice, header, wanted = random.Random(4), ["user", "location", "count", "more"], Counter[tuple[str, ...]]()
    for at in range(400):
        content, rows = written(dice, header)
        (tmp_path / f"{at}.csv").write_bytes(content)
        wanted.update(map(tuple, rows))
    assert Counter(rows_in(spark, tmp_path)) == wanted
    assert sum(wanted.values()) > 1000


def test_large_files_are_split(spark: Any, tmp_path: Path) -> None:
    """Rows are whole wherever Spark cuts a file; a cut inside a value cannot be told from a broken file."""
    rows = [(f"user {at}", "a,b" if at % 3 else 'quo"ted', str(at)) for at in range(20_000)]
    with (tmp_path / "large.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("user", "location", "count"), *rows])
    table = file_table(spark, str(tmp_path / "large.csv")).read(["user", "location", "count"])
    assert table.rdd.getNumPartitions() > 4
    assert Counter(tuple(row)[:-1] for row in table.collect()) == Counter(rows)
    broken = tmp_path / "broken.csv"
    broken.write_text("user,location\n" + 'ann,"' + "long\n" * 30_000 + '"\n')
    with pytest.raises(ew.InputError, match=r"set spark.sql.files.maxPartitionBytes to more than the size"):
        rows_in(spark, broken)


BROKEN: list[tuple[bytes, str]] = [
    (b"user,location\nann\n", r"a.csv' has a row of 1 value, but the table has 2 columns: \['ann'\]"),
    (b"user,location\nann,b,c\n", r"has a row of 3 values, but the table has 2 columns: \['ann', 'b', 'c'\]"),
    (b"user,location\nann,b\n  \n", "has a row of 1 value"),
    (b'user,location\nann,"b"c\n', r"a.csv', line 2, cannot be read \(',' expected after '\"'\)"),
    (b'user,location\nann,"b\n', r"a.csv', line 2, cannot be read \(unexpected end of data\)"),
    (b"user,location\nann,b\nbob,caf\xe9\n", "a.csv' is not UTF-8; save it as UTF-8"),
    ("user,location\nann,b\n".encode("utf-16"), "a.csv' is not UTF-8"),
    (b"\n\n", "a.csv' has no header line"),
]


def test_broken_text_is_refused(spark: Any, tmp_path: Path) -> None:
    for at, (content, named) in enumerate(BROKEN):
        path = tmp_path / str(at) / "a.csv"
        path.parent.mkdir()
        path.write_bytes(content)
        with pytest.raises(ew.InputError, match=named):
            rows_in(spark, path)
    (tmp_path / "0" / "b.csv").write_text("user,place\nann,b\n")
    (tmp_path / "0" / "a.csv").write_text("user,location\nann,b\n")
    with pytest.raises(ew.InputError, match=r"two files have different columns: '.*a.csv' has .*'location', '.*b.csv'"):
        rows_in(spark, tmp_path / "0")


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
def test_delimiters(spark: Any, tmp_path: Path, delimiter: str) -> None:
    header, row = delimiter.join(["user", "location", "count"]), delimiter.join(["#1", " a.b ", "007"])
    (tmp_path / "a.csv").write_text(f"\ufeff{header}\n\n{row}\n", encoding="utf-8")
    assert rows_in(spark, tmp_path / "a.csv") == [("#1", " a.b ", "007")]


def tree(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("location\ngym\n")


def test_folders(spark: Any, tmp_path: Path) -> None:
    """Any depth, names that look like patterns, values of folders as they are written, no bookkeeping."""
    strange = ["user=007/a[1].csv", "user=1e5/{a,b}*?.csv", "user=a b+c%2Fd/x/y/z.csv", "_x/user=1/a.csv",
               ".x/user=2/a.csv", "user=3/_a.csv", "user=__HIVE_DEFAULT_PARTITION__/a.csv"]  # fmt: skip
    tree(tmp_path / "in[1]", strange)
    tree(tmp_path / "in1", ["user=no/a.csv"])
    found = [("gym", "007"), ("gym", "1e5"), ("gym", "a b+c/d"), ("gym", None)]
    assert sorted(rows_in(spark, tmp_path / "in[1]"), key=str) == sorted(found, key=str)
    assert rows_in(spark, tmp_path / "in[0-9]" / "user=n*") == [("gym", "no")]
    table = pa.table({"location": ["gym"]})
    for name in ("user=007", "user=a b+c%2Fd"):
        (tmp_path / "parquet" / "_t=1" / name).mkdir(parents=True)
        pq.write_table(table, tmp_path / "parquet" / "_t=1" / name / "x{1}.parquet")
    assert sorted(rows_in(spark, tmp_path / "parquet")) == [("gym", "1", "007"), ("gym", "1", "a b+c/d")]
    tree(tmp_path / "mixed", ["user=1/a.csv", "b.csv"])
    tree(tmp_path / "kinds", ["a.csv", "b.tsv"])
    refused = {
        "mixed": "two files have different columns: '.*' has .*, '.*a.csv' has 'user'",
        "kinds": "more than one kind: '.*a.csv' and '.*b.tsv'",
        "nothing": "there is no file at",
        "nothing*": "there is no file at",
    }
    for name, named in refused.items():
        with pytest.raises(ew.InputError, match=named):
            file_table(spark, str(tmp_path / name))


def test_tables_that_are_not_just_files(spark: Any, tmp_path: Path) -> None:
    """Lake tables, and what earlier batches wrote."""
    tree(tmp_path / "delta", ["x/a.csv", "x/_delta_log/0.json"])
    tree(tmp_path / "iceberg", ["data/a.csv", "metadata/v1.metadata.json"])
    tree(tmp_path / "out", ["part-0.csv"])
    tree(tmp_path / "out.private", ["outcomes/part-0.csv"])
    tree(tmp_path / "local", ["a.csv"])
    tree(tmp_path / "local.private", ["journal.json"])
    refused = {"delta": "delta/x' is a Delta table", "iceberg": "is an Iceberg table", "out": "releases of an earlier",
               "local": "releases of an earlier", ".": "holds the private report of an earlier"}  # fmt: skip
    for name, named in refused.items():
        if name == ".":
            for lake in ("delta", "iceberg"):
                (tmp_path / lake).rename(tmp_path.parent / f"{tmp_path.name}-{lake}")
        with pytest.raises(ew.InputError, match=named):
            file_table(spark, str(tmp_path / name))


def test_parquet_files_of_one_table(spark: Any, tmp_path: Path) -> None:
    tables = {
        "a": {"user": ["ann"], "location": ["gym"], "count": [1]},
        "columns": {"user": ["ann"], "location": ["gym"]},
        "types": {"user": ["ann"], "location": ["gym"], "count": ["1"]},
    }
    for name in ("columns", "types"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table(tables["a"]), tmp_path / name / "a.parquet")
        pq.write_table(pa.table(tables[name]), tmp_path / name / "b.parquet")
        differ = f"two files have different columns: '.*{name}/a.parquet' has .*, '.*{name}/b.parquet' has"
        with pytest.raises(ew.InputError, match=differ):
            file_table(spark, str(tmp_path / name))


def table_of(spark: Any, query: str) -> Table:
    return frame_table(spark.sql(query))


def test_columns_are_what_they_seem(spark: Any) -> None:
    when = "'2020-01-01 00:00:00'"
    odd = {"array('a')": "array<string>", "map('a', 1)": "map<string,int>", "named_struct('a', 1)": "struct<a:int>",
           "INTERVAL 1 DAY": "interval day", "parse_json('1')": "variant", f"TIMESTAMP{when}": "timestamp",
           f"TIMESTAMP_NTZ{when}": "timestamp_ntz", "NULL": "void"}  # fmt: skip
    for value, type_ in odd.items():
        for role in ("user", "location", "count", "month"):
            others = [f"'x' AS {name}" for name in ("user", "location", "count", "month") if name != role]
            table = table_of(spark, f"SELECT {value} AS {role}, {', '.join(others)}")
            with pytest.raises(ew.InputError) as error:
                find_roles(table, **COLUMNS, keys=["month"])
            told = f"the column '{role}' is of type {type_}; give text, a number, a date or a boolean"
            assert str(error.value) == told
    values = {"'a'": "a", "CAST('a' AS BINARY)": "a", "X'FF'": None, "CAST(X'FF' AS STRING)": None, "1.50": "1.50",
              "7": "7", "DATE'2020-01-02'": "2020-01-02", "true": "true", "''": None, "' '": " "}  # fmt: skip
    texts = ["3", " 3 ", "3.0", "1e2", "9223372036854775807", "3d", "0x1p3", "1_000", "nan", "-1", "", "2.5", "x"]
    for value, text in values.items():
        table = table_of(spark, f"SELECT {value} AS location, 'ann' AS user")
        assert rows_of(table, find_roles(table, **COLUMNS)).collect()[0]["location"] == text, value
    column = ", ".join(f"('{text}')" for text in texts)
    table = table_of(spark, f"SELECT 'ann' AS user, 'gym' AS location, count FROM VALUES {column} AS t(count)")
    counts = [row["count"] for row in rows_of(table, find_roles(table, **COLUMNS)).collect()]
    assert counts == [3, 3, 3, 100, 2**63 - 1, *[None] * 8]
    wrong: dict[str, dict[str, Any]] = {
        "the key 'location'": {"keys": ["location"]},
        "the key 'status' has the name of another output column": {"keys": ["status"]},
        "exclude each other": {"rows_are_visits": True, "count": "n"},
        "'n' is of type boolean; counts are whole numbers": {},
    }
    for named, asked in wrong.items():
        with pytest.raises(ew.InputError, match=named):
            find_roles(
                table_of(spark, "SELECT 'a' AS user, 'b' AS location, true AS n, 2 AS status"), **{**COLUMNS, **asked}
            )


def test_users_who_differ_in_case_stay_apart(spark: Any) -> None:
    collated = spark.sql(
        "SELECT u COLLATE UTF8_LCASE AS user, l AS location FROM VALUES ('Ann', 'gym'), ('ann', 'bar') AS t(u, l)"
    )
    found = {row["user"]: row["location"] for row in sanitize(collated, HIDE).collect()}
    assert found == {"Ann": ["gym"], "ann": ["bar"]}


def test_bad_rows(spark: Any, tmp_path: Path) -> None:
    """They end a batch before anything is written, or are counted."""
    hide: dict[str, Any] = {"plan": ew.Policy("hide", sensitive=("gym",)).plan(), "allow_unchanged": True}
    (tmp_path / "all").mkdir()
    for at, (text, named) in enumerate(BAD):
        (tmp_path / "all" / f"{at}.csv").write_text(text, encoding="utf-8")
        with pytest.raises(ew.InputError, match=named):
            run(source=tmp_path / "all" / f"{at}.csv", output=tmp_path / "out", **hide)
        assert not list(tmp_path.glob("out*"))
    summary = run(source=tmp_path / "all", output=tmp_path / "out", on_error="skip", **hide)
    assert released(tmp_path / "out") == {"ann": {"café": len(BAD)}}
    assert summary["skipped_rows"] == len(BAD)
    assert [file["bytes"] for file in summary["lineage"]["input"]] == [len(text.encode()) for text, _ in BAD]
    (tmp_path / "all" / "x.csv").write_text("user,location,count\nann,gym\n")
    with pytest.raises(ew.InputError, match=r"x.csv' has a row of 2 values"):
        run(source=tmp_path / "all", output=tmp_path / "other", on_error="skip", **hide)
    with pytest.raises(ew.InputError, match="inside the input"):
        run(source=tmp_path / "all", output=tmp_path / "all" / "out", **hide)
    frame = spark.createDataFrame([("ann", None), ("ann", "gym")], "user string, location string")
    assert sanitize(frame, HIDE, on_error="skip").count() == 1
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match="a row has no user"):
        sanitize(frame, HIDE).collect()


def test_missing_names(spark: Any, tmp_path: Path) -> None:
    """They end a batch before there is a folder."""
    write(tmp_path / "in.parquet", people(30))
    for name, named in (("clinik", "called 'clinik'; did you mean 'clinic'?"), ("*spa*", "covers no place")):
        with pytest.raises(Unchanged) as error:
            run(ew.Policy("hide", sensitive=("gym", name)).plan(), tmp_path / "in.parquet", tmp_path / "missing")
        assert named in str(error.value)
        assert not list(tmp_path.glob("missing*"))
    with pytest.raises(ew.InputError, match="hides nothing"):
        sanitize(spark.read.parquet(str(tmp_path / "in.parquet")), ew.Policy("hide"))


def test_users_own_choices(spark: Any, tmp_path: Path) -> None:
    """Empty cells are the policy's choice, texts are lists and numbers, and what is not understood is refused."""
    (tmp_path / "in.csv").write_text(
        "uid,place,n\n1,gym,2\n1,clinic,1\n1,bar,3\n2,gym,2\n2,clinic,1\n3,gym,2\n3,clinic,1\n", encoding="utf-8"
    )
    (tmp_path / "own.csv").write_text(
        'uid,sensitive,redistribute\n1,"gym; clinic",1\n2,,\n3,casino,\n', encoding="utf-8"
    )
    ask: dict[str, Any] = {"plan": HIDE.plan(), "source": tmp_path / "in.csv", "output": tmp_path / "out"}
    summary = run(**ask, personal=tmp_path / "own.csv")
    assert released(tmp_path / "out") == {"1": {"bar": 4}, "2": {"gym": 3}}
    assert summary["reasons"] == {"the user's own choice 'casino' covers none of the user's places": 1}
    (schema,) = {tuple(pq.read_schema(part).names) for part in (tmp_path / "out").glob("*.parquet")}
    assert schema == ("uid", "location", "count")
    table = file_table(spark, str(tmp_path / "in.csv"))
    roles = find_roles(table, **COLUMNS)
    wrong = {
        "uid,Sensitive\n1,gym\n": "the column 'Sensitive' is not a personal choice; did you mean 'sensitive'",
        "uid,sensitve\n1,gym\n": "the column 'sensitve' is not a personal choice",
        "uid\n1\n": "no column has personal choices",
        "uid,sensitive\n1,gym\n1,bar\n": "the user '1' has more than one row of personal choices",
        "uid,sensitive\n,gym\n": "a row has no 'uid'",
        "uid,sensitive\n1,gym,bar\n": "'.*own.csv' has a row of 3 values",
    }
    for text, named in wrong.items():
        (tmp_path / "own.csv").write_text(text, encoding="utf-8")
        own = file_table(spark, str(tmp_path / "own.csv"))
        with pytest.raises(ew.InputError, match=f"^personal: {named}"):
            checked_results(table, roles, HIDE, personal=own)
    with pytest.raises(ew.InputError, match="is of type map<string,int>; give text or numbers"):
        checked_results(table, roles, HIDE, personal=table_of(spark, "SELECT '1' AS uid, map('a', 1) AS sensitive"))


def test_choices_of_users_who_are_numbers(spark: Any) -> None:
    visits = spark.createDataFrame([(1, "gym"), (1, "bar"), (2, "gym")], "user int, location string")
    own = spark.createDataFrame([("1", ["bar"])], "user string, sensitive array<string>")
    found = {row["user"]: row["location"] for row in sanitize(visits, HIDE, personal=own).collect()}
    assert found == {1: ["gym"], 2: ["gym"]}
    with pytest.raises(ew.InputError, match="personal: a row has no 'user', or one of another type"):
        sanitize(visits, HIDE, personal=spark.createDataFrame([("ann", "bar")], "user string, sensitive string"))


def test_further_keys(spark: Any, tmp_path: Path) -> None:
    """A release for each user and month, rows that are visits, and a folder for each month; twice, as files and not."""
    histograms = people(40)
    rows = [(f"{at % 3 + 1:02d}", user, name, 9) for at, (user, counts) in enumerate(histograms.items())
            for name, n in counts.items() for _ in range(n)]  # fmt: skip
    rows += [("12", user, name, n) for _, user, name, n in rows]
    frame = spark.createDataFrame(rows, "month string, uid string, place string, count int").repartition(3)
    ask: dict[str, Any] = {"keys": ["month"], "rows_are_visits": True, "partition_by": ["month"]}
    summary = run(HIDE.plan(), frame, tmp_path / "out", **ask)
    wanted = expected(HIDE, histograms)
    assert (summary["users"], summary["released"]) == (80, 2 * len(wanted))
    found = [released(tmp_path / "out" / f"month={month}") for month in ("01", "02", "03", "12")]
    assert found[3] == wanted == found[0] | found[1] | found[2]
    for part in (tmp_path / "out").rglob("*.parquet"):
        users = [(row["uid"], row["location"]) for row in pq.read_table(part, partitioning=None).to_pylist()]
        assert users == sorted(users)
    with pytest.raises(TooFewReleased, match="min_released is 1"):
        ew.batch(HIDE, frame, tmp_path / "few", min_released=1.0, **ask)
    assert not (tmp_path / "few").exists()
    for wrong in ("uid", "week"):
        with pytest.raises(ew.InputError, match=f"partition_by is '{wrong}'"):
            run(HIDE.plan(), frame, tmp_path / "other", **{**ask, "partition_by": [wrong]})
    with pytest.raises(ew.InputError, match="without a month"):
        run(HIDE.plan(), spark.sql("SELECT 'a' AS user, 'clinic' AS location, CAST(NULL AS INT) AS month"),
            tmp_path / "other", keys=["month"])  # fmt: skip


def executed(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_one_scan_and_one_shuffle(spark: Any, tmp_path: Path) -> None:
    """The plan says so, and so do Spark's own counts of the rows that it read and moved."""
    visits = [(user, name, 1) for user, counts in people(100).items() for name, n in counts.items() for _ in range(n)]
    frame = pa.table(dict(zip(("user", "location", "count"), zip(*visits, strict=True), strict=True)))
    pq.write_table(frame, tmp_path / "in.parquet")
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("user", "location", "count"), *visits])
    (tmp_path / "target.csv").write_text("location,count\npark,3\nmuseum,2\n")
    near = ew.Policy("resemble", target=str(tmp_path / "target.csv"), max_quality_loss=0.1)
    for policy, name in ((HIDE, "in.parquet"), (HIDE, "in.csv"), (near, "in.parquet")):
        table = file_table(spark, str(tmp_path / name))
        plan = executed(checked_results(table, find_roles(table, **COLUMNS), policy))
        assert (plan.count("Exchange"), plan.count("FileScan")) == (1, 1), plan
        assert plan.count("Sort [") == 1, plan
    before = totals(spark)
    run(HIDE.plan(), tmp_path / "in.parquet", tmp_path / "out")
    read, moved = (after - earlier for after, earlier in zip(totals(spark), before, strict=True))
    # Beside the rows: the list of files, the outcomes of users for the summary, a few rows of totals.
    assert len(visits) <= read < 1.5 * len(visits)
    assert len(visits) <= moved < 1.5 * len(visits)


def test_users_stay_together(spark: Any) -> None:
    """Also if Spark is told to move rows by all the columns that they are grouped by."""
    frame = spark.createDataFrame(rows(people(30)), "user string, location string, count bigint")
    settings = {"spark.sql.requireAllClusterKeysForDistribution": "true", "spark.sql.adaptive.enabled": "false"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        assert sanitize(frame, HIDE).count() == 30
    finally:
        for name in settings:
            spark.conf.unset(name)


def totals(spark: Any) -> tuple[int, int]:
    """The rows that Spark read from files and wrote into shuffles so far."""
    store = spark.sparkContext._jsc.sc().statusStore()
    none = spark.sparkContext._gateway.new_array(spark._jvm.double, 0)
    nothing = spark._jvm.java.util.ArrayList()
    stages = spark._jvm.scala.jdk.javaapi.CollectionConverters.asJava(
        store.stageList(nothing, False, False, none, nothing)
    )
    return sum(stage.inputRecords() for stage in stages), sum(stage.shuffleWriteRecords() for stage in stages)


def test_streams(spark: Any, tmp_path: Path) -> None:
    """A stream is refused; its table is sanitized as it grows, as the docs say."""
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "1.parquet", people(10))
    stream = spark.readStream.schema("user string, location string, count bigint").parquet(str(tmp_path / "in"))
    with pytest.raises(ew.InputError, match=r"the DataFrame is a stream.*foreachBatch"):
        sanitize(stream, HIDE)

    def add(rows: Any, number: int) -> None:
        rows.write.mode("append").parquet(str(tmp_path / "all"))
        users = rows.select("user").distinct()
        mine = rows.sparkSession.read.parquet(str(tmp_path / "all")).join(users, "user", "left_semi")
        run(HIDE.plan(), mine, tmp_path / f"batch-{number}", allow_unchanged=True)

    for number, (at, some) in enumerate((("1", people(10)), ("2", people(20)))):
        write(tmp_path / "in" / f"{at}.parquet", some)
        asked = stream.writeStream.foreachBatch(add).option("checkpointLocation", str(tmp_path / "checkpoint"))
        asked.trigger(availableNow=True).start().awaitTermination()
        both = {
            user: {name: n * (2 if number and user in people(10) else 1) for name, n in c.items()}
            for user, c in some.items()
        }
        assert released(tmp_path / f"batch-{number}") == expected(HIDE, both)


def test_function_of_sql(spark: Any) -> None:
    from elsewhere.engines.spark import register

    histograms = people(50)
    rows = [(user, name, n) for user, counts in histograms.items() for name, n in counts.items()]
    spark.createDataFrame(rows, "uid string, place string, n bigint").createOrReplaceTempView("visits")
    register(spark, HIDE)
    found = spark.sql(
        "SELECT uid, sanitize(map_from_arrays(collect_list(place), collect_list(n))) AS release "
        "FROM visits GROUP BY uid"
    ).collect()
    assert {row["uid"]: row["release"] for row in found if row["release"] is not None} == expected(HIDE, histograms)
    assert len(found) == 50
    odd = "SELECT sanitize(NULL), sanitize(map('clinic', 1L)), sanitize(map()), sanitize(map('gym', 0L))"
    assert tuple(spark.sql(odd).first()) == (None, None, None, None)
    with pytest.raises(Exception, match="a count that is missing or negative"):
        spark.sql("SELECT sanitize(map('secret place', -1L))").collect()
    with pytest.raises(ew.InputError, match="hides nothing"):
        register(spark, ew.Policy("hide"))


def test_the_page_about_spark(tmp_path: Path) -> None:
    """Its examples run, one after the other, and so does the notebook for Databricks; the other recipes need more."""
    page = (Path(__file__).parents[2] / "docs" / "spark.md").read_text("utf-8")
    before, recipes = page.split("## Recipes")
    notebook = recipes.partition("### Databricks")[2].partition("### dbt")[0]
    blocks = re.findall(r"^```py\n(.*?)^```$", before + notebook, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 6
    start = "from elsewhere.engines.spark.session import builder; builder('local[2]').getOrCreate()\n"
    done = subprocess.run(
        [sys.executable, "-c", start + "".join(blocks)], cwd=tmp_path, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "2 of 2 users have a release" in done.stdout
    assert "|ann|{gym -> 3}|" in done.stdout
    wanted = {"ann": {"gym": 3}, "bob": {"bar": 5}}
    for folder in ("releases", "from_a_frame", "lake/releases", "releases_0", "spark-warehouse/releases"):
        assert released(tmp_path / folder) == wanted, folder
