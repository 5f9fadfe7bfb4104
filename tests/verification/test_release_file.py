"""A file that holds more than a release may hold, or holds it in another form, is found out."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import elsewhere as ew
from elsewhere.verification.release_file import read_release

pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")
HISTORY = ew.Histogram({"café": 7, "clinic": 2, "gym": 3})


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_what_is_saved_is_sound(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"release.{ending}"
    result = ew.hide(HISTORY, {"clinic"})
    result.save(path)
    assert read_release(path) == (result.histogram, [])


@pytest.mark.parametrize(
    ("ending", "content", "problem"),
    [
        ("csv", "location,count\ncafé,8\nclinic,0\ngym,4\n", "a count of 0, which reveals that the place is in"),
        ("csv", "location,count,note\ncafé,8,\ngym,4,\n", "more columns than location and count: 'note'"),
        ("csv", "location,count\ngym,4\ncafé,8\n", "not sorted by location: 'café' comes after 'gym'"),
        ("csv", "location,count\r\ncafé,8\r\ngym,4\r\n", "bytes differ from those"),
        ("csv", '"location","count"\ncafé,8\ngym,4\n', "bytes differ from those"),
        ("csv", "\ufefflocation,count\ncafé,8\ngym,4\n", "bytes differ from those"),
        ("csv", "location,count\ncafé,08\ngym,4\n", "bytes differ from those"),
        ("json", '[{"location": "café", "count": 8, "was": 7}, {"location": "gym", "count": 4}]', "'was'"),
        ("json", '[{"location": "café", "count": 8},\n{"location": "clinic", "count": 0}]', "a count of 0"),
        ("json", '[{"count": 8, "location": "caf\\u00e9"}]', "bytes differ from those"),
    ],
)
def test_text_that_holds_more(tmp_path: Path, ending: str, content: str, problem: str) -> None:
    path = tmp_path / f"release.{ending}"
    path.write_bytes(content.encode())
    assert problem in read_release(path).problems[0]


def test_parquet_that_holds_more(tmp_path: Path) -> None:
    path = tmp_path / "release.parquet"
    table = pa.table({"location": ["café", "gym"], "count": [8, 4]})
    for content, options, problem in (
        (table, {"write_statistics": True}, "statistics"),
        (table.replace_schema_metadata({"pandas": "{}"}), {"store_schema": True}, "metadata: "),
        (table.append_column("was", pa.array([7, 3])), {}, "'was'"),
        (table.slice(1).take(pa.array([0])), {}, None),
    ):
        pq.write_table(content, path, **{"store_schema": False, "write_statistics": False, **options})
        found = read_release(path).problems
        assert [(problem or "nothing") in sentence for sentence in found] == ([] if problem is None else [True])


def test_bytes_that_no_column_has(tmp_path: Path) -> None:
    path = tmp_path / "release.parquet"
    ew.hide(HISTORY, {"clinic"}).save(path)
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    hidden = b"clinic,2"
    path.write_bytes(content[:footer] + hidden + content[footer:])
    assert read_release(path).problems == ["the file has bytes that belong to no column"]
    path.write_bytes(re.sub(rb"parquet-cpp-arrow", b"clinic 2 was here", content))
    assert "the file was written by 'clinic 2 was here" in read_release(path).problems[0]
    table = pa.table({"location": ["café", "gym"], "count": [8, 4]})
    pq.write_table(table, path, store_schema=False, write_statistics=True, write_page_index=True)
    assert "the file has bytes that belong to no column" in read_release(path).problems


def test_a_dictionary_with_hidden_names(tmp_path: Path) -> None:
    path = tmp_path / "release.parquet"
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 2], pa.int32()), pa.array(["café", "clinic", "gym"]))
    table = pa.table({"location": encoded, "count": [8, 4]})
    pq.write_table(table, path, store_schema=False, write_statistics=False, compression="none")
    assert b"clinic" in path.read_bytes()
    assert read_release(path).problems == ["the file has names that are in no row: 'clinic'"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("release.csv", b"place,n\ncafe,8\n"),
        ("release.csv", b"location,count\ncafe,-8\n"),
        ("release.csv", b"location,count\ncafe,8.0\n"),
        ("release.csv", b"location,count\ncaf\xe9,8\n"),
        ("release.csv", b""),
        ("release.csv", b'location,count\nhome,11\n"work,7\n'),
        ("release.json", b"{}"),
        ("release.json", b"[" * 100_000),
        ("release.parquet", b"PAR1"),
        ("release.txt", b""),
    ],
)
def test_what_is_no_release(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ew.InputError) as error:
        read_release(tmp_path / name)
    assert name in str(error.value)
    assert "generator" not in str(error.value)


def test_parquet_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "release.parquet"
    pq.write_table(pa.table({"location": [["café"]], "count": [8]}), path)
    with pytest.raises(ew.InputError, match="is not a release"):
        read_release(path)


def test_a_name_with_a_carriage_return_comes_back(tmp_path: Path) -> None:
    counts = {"a\rb": 2, "c,d": 1, "e\nf": 3}
    ew.hide({**counts, "x": 1}, {"x"}, redistribute=0).save(tmp_path / "release.csv")
    assert dict(ew.read(tmp_path / "release.csv").histogram) == counts
    assert read_release(tmp_path / "release.csv").problems == []
