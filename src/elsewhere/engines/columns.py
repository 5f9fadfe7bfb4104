"""Checks of a table that all engines share: the kind of its files, valid rows, and which table an error is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from elsewhere.model.errors import InputError
from elsewhere.text import plural, quote


def kind_of(file: str) -> str:
    """Parquet, CSV or TSV, by the suffix of the file name."""
    name = file.removesuffix(".gz").removesuffix(".zst").lower()
    for kind in ("parquet", "csv", "tsv"):
        if name.endswith(f".{kind}"):
            return kind
    raise InputError(f"{quote(file)} ends in none of .parquet, .csv, .tsv (or .csv.gz, .csv.zst, .tsv.gz, .tsv.zst)")


def bad_row(row: Mapping[str, Any], keys: Sequence[str] = ("user",), rows: int = 1) -> InputError:
    """A sentence about bad rows of a user at a location; the first key is the user's."""
    missing = next((name for name in (*keys, "location") if row[name] is None), None)
    user = row[keys[0]]
    if user is None:
        what = f"{plural(rows, 'row')} without a user"
    elif missing is not None:
        what = f"rows of the user {quote(user)} without a {missing}"
    else:
        where = f"the user {quote(user)} at {quote(row['location'])}"
        what = f"a count of {where} that is not a whole number from 0 up"
    return InputError(f"the input has {what}; use on_error 'skip' to leave such rows out", ("on_error",))


@contextmanager
def about(argument: str) -> Iterator[None]:
    """Make errors say that they are about the table of an argument other than the input."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{argument}: {error}", (argument, *error.arguments)) from None


def about_personal() -> AbstractContextManager[None]:
    """Make errors say that they are about the table of users' own choices."""
    return about("personal")


def about_since() -> AbstractContextManager[None]:
    """Make errors say that they are about the earlier releases."""
    return about("since")
