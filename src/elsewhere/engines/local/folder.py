"""Where a batch goes: a folder of releases that may be given away, and a private one for the report.

The private folder has the outcomes and a journal: which question is being answered, and for each part that is written
up to which bucket of users it goes, with the sizes and hashes of its files. With it a run that was ended at any moment
goes on where it stopped, and a part that is missing or cut is made again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote as quote_address

from elsewhere.engines.arrow import Array, Batch, Table, pa, pa_fs, pc, pq
from elsewhere.engines.listing import PRIVATE, check_apart, is_within
from elsewhere.engines.outcome import key_names, outcomes, releases
from elsewhere.engines.stores import Location, Store, locate, store_errors
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
        asked = {**question, "output": os.path.realpath(folder.path) if folder.is_local else folder.shown}
        self._question = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
        #: The checkpoints that belong to the part that is to be written next.
        self._checkpoints = 0
        self._partition_by = tuple(partition_by)
        #: A record of each part that is written, in order.
        self.records: list[dict[str, Any]] = []
        self._check_new()
        self._make()
        self._locks = ExitStack()
        with ExitStack() as locks:  # they are given back if anything goes wrong
            for place in (folder, report):
                _lock(place, locks)
            self._begin()
            self._locks = locks.pop_all()

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
        number, batch = len(self.records), _sorted(results)
        name, content = f"outcomes-{number:05d}.parquet", _parquet(outcomes(batch))
        self.private.write(name, content)
        record: dict[str, Any] = {
            "last": last,
            "totals": dict(totals),
            "outcomes": {name: _figures(content)},
            "parts": {},
        }
        for folder, part in _partitions(releases(batch), self._partition_by):
            name, content = f"{folder}part-{number:05d}.parquet", _parquet(part)
            self.folder.write(name, content)
            record["parts"][name] = _figures(content)
        self.private.write(f"{_RECORDS}{number:05d}.json", json.dumps(record).encode())
        self.records.append(record)
        self._remove_checkpoints()

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep results that are not enough for a part yet."""
        table = checkpoint.results.combine_chunks()
        about = {"last": str(checkpoint.last), "skipped": str(checkpoint.skipped)}
        content = io.BytesIO()
        with pa.ipc.new_stream(content, table.schema.with_metadata(about)) as stream:
            stream.write_table(table)
        data = content.getvalue()
        self.private.write(self._checkpoint_name(), hashlib.sha256(data).digest() + data)
        self._checkpoints += 1

    def checkpoints(self) -> list[Checkpoint]:
        """What was kept of the part that is to be written next, in order, up to the first that is not what it was."""
        found: list[Checkpoint] = []
        while (content := self.private.read(self._checkpoint_name())) is not None:
            digest, data = content[:32], content[32:]
            if hashlib.sha256(data).digest() != digest:
                break
            table = pa.ipc.open_stream(data).read_all()
            about = table.schema.metadata
            found.append(Checkpoint(table.replace_schema_metadata(), int(about[b"last"]), int(about[b"skipped"])))
            self._checkpoints += 1
        # Those after it follow on what it was, not on what will be in its place.
        for name in self.private.names(_CHECKPOINTS):
            if name >= self._checkpoint_name():
                self.private.delete(name)
        return found

    def _checkpoint_name(self) -> str:
        return f"{_CHECKPOINTS}{len(self.records):05d}-{self._checkpoints:05d}.arrow"

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Say that all is there."""
        content = (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode()
        self.private.write(_SUMMARY, content)
        self._write_journal(_figures(content))
        self.folder.write(_SUCCESS, b"")

    def close(self) -> None:
        """Let others work in the folders."""
        self._locks.close()

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
        if self.private.holds(_JOURNAL):
            return
        for argument, store in (("output", self.folder), ("report", self.private)):
            if store.names():
                told = f"{argument} is {quote(store.place.shown)}, which holds files of something else"
                raise InputError(f"{told}; name a new folder", (argument,))

    def _make(self) -> None:
        """Make the folders, of which others may read only the one of the releases."""
        if self.private.place.is_local:
            beside = self.private.place.path == f"{self.folder.place.path}{PRIVATE}"
            given = self.folder if beside else self.private
            _make("output" if beside else "report", given.place.shown, self.private.folder, mode=0o700)
            self.private.folder.chmod(0o700)
        if self.folder.place.is_local:
            _make("output", self.folder.place.shown, self.folder.folder)

    def _begin(self) -> None:
        content = self.private.read(_JOURNAL)
        if content is None:
            self._write_journal(None)
            return
        try:
            journal = json.loads(content)
            question, summary = journal["question"], journal["summary"]
        except (ValueError, KeyError, TypeError):
            told = f"the journal in {quote(self.private.place.shown)} cannot be read"
            raise InputError(f"{told}; name a new folder") from None
        if question != self._question:
            told = f"output is {quote(self.folder.place.shown)}, started with another input, policy, key or version"
            raise InputError(f"{told}; name a new folder", ("output",))
        self.records = [*self._intact_records()]
        found = self.private.read(_SUMMARY)
        if found is None or summary != _figures(found) or json.loads(found)["users"] != self.totals.get("users", 0):
            self.folder.delete(_SUCCESS)

    def _write_journal(self, summary: Any) -> None:
        """Note which question this is, and, once it is answered, the figures of the summary."""
        content = json.dumps({"question": self._question, "summary": summary})
        self.private.write(_JOURNAL, content.encode())

    def _intact_records(self) -> Iterator[dict[str, Any]]:
        """The records of parts up to the first whose files are not what was written; what follows is made again."""
        names = self.private.names(_RECORDS)
        for at, name in enumerate(names):
            record = _record(self.private.read(name))
            intact = record is not None and name == f"{_RECORDS}{at:05d}.json" and all(
                _is_intact(store, file, figures)
                for store, files in ((self.folder, record["parts"]), (self.private, record["outcomes"]))
                for file, figures in files.items()
            )  # fmt: skip
            if record is None or not intact:
                self.folder.delete(_SUCCESS)
                for other in names[at:]:
                    self.private.delete(other)
                self._remove_checkpoints()
                return
            yield record

    def outcomes(self) -> list[str]:
        """The files of the outcomes of all users."""
        return [name for record in self.records for name in record["outcomes"]]

    def _remove_checkpoints(self) -> None:
        self._checkpoints = 0
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


def check_outside(argument: str, folder: Location, given: Any, what: str = "the input") -> None:
    """Raise if the releases, or the report, would be among the files of the input or of earlier releases."""
    if not isinstance(given, str | os.PathLike):
        return
    source = locate(given, "input")
    with store_errors(source.shown):
        is_folder = source.filesystem.get_file_info(source.path).type == pa_fs.FileType.Directory
    if source.is_local == folder.is_local and is_folder and is_within(_as_path(folder), _as_path(source)):
        told = f"{argument} is {quote(folder.shown)}, in the folder of {what}"
        raise InputError(f"{told}; name another folder, so that it is not read as input", (argument,))


def _as_path(place: Location) -> Path:
    return Path(place.path) if place.is_local else Path("/", place.path)


def _make(argument: str, given: str, folder: Path, mode: int = 0o777) -> None:
    """Make the folder that follows from what an argument was given."""
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        reason = f"it cannot be made ({error.strerror})"
        raise InputError(f"{argument} is {quote(given)}; {reason}; name another folder", (argument,)) from None


def _lock(place: Location, locks: ExitStack) -> None:
    """Keep others from working in a folder of this machine until the stack is closed or this process ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    if not place.is_local:
        return
    descriptor = os.open(place.path, os.O_RDONLY)
    locks.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"another batch is running in {quote(place.shown)}") from None


