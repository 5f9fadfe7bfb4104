"""Where a batch goes: a folder of releases that may be given away, and a private one for the report.

The private folder has the outcomes and a journal: which question is being answered, and for each part that is written
its last users and the sizes and hashes of its files. With it a run that was ended at any moment goes on where it
stopped, and a part that is missing or cut is made again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote as quote_address

from elsewhere.engines.arrow import Batch, Table, pa, pa_fs, pc, pq
from elsewhere.engines.listing import PRIVATE
from elsewhere.engines.outcome import key_names, outcomes, releases
from elsewhere.engines.stores import Location, Store, locate
from elsewhere.model.errors import InputError
from elsewhere.text import quote

_SUCCESS = "_SUCCESS"
_JOURNAL = "journal.json"
_SUMMARY = "summary.json"
_RECORDS, _CHECKPOINTS = "journal/", "checkpoints/"


class Checkpoint(NamedTuple):
    """Results that are not a part yet: of all users up to a bucket, and how many rows were left out until there."""

    results: Table
    last: int
    skipped: int


class Output:
    """The two folders of a batch, and how far it is."""

    def __init__(
        self, folder: Location, report: Location, question: Mapping[str, Any], partition_by: Sequence[str] = ()
    ) -> None:
        self.folder, self.private = Store(folder, private=False), Store(report, private=True)
        self._question = hashlib.sha256(json.dumps(question, sort_keys=True, default=str).encode()).hexdigest()
        self._partition_by = tuple(partition_by)
        #: A record of each part that is written, in order.
        self.records: list[dict[str, Any]] = []
        self._check_new()
        self._make()
        self._locks = [*_locked(folder, report)]
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    @property
    def done(self) -> bool:
        return self.folder.holds(_SUCCESS)

    @property
    def last(self) -> int | None:
        """The last bucket whose users are in a part."""
        return self.records[-1]["last"] if self.records else None

    @property
    def totals(self) -> dict[str, Any]:
        return dict(self.records[-1]["totals"]) if self.records else {}

    def write_part(self, results: Table, last: int, totals: Mapping[str, Any]) -> None:
        """Write the releases and the outcomes of some users, and note that all users up to this bucket are done."""
        number = len(self.records)
        batch = results.combine_chunks()
        batch = batch.sort_by([(name, "ascending") for name in key_names(batch.schema)]).to_batches()[0]
        content = {f"outcomes-{number:05d}.parquet": _parquet(outcomes(batch))}
        files = {name: _figures(data) for name, data in content.items()}
        for name, data in content.items():
            self.private.write(name, data)
        written = {}
        for folder, part in _partitions(releases(batch), self._partition_by):
            name, data = f"{folder}part-{number:05d}.parquet", _parquet(part)
            self.folder.write(name, data)
            written[name] = _figures(data)
        record = {"last": last, "totals": dict(totals), "outcomes": files, "parts": written}
        self.private.write(f"{_RECORDS}{number:05d}.json", json.dumps(record).encode())
        self.records.append(record)
        self._remove_checkpoints()

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep results that are not enough for a part yet."""
        at = len(self.private.names(_CHECKPOINTS))
        table = checkpoint.results.combine_chunks()
        about = {"last": str(checkpoint.last), "skipped": str(checkpoint.skipped)}
        content = io.BytesIO()
        with pa.ipc.new_stream(content, table.schema.with_metadata(about)) as stream:
            stream.write_table(table)
        self.private.write(f"{_CHECKPOINTS}{len(self.records):05d}-{at:05d}.arrow", content.getvalue())

    def checkpoints(self) -> Iterator[Checkpoint]:
        """What was kept of the part that is to be written next, in order."""
        for name in self.private.names(_CHECKPOINTS):
            content = self.private.read(name)
            if content is not None and name.startswith(f"{_CHECKPOINTS}{len(self.records):05d}-"):
                table = pa.ipc.open_stream(content).read_all()
                about = table.schema.metadata
                yield Checkpoint(table.replace_schema_metadata(), int(about[b"last"]), int(about[b"skipped"]))

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Say that all is there."""
        self.private.write(_SUMMARY, (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode())
        self.folder.write(_SUCCESS, b"")

    def close(self) -> None:
        """Let others work in the folders."""
        for descriptor in self._locks:
            os.close(descriptor)

    def summary(self) -> dict[str, Any]:
        """What `finish` was told."""
        found: dict[str, Any] = json.loads(self.private.read(_SUMMARY) or b"{}")
        return found

    def _check_new(self) -> None:
        """Refuse a folder in which there is something else, before anything is made."""
        for argument, store in (("output", self.folder), ("report", self.private)):
            place = store.place
            if place.is_local and store.folder.exists() and not store.folder.is_dir():
                raise InputError(f"{argument} is {quote(place.shown)}, which is a file; name a new folder", (argument,))
        if not self.private.holds(_JOURNAL) and self.folder.names():
            told = f"output is {quote(self.folder.place.shown)}, which holds files of something else"
            raise InputError(f"{told}; name a new folder", ("output",))

    def _make(self) -> None:
        """Make the folders, of which others may read only the one of the releases."""
        if not self.private.place.is_local:
            return
        beside = self.private.folder == self.folder.folder.with_name(self.folder.folder.name + PRIVATE)
        given = self.folder if beside else self.private
        _make("output" if beside else "report", given.place.shown, self.private.folder, mode=0o700)
        if self.folder.place.is_local:
            _make("output", self.folder.place.shown, self.folder.folder)

    def _begin(self) -> None:
        content = self.private.read(_JOURNAL)
        if content is None:
            self.private.write(_JOURNAL, json.dumps({"question": self._question}).encode())
            return
        try:
            question = json.loads(content)["question"]
            self.records = [*self._intact_records()]
        except (ValueError, KeyError, TypeError):
            told = f"the journal in {quote(self.private.place.shown)} cannot be read"
            raise InputError(f"{told}; name a new folder") from None
        if question != self._question:
            told = f"output is {quote(self.folder.place.shown)}, begun with another input, policy or version"
            raise InputError(f"{told}; name a new folder", ("output",))
        if self.done and self.summary().get("users") != self.totals.get("users", 0):
            self.folder.delete(_SUCCESS)

    def _intact_records(self) -> Iterator[dict[str, Any]]:
        """The records of parts up to the first whose files are not what was written; what follows is made again."""
        names = self.private.names(_RECORDS)
        for at, name in enumerate(names):
            record = json.loads(self.private.read(name) or b"null")
            intact = name == f"{_RECORDS}{at:05d}.json" and all(
                _is_intact(store, file, figures)
                for store, files in ((self.folder, record["parts"]), (self.private, record["outcomes"]))
                for file, figures in files.items()
            )
            if not intact:
                self.folder.delete(_SUCCESS)
                for other in names[at:]:
                    self.private.delete(other)
                self._remove_checkpoints()
                return
            yield record

    def _remove_checkpoints(self) -> None:
        for name in self.private.names(_CHECKPOINTS):
            self.private.delete(name)


def output_places(output: str | os.PathLike[str], report: str | os.PathLike[str] | None) -> tuple[Location, Location]:
    """Where the releases go, and where the private report goes; by default beside them."""
    folder = locate(output, "output")
    if Path(folder.path).name in ("", ".."):
        raise InputError(f"output is {quote(folder.shown)}; name a new folder", ("output",))
    if report is not None:
        private = locate(report, "report")
    else:
        private = folder._replace(path=folder.path.rstrip("/") + PRIVATE, shown=folder.shown.rstrip("/") + PRIVATE)
    if folder.is_local == private.is_local:
        check_apart(_as_path(folder), _as_path(private))
    return folder, private


def check_apart(folder: Path, private: Path) -> None:
    """Raise if what is private would be given away with the releases."""
    if _is_within(private, folder):
        told = f"report is {quote(str(private))}, in the folder of the releases; name another folder"
        raise InputError(told, ("report",))


def check_outside(folder: Location, given: Any) -> None:
    """Raise if the releases would be among the files of the input."""
    if not isinstance(given, str | os.PathLike):
        return
    source = locate(given, "input")
    is_folder = source.filesystem.get_file_info(source.path).type == pa_fs.FileType.Directory
    if source.is_local == folder.is_local and is_folder and _is_within(_as_path(folder), _as_path(source)):
        told = f"output is {quote(folder.shown)}, in the folder of the input"
        raise InputError(f"{told}; name another folder, so that releases are not read as input", ("output",))


def _as_path(place: Location) -> Path:
    return Path(place.path) if place.is_local else Path("/", place.path)


def _is_within(path: Path, folder: Path) -> bool:
    real, other = Path(os.path.realpath(folder)), Path(os.path.realpath(path))
    return real == other or real in other.parents


def _make(argument: str, given: str, folder: Path, mode: int = 0o777) -> None:
    """Make the folder that follows from what an argument was given."""
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        reason = f"it cannot be made ({error.strerror})"
        raise InputError(f"{argument} is {quote(given)}; {reason}; name another folder", (argument,)) from None


def _locked(*places: Location) -> Iterator[int]:
    """Keep others from working in folders of this machine as long as this process lives."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    for place in places:
        if not place.is_local:
            continue
        descriptor = os.open(place.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise InputError(f"another batch is at work in {quote(place.shown)}") from None
        yield descriptor


def _partitions(batch: Batch, names: Sequence[str]) -> Iterator[tuple[str, Batch]]:
    """The rows for each folder of the output, with the folder, without the columns that its name has the values of."""
    if not names:
        yield "", batch
        return
    table = pa.Table.from_batches([batch])
    for values in table.select(list(names)).group_by(list(names)).aggregate([]).to_pylist():
        chosen = reduce(pc.and_, (pc.equal(table.column(name), value) for name, value in values.items()))
        folder = "".join(f"{name}={quote_address(str(value), safe='')}/" for name, value in values.items())
        yield folder, table.filter(chosen).drop_columns(list(names)).combine_chunks().to_batches()[0]


def _parquet(batch: Batch) -> bytes:
    content = io.BytesIO()
    table = pa.Table.from_batches([batch])
    pq.write_table(table, content, store_schema=False, write_statistics=False, compression="zstd")
    return content.getvalue()


def _figures(content: bytes) -> list[Any]:
    return [len(content), hashlib.sha256(content).hexdigest()]


def _is_intact(store: Store, name: str, figures: Sequence[Any]) -> bool:
    """Whether a file is what was written. Of an object store the size tells: it has no half of an object."""
    if not store.place.is_local:
        return bool(store.size(name) == figures[0])
    content = store.read(name)
    return content is not None and _figures(content) == list(figures)
