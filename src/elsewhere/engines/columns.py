"""What every engine asks of a table: the kind of its files, and rows that make sense."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsewhere.model.errors import InputError
from elsewhere.text import quote


def kind_of(file: str) -> str:
    """Parquet, CSV or TSV, as the end of the name says."""
    name = file.lower().removesuffix(".gz").removesuffix(".zst")
    for kind in ("parquet", "csv", "tsv"):
        if name.endswith(f".{kind}"):
            return kind
    raise InputError(f"{quote(file)} ends in none of .parquet, .csv, .tsv")


def complaint(row: Mapping[str, Any]) -> str:
    """What is wrong with rows of a user at a location."""
    if row["user"] is None:
        what = f"{row['rows']} rows have no user"
    elif row["location"] is None:
        what = f"the user {quote(row['user'])} has rows without a location"
    else:
        what = (
            f"the user {quote(row['user'])} has a count at {quote(row['location'])} that is no whole number from 0 up"
        )
    return f"{what}; --on-error skip leaves such rows out"