def _partitions(batch: Batch, names: Sequence[str]) -> Iterator[tuple[str, Batch]]:
    """The rows for each folder of the output, with the folder, without the columns that its name has the values of."""
    if not names:
        yield "", batch
        return
    # Plain values: a dictionary would tell each folder what the others have.
    table = pa.table({name: _plain(batch.column(name)) for name in batch.schema.names})
    for values in table.select(list(names)).group_by(list(names)).aggregate([]).to_pylist():
        chosen = reduce(pc.and_, (pc.equal(table.column(name), value) for name, value in values.items()))
        folder = "".join(f"{name}={_folder_value(value)}/" for name, value in values.items())
        yield folder, table.filter(chosen).drop_columns(list(names)).combine_chunks().to_batches()[0]


def _folder_value(value: Any) -> str:
    """A value as readers of such folders understand it: a name that means none to them is written otherwise."""
    text = quote_address(str(value), safe="")
    return f"%5F{text[1:]}" if text == "__HIVE_DEFAULT_PARTITION__" else text


def _plain(column: Array) -> Array:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _sorted(results: Table) -> Batch:
    """The results in the order of their keys, whose names may be anything."""
    keys = [f"k{at}" for at in range(len(key_names(results.schema)))]
    names = results.schema.names
    table = results.combine_chunks().rename_columns([*keys, *names[len(keys) :]])
    table = table.sort_by([(key, "ascending") for key in keys])
    return table.rename_columns(names).combine_chunks().to_batches()[0]


def _record(content: bytes | None) -> dict[str, Any] | None:
    """The record of a part, if it is one."""
    try:
        record = json.loads(content or b"")
        fits = [type(record[name]) for name in ("last", "totals", "outcomes", "parts")] == [int, dict, dict, dict]
    except (ValueError, KeyError, TypeError):
        return None
    return record if fits else None


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
