"""How the local engine understands its input: no guess changes a value, and what is unclear is refused."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import random
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from elsewhere.engines.local import table_files
from elsewhere.engines.local.sources import open_source
from tests.support.batches import expected, people, released, rows, write

pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")
pa_ds: Any = import_module("pyarrow.dataset")
HIDE = ew.Policy("hide", sensitive=("clinic",))


def parquet(path: Path, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def refused(folder: Path, given: Any, **options: Any) -> str:
    """The sentence that refuses an input; nothing is left behind."""
    before = sorted(folder.rglob("*"))
    with pytest.raises(ew.InputError) as error:
        ew.batch(HIDE, given, folder / "never", **options)
    assert sorted(folder.rglob("*")) == before
    assert "\n" not in str(error.value)
    return str(error.value)


ANN = {"user": ["ann", "ann"], "location": ["clinic", "gym"], "count": [1, 2]}
NESTED: list[tuple[str, Any]] = [
    ("location", pa.array([["gym", "clinic"], ["bar"]])),
    ("location", pa.array([{"name": "clinic"}, {"name": "bar"}])),
    ("location", pa.array([[("clinic", 1)], []], pa.map_(pa.string(), pa.int64()))),
    ("location", pa.array([0, 1], pa.timestamp("s"))),
    ("user", pa.array([["ann"], ["bob"]])),
    ("user", pa.array([1, 2], pa.decimal256(60, 2))),
    ("count", pa.array([[1], [2]])),
    ("count", pa.array([True, False])),
]


@pytest.mark.parametrize(("name", "values"), NESTED, ids=[f"{name} {values.type}" for name, values in NESTED])
def test_only_scalar_columns(tmp_path: Path, name: str, values: Any) -> None:
    table = pa.table({**ANN, name: values})
    assert f"the column '{name}' is of type {values.type}" in refused(tmp_path, table)
    pq.write_table(table, tmp_path / "in.parquet")
    kind = str(values.type).partition("<")[0].partition("[")[0]
    assert f"the column '{name}' is of type {kind}" in refused(tmp_path, tmp_path / "in.parquet")


def test_bytes_are_text_if_they_are_utf8(tmp_path: Path) -> None:
    names = pa.array(["clínica".encode(), b"gym"])
    policy = ew.Policy("hide", sensitive=("clínica",))
    result = ew.batch(policy, parquet(tmp_path / "in.parquet", **{**ANN, "location": names}))
    assert result.releases.to_pylist() == [{"user": "ann", "location": "gym", "count": 3}]
    latin = parquet(tmp_path / "latin.parquet", **{**ANN, "location": pa.array(["clínica".encode("latin-1"), b"gym"])})
    assert "the column 'location' has bytes that are not UTF-8 text" in refused(tmp_path, latin)


@pytest.mark.parametrize("few", [0, 1 << 25])
@pytest.mark.parametrize("head", [0, 2 << 20])
def test_text_that_is_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: int, few: int) -> None:
    monkeypatch.setattr(table_files, "_FEW_BYTES", few)
    lines = ["user,location", *(["ann,gym"] * (head // 8)), "ann,clínica"]
    (tmp_path / "in.csv").write_bytes("\n".join(lines).encode("latin-1"))
    assert "UTF" in refused(tmp_path, tmp_path / "in.csv")


def test_numbers_dates_and_booleans_are_names(tmp_path: Path) -> None:
    for values, name in (([17, 4], "17"), ([True, False], "true"), ([datetime.date(2026, 1, 2)] * 2, "2026-01-02")):
        given = parquet(tmp_path / "in.parquet", **{**ANN, "location": pa.array(values)})
        result = ew.batch(ew.Policy("hide", sensitive=(name,), candidates=("bar",)), given)
        assert result["hidden"][name]["visits"] > 0
        assert name not in result.releases.column("location").to_pylist()


# A fixed dialect.

_VALUES = ["007", "1e5", "0x1F", "1_000", "NULL", "nan", "true", "#1", "'17'", "a b", " lead", "trail ", "back\\slash",
           'quo"te', "com,ma", "semi;colon", "ba|r", "tab\tx", "new\nline", "cr\r\nx", "é", "日本", "\\N", "-", "//x",
           "2026-01-01", "1,5", "\\", '"', "''", "# c", "\u00a0x", "lone\rcr", "\ufeffx", "17.0", "1."]  # fmt: skip


def random_text(dice: random.Random) -> tuple[bytes, str]:
    """A table as somebody might write it, and its delimiter."""
    delimiter, end = dice.choice(",;|\t"), dice.choice(["\n", "\r\n"])
    text = io.StringIO()
    quoting: Any = dice.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    for _ in range(dice.randint(0, 1)):
        text.write(end)
    writer.writerow(["user", "location", "note"])
    for _ in range(dice.randint(1, 12)):
        writer.writerow([dice.choice(_VALUES), dice.choice(_VALUES), dice.choice([*_VALUES, ""])])
        if dice.random() < 0.1:
            text.write(end)
    content = text.getvalue()
    content = content.rstrip("\r\n") if dice.random() < 0.3 else content
    return content.encode("utf-8-sig" if dice.random() < 0.2 else "utf-8"), delimiter


@pytest.mark.slow
def test_texts_are_read_as_python_reads_them(tmp_path: Path) -> None:
    """A thousand of them: each is read as the csv module reads it, or refused if its rows are of different lengths."""
    import duckdb

    from elsewhere.engines.local import grouping

    read, connection = 0, duckdb.connect()
    for at in range(1000):
        content, delimiter = random_text(random.Random(at))
        path = tmp_path / ("in.tsv" if delimiter == "\t" else "in.csv")
        path.write_bytes(content)
        lines = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=delimiter, strict=True)
        table = [row for row in lines if row]
        try:
            found = grouping.Rows.of(open_source(path, "input")).attached(connection)
            columns = f"{found.key('user')}, {found.text('location')}"
            with grouping.sentences():
                given = connection.sql(f"SELECT {columns} FROM {found.table}").fetchall()
        except ew.InputError:
            assert {*map(len, table)} != {3}, content
            continue
        assert sorted(given) == sorted((user, location) for user, location, _ in table[1:]), content
        read += 1
    connection.close()
    assert read > 800


NUMBERS = ["1_000", "0x1F", "1e", "", "three", "1,000", "-1", "nan", "inf", "2.5", "0b1", "1 000", "٣"]


@pytest.mark.parametrize("text", NUMBERS)
def test_texts_that_are_no_counts(tmp_path: Path, text: str) -> None:
    (tmp_path / "in.csv").write_text(f'user,location,count\nann,clinic,1\nann,gym,"{text}"\n', encoding="utf-8")
    with pytest.raises(ew.InputError, match="a count of the user 'ann' at 'gym' that is not a whole number"):
        ew.batch(HIDE, tmp_path / "in.csv")
    (tmp_path / "good.csv").write_text('user;location;count\nann;clinic; 2.0\n"#1";gym;+3\nann;gym;1e1\n#1;x;1\n')
    result = ew.batch(HIDE, tmp_path / "good.csv", on_error="skip")
    assert result.releases.to_pylist() == [
        {"user": "#1", "location": "gym", "count": 3},
        {"user": "#1", "location": "x", "count": 1},
        {"user": "ann", "location": "gym", "count": 12},
    ]


# Files and folders.


def test_files_that_disagree(tmp_path: Path) -> None:
    for ending in ("csv", "parquet"):
        folder = tmp_path / ending
        folder.mkdir()
        one, other = {"user": ["ann"], "location": ["gym"]}, {"location": ["gym"], "user": ["bob"]}
        for name, columns in (("a", one), ("b", other)):
            if ending == "csv":
                text = [",".join(columns), ",".join(value[0] for value in columns.values())]
                (folder / f"{name}.csv").write_text("\n".join(text))
            else:
                parquet(folder / f"{name}.parquet", **columns)
        said = refused(tmp_path, folder)
        assert f"a.{ending}' has 'user', 'location'" in said
        assert f"b.{ending}' has 'location', 'user'" in said
    parquet(tmp_path / "types" / "a.parquet", user=[7], location=["gym"])
    parquet(tmp_path / "types" / "b.parquet", user=["007"], location=["gym"])
    assert "two files disagree on the column 'user': it is int64" in refused(tmp_path, tmp_path / "types")
    parquet(tmp_path / "widths" / "a.parquet", user=pa.array([7], pa.int32()), location=["clinic"])
    parquet(tmp_path / "widths" / "b.parquet", user=[2**40], location=["gym"])
    result = ew.batch(HIDE, tmp_path / "widths")
    assert result.releases.to_pylist() == [{"user": 2**40, "location": "gym", "count": 1}]


def test_what_a_folder_holds(tmp_path: Path) -> None:
    """Names of files are names, values of folders are texts, at any depth; what is hidden is no data."""
    lake = tmp_path / "lake"
    parquet(lake / "user=007" / "deep" / "a[1].parquet", location=["clinic", "gym"])
    parquet(lake / "user=007" / "b*.parquet", location=["gym"])
    parquet(lake / "user=a%20b" / "c?.parquet", location=["bar"])
    parquet(lake / "user=007" / "_temporary" / "x.parquet", location=["casino"])
    parquet(lake / ".hidden" / "user=x" / "x.parquet", location=["casino"])
    (lake / "user=007" / ".b.parquet.crc").write_bytes(b"?")
    (lake / "_SUCCESS").touch()
    decoy = parquet(tmp_path / "a1.parquet", user=["ann"], location=["casino"])
    found = ew.batch(HIDE, lake).releases.to_pylist()
    assert found == [
        {"user": "007", "location": "gym", "count": 3},
        {"user": "a b", "location": "bar", "count": 1},
    ]
    named = parquet(tmp_path / "a[1].parquet", user=["ann", "ann"], location=["clinic", "gym"])
    assert ew.batch(HIDE, named).releases.column("location").to_pylist() == ["gym"]
    several = ew.batch(HIDE, tmp_path / "[a]*.parquet")
    assert [Path(file["file"]).name for file in several["lineage"]["input"]] == [decoy.name, named.name]


def test_folders_in_folders(tmp_path: Path) -> None:
    """Each column is that of its name, whatever the order of names, and folders above the input say nothing."""
    lake = tmp_path / "env=prod" / "lake"
    for user in ("ann", "bob"):
        for month in "12":
            where = lake / f"user={user}" / f"month={month}=x"
            parquet(where / "f.parquet", location=["clinic", f"home of {user}"], count=[3, 1])
    found = ew.batch(HIDE, lake, keys=("month",)).releases.to_pylist()
    assert found == [
        {"user": user, "month": f"{month}=x", "location": f"home of {user}", "count": 4}
        for user in ("ann", "bob") for month in "12"
    ]  # fmt: skip
    one = lake / "user=ann" / "month=1=x"
    parquet(tmp_path / "again" / "user=ann" / "f.parquet", user=["eve"], location=["gym"])
    assert "the column 'user' is both in the files and in the names of their folders" in refused(
        tmp_path, tmp_path / "again"
    )
    assert "no user column is known" in refused(tmp_path, one)


def test_links_count_once(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    parquet(lake / "a.parquet", **ANN)
    (lake / "b.parquet").symlink_to("a.parquet")
    (lake / "loop").symlink_to(".")
    assert ew.batch(HIDE, lake).releases.column("count").to_pylist() == [3]
    (lake / "c.parquet").symlink_to("nowhere.parquet")
    assert "is a link that leads nowhere" in refused(tmp_path, lake)


QUOTES = ['ann,clinic,"oops\nbob,gym,x\n', 'ann,"cli"nic,x\n', 'ann,"clinic" ,x\n', 'ann,clinic,"a""\n']


@pytest.mark.parametrize("wrong", QUOTES)
def test_quotes_that_python_does_not_take(tmp_path: Path, wrong: str) -> None:
    """Wherever they are: one that is not closed would swallow the users after it."""
    for before in (0, 200, 400_000):
        text = "user,location,note\n" + "ann,cafe,\n" * before + wrong
        with pytest.raises(csv.Error):
            list(csv.reader(io.StringIO(text), strict=True))
        (tmp_path / "in.csv").write_text(text)
        assert "quote" in refused(tmp_path, tmp_path / "in.csv")
    right = 'user,location,note\n"ann",clinic,"a ""b"", c"\n"bo""b",gym,x"y\n'
    (tmp_path / "right.csv").write_text(right)
    assert ew.batch(HIDE, tmp_path / "right.csv").releases.column("user").to_pylist() == ['bo"b']


def test_long_values(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f'user,location,note\nann,clinic,"{"x" * 3_000_000}"\nann,gym,\n')
    assert ew.batch(HIDE, tmp_path / "in.csv").releases.column("count").to_pylist() == [2]


def test_a_file_that_changes(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("user,location\nann,clinic\nann,gym\n")

    def swap(_: object) -> None:
        (tmp_path / "in.csv").write_text("location,user\nann,clinic\nann,gym\n")

    with pytest.raises(ew.InputError, match="changed while it was read; start again with a new output"):
        ew.batch(HIDE, tmp_path / "in.csv", tmp_path / "out", progress=swap)
    assert not (tmp_path / "out" / "_SUCCESS").exists()


@pytest.mark.parametrize("few", [0, 1 << 25])
def test_texts_are_the_same_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(table_files, "_FEW_BYTES", few)
    histograms = people(60) | {"a,b": {'the "clinic"': 2, "gym\nand bar": 1}}
    for month, some in (("01", [*histograms][::2]), ("02", [*histograms][1::2])):
        (tmp_path / "in" / f"month={month}").mkdir(parents=True)
        with (tmp_path / "in" / f"month={month}" / "in.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("user", "location", "count"))
            writer.writerows((user, *row) for user in some for row in histograms[user].items())
    ew.batch(HIDE, tmp_path / "in", tmp_path / "out")
    assert released(tmp_path / "out") == expected(HIDE, histograms)
    assert isinstance(open_source(tmp_path / "in", "input").table, pa.Table) == bool(few)


def test_rows_of_different_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.csv").write_text("user,location,count\nann,clinic,1\nann,gym\n")
    said = refused(tmp_path, tmp_path / "in.csv")
    assert said == "the table cannot be read: CSV parse error: Row #3: Expected 3 columns, got 2: ann,gym"
    monkeypatch.setattr(table_files, "_FEW_BYTES", 0)
    assert refused(tmp_path, tmp_path / "in.csv") == said


def test_compressed_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "_FEW_BYTES", 100)
    text = b"user,location\nann,clinic\nann,gym\n"
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "in.csv.zst").write_bytes(pa.compress(text, "zstd", asbytes=True))
    for ending in ("gz", "zst"):
        found = ew.batch(HIDE, tmp_path / f"in.csv.{ending}").releases.to_pylist()
        assert found == [{"user": "ann", "location": "gym", "count": 2}]
    (tmp_path / "long.csv.gz").write_bytes(gzip.compress(text + 100 * b"ann,gym\n"))
    assert not isinstance(open_source(tmp_path / "long.csv.gz", "input").table, pa.Table)


def test_tables_that_need_more_than_their_files(tmp_path: Path) -> None:
    parquet(tmp_path / "delta" / "part.parquet", **ANN)
    (tmp_path / "delta" / "_delta_log").mkdir()
    (tmp_path / "delta" / "_delta_log" / "00000000000000000000.json").touch()
    assert "is a Delta table" in refused(tmp_path, tmp_path / "delta")
    parquet(tmp_path / "lake" / "iceberg" / "data" / "part.parquet", **ANN)
    (tmp_path / "lake" / "iceberg" / "metadata").mkdir()
    (tmp_path / "lake" / "iceberg" / "metadata" / "v1.metadata.json").touch()
    assert "lake/iceberg' is an Iceberg table" in refused(tmp_path, tmp_path / "lake")


def test_earlier_releases_are_no_input(tmp_path: Path) -> None:
    parquet(tmp_path / "lake" / "in.parquet", **ANN)
    with pytest.raises(ew.InputError, match="in the folder of the input; name another folder"):
        ew.batch(HIDE, tmp_path / "lake", tmp_path / "lake" / "out")
    ew.batch(HIDE, tmp_path / "lake", tmp_path / "out", report=tmp_path / "report")
    assert "releases of an earlier batch" in refused(tmp_path, tmp_path / "out")
    (tmp_path / "out" / "part-00000.parquet").rename(tmp_path / "lake" / "part-00000.parquet")
    assert "releases of an earlier batch" in refused(tmp_path, tmp_path / "lake")
    assert "the private report of an earlier batch" in refused(tmp_path, tmp_path / "report")


# Tables that the caller holds.


def holders(table: Any, folder: Path) -> dict[str, Any]:
    import duckdb
    import polars

    pq.write_table(table, folder / "held.parquet")
    return {
        "table": table,
        "batch": table.combine_chunks().to_batches()[0],
        "reader": table.to_reader(),
        "dataset": pa_ds.dataset(folder / "held.parquet"),
        "pandas": table.to_pandas(),
        "pandas categories": table.to_pandas().astype({"location": "category"}),
        "polars": polars.from_arrow(table),
        "lazy": polars.from_arrow(table).lazy(),  # type: ignore[union-attr]
        "relation": duckdb.connect().from_arrow(table),
    }


def test_tables_that_the_caller_holds(tmp_path: Path) -> None:
    """Each gives what the file gives, as a table or in a folder, which goes on only with the same rows."""
    histograms = people(30)
    user, location, count = zip(*rows(histograms, shuffled=True), strict=True)
    table = pa.table({"uid": user, "location": location, "count": count})
    wanted = expected(HIDE, histograms)
    for name, held in holders(table, tmp_path).items():
        result = ew.batch(HIDE, held)
        found: dict[str, dict[str, int]] = {}
        for row in result.releases.to_pylist():
            found.setdefault(row["uid"], {})[row["location"]] = row["count"]
        assert found == wanted, name
        assert result["users"] == len(result.outcomes) == 30
    ew.batch(HIDE, table, tmp_path / "out")
    again = ew.batch(HIDE, table.sort_by("count"), tmp_path / "out")
    assert again.releases.num_rows == sum(map(len, wanted.values()))
    with pytest.raises(ew.InputError, match="started with another input"):
        ew.batch(HIDE, table.slice(1), tmp_path / "out")


@pytest.mark.parametrize("given", [42, None, {"user": ["ann"]}, [("ann", "gym", 1)]])
def test_what_is_no_table(given: Any, tmp_path: Path) -> None:
    assert "give a path, an Arrow table, reader or dataset, or a data frame" in refused(tmp_path, given)


def test_keys_partitions_and_part_size(tmp_path: Path) -> None:
    months = {"2026-01": people(60, seed=1), "2026/02": people(60, seed=2)}
    table = pa.Table.from_pylist(
        [
            {"month": month, "tenant": 7, "Member ID": user, "place": name, "n": count, "age": 3}
            for month, histograms in months.items()
            for user, name, count in rows(histograms)
        ]
    )
    whole = ew.batch(HIDE, table, tmp_path / "whole", keys=("month", "tenant"))
    assert whole.releases.column_names == ["Member ID", "month", "tenant", "location", "count"]
    assert whole.outcomes.column_names[:3] == ["Member ID", "month", "tenant"]
    for month, histograms in months.items():
        found: dict[str, dict[str, int]] = {}
        for row in whole.releases.to_pylist():
            if row["month"] == month:
                found.setdefault(row["Member ID"], {})[row["location"]] = row["count"]
        assert found == expected(HIDE, histograms)
    cut = ew.batch(HIDE, table, tmp_path / "cut", keys=("month", "tenant"), partition_by=("month",), part_rows=100)
    files = sorted(str(path.relative_to(tmp_path / "cut")) for path in (tmp_path / "cut").rglob("*.parquet"))
    assert files[:2] == ["month=2026%2F02/part-00000.parquet", "month=2026%2F02/part-00001.parquet"]
    assert pq.ParquetFile(tmp_path / "cut" / files[0]).schema_arrow.names == [
        "Member ID",
        "tenant",
        "location",
        "count",
    ]
    order = [("Member ID", "ascending"), ("month", "ascending"), ("location", "ascending")]
    assert cut.releases.select(whole.releases.column_names).sort_by(order) == whole.releases.sort_by(order)
    visits = ew.batch(HIDE, table, rows_are_visits=True)
    assert sum(visits.releases.column("count").to_pylist()) <= len(table)


# Choices of users' own.

OWN = "user,sensitive,max_quality_loss\nann,,\nbob, gym ;bar,0.5\neve,harbour,\n"


def test_a_personal_table_as_text(tmp_path: Path) -> None:
    """Empty cells are the policy's, numbers are numbers, and a name that the user does not have is a reason."""
    (tmp_path / "own.csv").write_text(OWN)
    (tmp_path / "target.csv").write_text("location,count\ngym,1\n")
    table = pa.Table.from_pylist(
        [{"user": user, "location": name, "count": 2} for user in ("ann", "bob", "eve", "joe")
         for name in ("clinic", "gym", "bar", "park")]
    )  # fmt: skip
    policy = ew.Policy("resemble", sensitive=("clinic",), target="target.csv", max_quality_loss=0.3, folder=tmp_path)
    result = ew.batch(policy, table, personal=tmp_path / "own.csv")
    reasons = {row["user"]: row["reason"] for row in result.outcomes.to_pylist()}
    losses = {row["user"]: row["quality_loss"] for row in result.outcomes.to_pylist()}
    assert reasons["eve"] == "the user's own choice 'harbour' covers none of the user's places"
    assert reasons["ann"] is reasons["bob"] is None
    assert losses["ann"] == losses["joe"] <= 0.3 < losses["bob"] <= 0.5
    places = {user: set() for user in reasons}  # type: dict[str, set[str]]
    for row in result.releases.to_pylist():
        places[row["user"]].add(row["location"])
    assert "clinic" not in places["ann"]
    assert places["bob"].isdisjoint({"gym", "bar"})


