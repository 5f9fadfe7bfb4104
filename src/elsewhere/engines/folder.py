"""Where a batch goes: a folder of releases that may be given away, and a private one beside it.

The private folder has the outcomes and a journal: which question is being answered, and which users are done. With it
a run that was ended at any moment goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from elsewhere.engines.arrow import Batch, Table, pa, pq
from elsewhere.engines.outcome import outcomes, releases
from elsewhere.files import write_atomic
from elsewhere.model.errors import InputError
from elsewhere.text import quote

_SUCCESS = "_SUCCESS"
_JOURNAL = "journal.json"
_PRIVATE = ".private"
_Path: TypeAlias = str | os.PathLike[str]


class Output:
    """The two folders of a batch, and how far it is."""

    def __init__(self, folder: Path, private: Path, question: Mapping[str, Any]) -> None:
        self.folder, self.private = folder, private
        self._question = hashlib.sha256(json.dumps(question, sort_keys=True, default=str).encode()).hexdigest()
        self.journal: dict[str, Any] = {"question": self._question, "parts": 0, "last": None, "totals": {}}
        check_apart(folder, private)
        self._check_new()
        beside = private == folder.with_name(folder.name + _PRIVATE)
        _make("output" if beside else "report", folder if beside else private, private, mode=0o700)
        self._alone = _lock(private)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    @property
    def done(self) -> bool:
        return (self.folder / _SUCCESS).exists()

    def write_part(self, number: int, results: Table) -> None:
        """Write the releases and the outcomes of some users; the same part may be written again."""
        batch = results.combine_chunks().sort_by("user").to_batches()[0]
        name = f"part-{number:05d}.parquet"
        write_atomic(self.private / f"outcomes-{number:05d}.parquet", _parquet(outcomes(batch)), private=True)
        write_atomic(self.folder / name, _parquet(releases(batch)), private=False)

    def record(self, number: int, last: Any, totals: Mapping[str, Any]) -> None:
        """Note that all parts up to this one are written."""
        self.journal |= {"parts": number + 1, "last": last, "totals": dict(totals)}
        self._write_journal()

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Say that all is there."""
        text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        write_atomic(self.private / "summary.json", text.encode(), private=True)
        write_atomic(self.folder / _SUCCESS, b"", private=False)

    def close(self) -> None:
        """Let others work in the folder."""
        if self._alone is not None:
            os.close(self._alone)

    def summary(self) -> dict[str, Any]:
        """What `finish` was told."""
        found: dict[str, Any] = json.loads((self.private / "summary.json").read_text("utf-8"))
        return found

    def outcomes(self) -> list[Path]:
        """The files of the outcomes of all users."""
        return sorted(self.private.glob("outcomes-*.parquet"))

    @property
    def _begun(self) -> bool:
        return (self.private / _JOURNAL).exists()

    def _check_new(self) -> None:
        """Refuse a folder in which there is something else, before anything is made."""
        for argument, path in (("output", self.folder), ("report", self.private)):
            if path.exists() and not path.is_dir():
                raise InputError(f"{argument} is {quote(str(path))}, which is a file; name a new folder", (argument,))
        if not self._begun and self.folder.exists() and any(self.folder.iterdir()):
            raise InputError(
                f"output is {quote(str(self.folder))}, which holds files of something else; name a new folder",
                ("output",),
            )

    def _begin(self) -> None:
        if self._begun:
            self._go_on()
        else:
            _make("output", self.folder, self.folder)
            self._write_journal()

    def _go_on(self) -> None:
        try:
            found = json.loads((self.private / _JOURNAL).read_text("utf-8"))
        except (OSError, ValueError):
            raise InputError(f"the journal in {quote(str(self.private))} cannot be read; name a new folder") from None
        if found.get("question") != self._question:
            raise InputError(
                f"output is {quote(str(self.folder))}, begun with another input, policy or version; name a new folder",
                ("output",),
            )
        self.journal = found

    def _write_journal(self) -> None:
        write_atomic(self.private / _JOURNAL, json.dumps(self.journal).encode(), private=True)


def private_folder(output: _Path, report: _Path | None) -> Path:
    """Where the private report goes; by default beside the output."""
    folder = Path(output)
    if folder.name in ("", ".."):
        raise InputError(f"output is {quote(os.fspath(output))}; name a new folder", ("output",))
    return folder.with_name(folder.name + _PRIVATE) if report is None else Path(report)


def _make(argument: str, given: Path, folder: Path, mode: int = 0o777) -> None:
    """Make the folder that follows from what an argument was given."""
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        reason = f"it cannot be made ({error.strerror})"
        raise InputError(f"{argument} is {quote(str(given))}; {reason}; name another folder", (argument,)) from None


def _lock(folder: Path) -> int | None:
    """Keep others from working in the folder as long as this process lives."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InputError(f"another batch is at work in {quote(str(folder))}") from None
    return descriptor


def check_apart(folder: Path, private: Path) -> None:
    """Raise if what is private would be given away with the releases."""
    real, other = Path(os.path.realpath(folder)), Path(os.path.realpath(private))
    if real == other or real in other.parents:
        raise InputError(
            f"report is {quote(str(private))}, in the folder of the releases; name another folder", ("report",)
        )


def _parquet(batch: Batch) -> bytes:
    content = io.BytesIO()
    table = pa.Table.from_batches([batch])
    pq.write_table(table, content, store_schema=False, write_statistics=False, compression="zstd")
    return content.getvalue()
