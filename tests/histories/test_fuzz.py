"""Whatever is written is read back; whatever is broken is refused in one sentence."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import elsewhere as ew
from elsewhere.model.names import merge_spellings
from tests.support.exports import EXPORTS, MEDIA, chromium, firefox
from tests.support.tracks import TRACKS

arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")

#: Names with commas, quotes, line ends, emoji, text from right to left; not blank, and not half characters.
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).filter(
    str.strip
)
COUNTS = st.dictionaries(NAMES, st.integers(0, 2**40), min_size=1, max_size=8)


def delimited(delimiter: str, encoding: str, quoting: Any, end: str) -> Callable[[dict[str, int]], bytes]:
    def write(counts: dict[str, int]) -> bytes:
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=end)
        writer.writerows([("count", "location"), *((count, name) for name, count in counts.items())])
        return text.getvalue().encode(encoding)

    return write


def as_parquet(counts: dict[str, int]) -> bytes:
    file = io.BytesIO()
    parquet.write_table(arrow.table({"location": list(counts), "count": list(counts.values())}), file)
    return file.getvalue()


def as_rows(counts: dict[str, int]) -> list[dict[str, Any]]:
    return [{"location": name, "count": count} for name, count in counts.items()]


FORMS: dict[str, Callable[[dict[str, int]], bytes]] = {
    "csv": delimited(",", "utf-8", csv.QUOTE_MINIMAL, "\r\n"),
    "tsv": delimited("\t", "utf-8-sig", csv.QUOTE_MINIMAL, "\r\n"),
    "semicolons": delimited(";", "utf-16", csv.QUOTE_ALL, "\n"),
    "bars": delimited("|", "utf-8", csv.QUOTE_NONNUMERIC, "\r"),
    "gzip": lambda counts: gzip.compress(FORMS["csv"](counts)),
    "json": lambda counts: json.dumps(counts).encode(),
    "json rows": lambda counts: json.dumps(as_rows(counts), ensure_ascii=False).encode(),
    "json columns": lambda counts: json.dumps({"location": [*counts], "count": [*counts.values()]}).encode(),
    "json lines": lambda counts: "\n".join(json.dumps(row, ensure_ascii=False) for row in as_rows(counts)).encode(),
    "parquet": as_parquet,
}


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40, deadline=None)
@given(counts=COUNTS)
@example({'=1+1, "the" café': 1, "🏋️\n\r\n\u0645\u0642\u0647\u0649": 2, "location": 3, " a ;|\t": 0})
def test_what_is_written_is_read(form: str, counts: dict[str, int]) -> None:
    history = ew.read(file(FORMS[form](counts)))
    merged, _ = merge_spellings(counts)
    assert dict(history.histogram) == merged
    assert ew.read_weights(file(FORMS[form](counts))) == merged


@settings(max_examples=40, deadline=None)
@given(visits=st.lists(NAMES, min_size=1, max_size=8).map(lambda names: names * 2))
def test_visits_are_counted(visits: list[str]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["location"], *([name] for name in visits)])
    counted, _ = merge_spellings({name: visits.count(name) for name in visits})
    assert dict(ew.read(file(text.getvalue().encode())).histogram) == counted
    assert dict(ew.read(file(json.dumps(visits).encode())).histogram) == counted


def file(content: bytes) -> Path:
    path = Path(tempfile.gettempdir(), "file")
    path.write_bytes(content)
    return path


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def samples() -> dict[str, bytes]:
    """A file of every format."""
    paths = (*EXPORTS.rglob("*.*"), *MEDIA.iterdir(), *TRACKS.iterdir())
    found = {path.name: path.read_bytes() for path in paths if path.is_file()}
    found |= {form: write({"cafe": 7, "gym": 2, "café, the": 3}) for form, write in FORMS.items()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Takeout/2023_MARCH.json", found["google_takeout_2023_MARCH_ms.json"])
    found["zip"] = packed.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        for make in (firefox, chromium):
            with closing(make(Path(folder, make.__name__))):
                pass
            found[make.__name__] = Path(folder, make.__name__).read_bytes()
    return found


SAMPLES = samples()
FORMATS = [
    *(None, "browser", "takeout", "timeline", "swarm", "parquet", "jsonl", "json", "foursquare", "csv"),
    *("chrome", "youtube", "spotify", "netflix"),
    *("records", "gpx", "kml", "tcx", "overland", "polarsteps", "geojson", "owntracks", "geolife", "tracks"),
]


@st.composite
def broken(draw: st.DrawFn) -> tuple[str, bytes]:
    name = draw(st.sampled_from(sorted(SAMPLES)))
    content = bytearray(SAMPLES[name])
    if draw(st.booleans()):
        del content[draw(st.integers(0, len(content) - 1)) :]
    for at in draw(st.lists(st.integers(0, len(SAMPLES[name]) * 8 - 1), max_size=4)):
        if at // 8 < len(content):
            content[at // 8] ^= 1 << at % 8
    return name, bytes(content)


@settings(max_examples=800, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(sample=broken(), format=st.sampled_from(FORMATS), locations=st.sampled_from([None, None, "name", "id"]))
def test_broken_and_mislabelled_files(sample: tuple[str, bytes], format: str | None, locations: Any) -> None:  # noqa: A002
    path = file(sample[1])
    assert_read_or_refused(path)
    assert_read_or_refused(path, format=format, locations=locations)
    assert_read_or_refused(path, format=format, by="place,daypart,weekend", until="2023-03-06")


def assert_read_or_refused(path: Path, **options: Any) -> None:
    try:
        assert ew.read(path, **options).histogram.length > 0
    except ew.InputError as error:
        refusal = str(error)
    else:
        return
    assert refusal.startswith(f"{path}: ")
    assert "\n" not in refusal


KEYS = """
timelineObjects placeVisit location name semanticSegments visit topCandidate placeId hierarchyLevel
items type venue categories id response checkins count user
url header subtitles details msPlayed artistName endTime createdAt startTime time_usec
locations latitudeE7 longitudeE7 timestamp features geometry coordinates properties time all_steps lat lon rawSignals
"""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("checkin"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(content=JSON, format=st.sampled_from([None, *FORMATS[2:5], *FORMATS[10:]]))
def test_json_of_any_shape(content: Any, format: str | None) -> None:  # noqa: A002
    assert_read_or_refused(file(json.dumps(content).encode()), format=format)
    assert_read_or_refused(file(json.dumps(content).encode()), format=format, by="place,daypart")