@pytest.mark.parametrize(
    ("choices", "hidden"),
    [
        ({"sensitive": [17]}, "17"),
        ({"sensitive": [[17, None]]}, "17"),
        ({"redistribute": [2.0]}, "clinic"),
        ({"redistribute": [float("nan")]}, "clinic"),
        ({"redistribute": [Decimal(2)]}, "clinic"),
        ({"redistribute": ["2"], "sensitive": [" "]}, "clinic"),
    ],
)
def test_choices_of_other_types(choices: dict[str, Any], hidden: str) -> None:
    """Numbers are names, fractions may be whole, and a gap is the policy's choice."""
    table = pa.table({"user": ["ann"] * 3, "location": ["clinic", "17", "gym"], "count": [2, 2, 2]})
    result = ew.batch(HIDE, table, personal=pa.table({"user": ["ann"], **choices}))
    assert set(result.releases.column("location").to_pylist()) == {"clinic", "17", "gym"} - {hidden}


@pytest.mark.parametrize(
    ("header", "named"),
    [
        ("user,sensitive,sensitive", "two columns are called 'sensitive'"),
        ("user,Sensitive", "the column 'Sensitive' is not a personal choice; did you mean 'sensitive'?"),
        ("user,sensitve", "the column 'sensitve' is not a personal choice; did you mean 'sensitive'?"),
        ("user,sensitive,age", "the column 'age' is not a personal choice; those are sensitive"),
        ("user", "no column has personal choices"),
        ("who,sensitive", "no user column is known"),
    ],
)
def test_columns_of_a_personal_table(tmp_path: Path, header: str, named: str) -> None:
    (tmp_path / "own.csv").write_text(f"{header}\n{','.join(['ann', 'gym', '3'][: len(header.split(','))])}\n")
    said = refused(tmp_path, pa.table(ANN), personal=tmp_path / "own.csv")
    assert said.startswith("personal: ")
    assert named in said


