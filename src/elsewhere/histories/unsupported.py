"""Files that look like a history but are not; each error says what to use instead."""

from __future__ import annotations

import re
from collections.abc import Iterable

from elsewhere.histories.documents import Document
from elsewhere.model.errors import InputError

_REFUSALS = {
    re.compile(rb'"items"\s*:\s*\[.*"timeArrived"', re.DOTALL): (
        "it holds visits that Swarm detected by itself, without venues; give checkins1.json or the whole folder"
    ),
}


def refuse_unsupported(documents: Iterable[Document]) -> None:
    """Raise `InputError` if one of the documents only looks like a history."""
    for document in documents:
        for mark, because in _REFUSALS.items():
            if document.is_json and mark.search(document.beginning):
                raise InputError(because)
