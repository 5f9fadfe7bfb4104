"""Whatever is sent to the page's server, the mistake is never ours: an answer, or a refusal in one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsewhere.app import interface
from elsewhere.app.session import Session
from tests.support.client import Client, serving

KEYS = [
    "number", "goal", "sensitive", "spared", "target", "max_quality_loss", "max_distance", "min_distance",
    "aim", "method", "draft", "by", "kinds", "name", "visits", "taxonomy", "levels", "candidates", "lower",
    "upper", "allow_unchanged", "allow_mismatch", "policy", "id", "what", "user", "ticks",
]  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["hide", "resemble", "avoid", "tourist", "preset:health", "Bar", "js", "drawn", "kind", 0.1, 1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=12,
)  # fmt: skip
BODIES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8).map(lambda value: json.dumps(value).encode()) | (
    VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=60)
)
PATHS = [
    "api/start", "api/samples/{id}", "api/histories", "api/folders", "api/folders/{id}",
    "api/folders/{id}/files", "api/folders/{id}/read", "api/histories/{id}", "api/histories/{id}/keep",
    "api/histories/{id}/labels", "api/histories/{id}/tree", "api/histories/{id}/release",
    "api/histories/{id}/frontier", "api/histories/{id}/stop", "api/histories/{id}/take",
    "api/histories/{id}/policy", "api/targets", "api/taxonomies", "api/kinds", "api/compiling",
]  # fmt: skip
QUERIES = st.dictionaries(
    st.sampled_from([*interface.READING, "name", "what", "number"]), st.text(max_size=6), max_size=3
)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving(Session()) as client:
        yield client


@settings(max_examples=200)
@given(
    method=st.sampled_from(["GET", "POST", "POST", "POST", "DELETE"]), path=st.sampled_from(PATHS),
    known=st.booleans(), other=st.text(max_size=4), query=QUERIES, body=BODIES, binary=st.booleans(),
)  # fmt: skip
def test_no_request_is_a_mistake_of_ours(
    client: Client, method: str, path: str, known: bool, other: str, query: dict[str, str], body: bytes, binary: bool
) -> None:
    opened = client.upload("h.csv", b"location,count\nBar,2\nHotel,3\nClinic,4\n")["id"] if known else quote(other, "")
    asked = "&".join(f"{name}={quote(value, '')}" for name, value in query.items())
    content = {"Content_Type": "application/octet-stream"} if binary and method == "POST" else {}
    reply = client.ask(method, f"{path.format(id=opened)}?{asked}", body, **content)
    client.ask("DELETE", f"api/histories/{opened}")
    assert reply.status < 500, reply.content
    if reply.status >= 400 and reply.content.startswith(b"{"):
        said = reply.json({})["error"]
        assert said
        assert "\n" not in said