def test_users_with_choices_who_are_not_there(tmp_path: Path) -> None:
    """All of them: the two tables write users differently. Some of them: the summary says so."""
    table = pa.table({**ANN, "user": [7, 7]})
    assert "none of its users is in the input" in refused(
        tmp_path, table, personal=pa.table({"user": ["x"], "sensitive": ["gym"]})
    )
    own = pa.table({"user": ["7", "8"], "sensitive": [["gym"], ["gym"]]})
    result = ew.batch(HIDE, table, personal=own)
    assert result.releases.to_pylist() == [{"user": 7, "location": "clinic", "count": 3}]
    assert result["notes"] == ["1 user with personal choices is not in the input."]
    for nobody in ("7.4", 7.4, "07"):  # rounded, it would be somebody
        said = refused(tmp_path, table, personal=pa.table({"user": [nobody], "sensitive": ["gym"]}))
        assert "none of its users is in the input" in said
    whole = ew.batch(HIDE, table, personal=pa.table({"user": [7.0], "sensitive": ["gym"]}))
    assert whole["hidden"]["gym"]["users"] == 1
    large = pa.table({**ANN, "user": pa.array([2**64 - 1] * 2, pa.uint64())})
    own = pa.table({"user": pa.array([2**64 - 1], pa.uint64()), "sensitive": ["gym"]})
    assert ew.batch(HIDE, large, personal=own).releases.column("location").to_pylist() == ["clinic"]


