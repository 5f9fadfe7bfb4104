"""Histories and profiles as JSON for the page."""

from __future__ import annotations

from typing import Any

from elsewhere import looking
from elsewhere.app.session import OpenHistory
from elsewhere.profiles import StoredProfile


def history(opened: OpenHistory) -> dict[str, Any]:
    """A history right after reading."""
    histogram = opened.history.histogram
    return {
        "id": opened.id,
        "name": opened.name,
        "format": opened.history.format,
        "size": histogram.size,
        "length": histogram.length,
        "notes": list(opened.history.notes),
        "locations": [{"name": location, "count": count} for location, count in histogram.items()],
        "question": opened.question,
    }


def look(opened: OpenHistory) -> dict[str, Any]:
    """What a history reveals."""
    found = looking.look(opened.history)
    told = [(line.sentence, [place.name for place in line.places]) for line in looking.lines(found)]
    return {
        "lines": [{"sentence": sentence, "places": places} for sentence, places in told],
        "unrecognised": [place.name for place in found.unrecognised],
    }


def profile(stored: StoredProfile) -> dict[str, Any]:
    """A profile to choose."""
    about = stored.description if stored.warning is None else f"{stored.description} Warning: {stored.warning}."
    return {"name": stored.name, "label": stored.label, "description": about, "length": stored.profile.length}
