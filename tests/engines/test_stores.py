"""Tables in an object store, against a server that speaks S3."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import elsewhere as ew
from elsewhere.engines.stores import locate
from tests.support.batches import expected, people, rows

pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")
HIDE = ew.Policy("hide", sensitive=("clinic",))


class Lake:
    """A bucket, with addresses that lead to it."""

    def __init__(self, endpoint: str) -> None:
        self._options = urlencode({"endpoint_override": endpoint, "scheme": "http", "region": "us-east-1"})
        locate(f"{self.at('')}&allow_bucket_creation=true", "input").filesystem.create_dir("lake")
        self.files = locate(self.at(""), "input").filesystem

    def at(self, path: str) -> str:
        return f"s3://somebody:secret@lake/{path}?{self._options}"

    def put(self, path: str, histograms: dict[str, dict[str, int]]) -> None:
        user, location, count = zip(*rows(histograms), strict=True)
        pq.write_table(
            pa.table({"uid": user, "location": location, "count": count}), f"lake/{path}", filesystem=self.files
        )

    def write(self, path: str, content: bytes) -> None:
        with self.files.open_output_stream(f"lake/{path}") as stream:
            stream.write(content)

    def names(self, folder: str) -> list[str]:
        fs: Any = import_module("pyarrow.fs")
        found = self.files.get_file_info(fs.FileSelector(f"lake/{folder}", recursive=True))
        return sorted(info.path for info in found if info.type == fs.FileType.File)


#: Takes any port that is free, and says which.
_SERVER = """
import threading
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def lake() -> Iterator[Lake]:
    """In a process of its own, as a server is: one in ours would wait for those that it keeps waiting."""
    command = [sys.executable, "-c", _SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            yield Lake(f"127.0.0.1:{int(server.stdout.readline())}")
        finally:
            server.terminate()


def test_from_a_store_into_a_store(lake: Lake) -> None:
    """Folders, patterns and texts; keys in folders; and the same address again finds all done."""
    histograms = people(60)
    users = sorted(histograms)
    for month, some in (("01", users[:30]), ("02", users[30:])):
        lake.put(f"in/month={month}/a[{month}].parquet", {user: histograms[user] for user in some})
    lake.put("in/_temporary/x.parquet", {"nobody": {"clinic": 1}})
    result = ew.batch(HIDE, lake.at("in"), lake.at("out"), keys=("month",), partition_by=("month",), part_rows=50)
    found: dict[str, dict[str, int]] = {}
    for row in result.releases.to_pylist():
        assert row["month"] == ("01" if row["uid"] in users[:30] else "02")
        found.setdefault(row["uid"], {})[row["location"]] = row["count"]
    assert found == expected(HIDE, histograms)
    written = lake.names("out")
    assert "lake/out/_SUCCESS" in written
    assert {name.split("/")[2] for name in written} == {"_SUCCESS", "month=01", "month=02"}
    assert all(name.startswith("lake/out.private/") for name in set(lake.names("")) - set(written) if "out" in name)
    assert [file["file"] for file in result["lineage"]["input"]] == [
        "s3://lake/in/month=01/a[01].parquet",
        "s3://lake/in/month=02/a[02].parquet",
    ]
    again = ew.batch(HIDE, lake.at("in"), lake.at("out"), keys=("month",), partition_by=("month",), part_rows=50)
    assert again == result
    by_pattern = ew.batch(HIDE, lake.at("in/month=*1/*.parquet"))
    assert by_pattern["users"] == 30


def test_a_part_that_is_missing_is_made_again(lake: Lake) -> None:
    lake.put("whole.parquet", people(80))
    first = ew.batch(HIDE, lake.at("whole.parquet"), lake.at("again"), part_rows=60)
    before = {name: lake.files.open_input_stream(name).read() for name in lake.names("again")}
    assert len(before) > 3
    lake.files.delete_file(sorted(before)[2])
    second = ew.batch(HIDE, lake.at("whole.parquet"), lake.at("again"), part_rows=60)
    assert {name: lake.files.open_input_stream(name).read() for name in lake.names("again")} == before
    assert {**first, "lineage": None} == {**second, "lineage": None}


def test_texts_and_own_choices_in_a_store(lake: Lake) -> None:
    lake.write("in.csv", b"user,location\nann,clinic\nann,gym\nann,bar\n")
    lake.write("own.csv", b"user,sensitive\nann,gym\n")
    result = ew.batch(HIDE, lake.at("in.csv"), personal=lake.at("own.csv"))
    assert result.releases.column("location").to_pylist() == ["bar", "clinic"]


def test_a_report_on_this_machine(lake: Lake, tmp_path: Path) -> None:
    lake.put("some.parquet", people(8))
    result = ew.batch(HIDE, lake.at("some.parquet"), lake.at("mixed"), report=tmp_path / "report")
    assert result["users"] == len(result.outcomes) == 8
    assert not [name for name in lake.names("") if "mixed.private" in name]
    other = ew.batch(HIDE, lake.at("some.parquet"), tmp_path / "here", report=lake.at("report"))
    assert other.releases == result.releases


@pytest.fixture(scope="module")
def used(lake: Lake) -> Lake:
    """A lake in which a batch was made already."""
    lake.put("raw/a.parquet", people(8))
    lake.put("others/a.parquet", people(9))
    ew.batch(HIDE, lake.at("raw"), lake.at("made"))
    return lake


@pytest.mark.parametrize(
    ("path", "output", "named"),
    [
        ("nowhere.csv", "x", "there is no file at 's3://lake/nowhere.csv'"),
        ("none/*.csv", "x", "there is no file at 's3://lake/none/*.csv'"),
        ("raw", "raw/out", "output is 's3://lake/raw/out', in the folder of the input"),
        ("made", "x", "'s3://lake/made' holds the releases of an earlier batch"),
        ("made.private", "x", "'s3://lake/made.private' holds the private report of an earlier batch"),
        ("others", "made", "output is 's3://lake/made', started with another input"),
    ],
)
def test_what_is_refused(used: Lake, path: str, output: str, named: str) -> None:
    """In words that have no secret of the address."""
    lake, before = used, used.names("")
    with pytest.raises(ew.InputError) as error:
        ew.batch(HIDE, lake.at(path), lake.at(output))
    assert named in str(error.value)
    assert "secret" not in str(error.value)
    assert lake.names("") == before


def test_nobody_listens() -> None:
    address = "s3://somebody:secret@lake/x?endpoint_override=127.0.0.1:9&scheme=http&region=us-east-1"
    with pytest.raises(ew.InputError, match="'s3://lake/x' cannot be reached") as error:
        ew.batch(HIDE, address)
    assert "secret" not in str(error.value)