def test_a_folder_tells_nothing_of_others(tmp_path: Path) -> None:
    table = pa.table({"user": ["ann", "bob"], "location": ["clinic", "gym"], "count": [7, 4], "month": ["1", "2"]})
    policy = ew.Policy("hide", sensitive=("clinic",), candidates=("cafe",))
    ew.batch(policy, table, tmp_path / "out", keys=("month",), partition_by=("month",))
    content = (tmp_path / "out" / "month=1" / "part-00000.parquet").read_bytes()
    assert b"ann" in content
    assert not any(other in content for other in (b"bob", b"gym", b"clinic"))


ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"threads": 10**6}, "threads is 1000000; it must be a whole number from 1 to 1,024"),
    ({"threads": "2"}, "threads is '2'"),
    ({"memory": "1GB"}, "memory is '1GB'"),
    ({"part_rows": 2.5}, "part_rows is 2.5"),
    ({"min_released": "99%"}, "min_released is '99%'"),
    ({"rows_are_visits": "no"}, "rows_are_visits is 'no'; it must be True or False"),
    ({"keys": "month"}, "keys is 'month'; give a list of columns"),
    ({"keys": ("location",)}, "the key 'location' has the name of"),
    ({"keys": ("/abs",), "partition_by": ("/abs",), "output": "x"}, "the column '/abs' cannot name a folder"),
    ({"keys": ("month",), "partition_by": ("month", "month")}, "which has a column twice"),
    ({"policy": 5}, "policy is 5; give a Policy or its file"),
    ({"input": ""}, "input is ''; give a path of this machine"),
    ({"input": "file://"}, "input is 'file://'; give a path of this machine"),
    ({"output": "s3:/lake/x"}, "output is 's3:/lake/x'; give a path of this machine"),
    ({"input": pa.table({})}, "the table has no columns"),
]


