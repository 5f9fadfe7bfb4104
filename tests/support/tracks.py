"""The made-up tracks: one Monday at sea, in every format."""

from __future__ import annotations

from pathlib import Path

TRACKS = Path(__file__).parent.parent / "fixtures" / "tracks"
PLACES = TRACKS / "places.csv"
