"""Files that look like a history but are none; each says what to export instead."""

from __future__ import annotations

import re
from collections.abc import Sequence

from elsewhere.histories.documents import Document
from elsewhere.histories.options import Options
from elsewhere.histories.reader import Export, Reading
from elsewhere.model.errors import InputError


def _refused(name: str, because: str, *marks: bytes) -> Export:
    patterns = [re.compile(mark) for mark in marks]

    def recognises(document: Document) -> bool:
        return document.is_json and all(pattern.search(document.head) for pattern in patterns)

    def read(documents: Sequence[Document], options: Options) -> Reading:
        raise InputError(because)

    return Export(name, recognises, read, ("name", "category", "id"))


EXPORTS = (
    _refused(
        "records",
        "it holds raw positions, not visits; give the folder Semantic Location History of the same Takeout, "
        "or export the Timeline on the phone",
        rb'"locations"\s*:\s*\[',
        rb'"(?:latitudeE7|timestampMs)"',
    ),
    _refused(
        "swarm visits",
        "it holds what Swarm noticed by itself, which names no venue; give checkins1.json or the whole folder",
        rb'"items"\s*:\s*\[',
        rb'"timeArrived"',
    ),
)