@pytest.mark.parametrize(("given", "named"), ARGUMENTS, ids=[named for _, named in ARGUMENTS])
def test_arguments_that_make_no_sense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    usual = {"policy": HIDE, "input": pa.table({**ANN, "month": [1, 1], "/abs": [1, 1]})}
    with pytest.raises(ew.InputError) as error:
        ew.batch(**{**usual, **given})
    assert named in str(error.value)
    assert not list(tmp_path.iterdir())


def test_names_that_look_like_paths() -> None:
    table = pa.table({".u": ["bob", "ann"], "location": ["gym", "clinic"], "a.b[0]": [1, 1]})
    policy = ew.Policy("hide", sensitive=("clinic",), candidates=("x",))
    result = ew.batch(policy, table, user_column=".u", keys=("a.b[0]",))
    assert result.releases.column_names == [".u", "a.b[0]", "location", "count"]
    assert result.releases.column(".u").to_pylist() == ["ann", "bob"]


def test_output_places(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", people(5))
    for address in ("http://lake/x", "hdfs://lake/x", "s4://lake/x"):
        with pytest.raises(ew.InputError, match="give a path of this machine or one of s3://, gs://, az://, file://"):
            ew.batch(HIDE, tmp_path / "in.parquet", address)
    ew.batch(HIDE, (tmp_path / "in.parquet").as_uri(), (tmp_path / "out put").as_uri())
    assert released(tmp_path / "out put") == expected(HIDE, people(5))
