"""The output of a batch: a folder of releases that may be shared, and a private folder for the report.

The private folder has the outcomes and a journal. The journal records the question and, for each written part, its last
bucket of users and the sizes and hashes of its files. So a run that was killed at any moment resumes where it stopped,
and a part that is missing or truncated is made again.
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
    """Results that are not a part yet: those of all users up to a bucket, and how many rows were skipped so far."""

    results: Table
    last: int
    skipped: int


class Output:
    """The two folders of a batch, and its progress."""

    def __init__(
        self, folder: Location, report: Location, question: Mapping[str, Any], partition_by: Sequence[str] = ()
    ) -> None:
        self.folder, self.private = Store(folder, private=False), Store(report, private=True)
        asked = {**question, "output": os.path.realpath(folder.path) if folder.is_local else folder.shown}
        self._question = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
        #: The checkpoints of the part that is written next.
        self._checkpoints = 0
        self._partition_by = tuple(partition_by)
        #: One record per written part, in order.
        self.records: list[dict[str, Any]] = []
        self._check_new()
        self._make()
        self._locks = ExitStack()
        with ExitStack() as locks:  # released if anything goes wrong
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
        """Write the releases and outcomes of some users, and record that all users up to this bucket are done."""
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
        """Store results that are not enough for a part yet."""
        table = checkpoint.results.combine_chunks()
        about = {"last": str(checkpoint.last), "skipped": str(checkpoint.skipped)}
        content = io.BytesIO()
        with pa.ipc.new_stream(content, table.schema.with_metadata(about)) as stream:
            stream.write_table(table)
        data = content.getvalue()
        self.private.write(self._checkpoint_name(), hashlib.sha256(data).digest() + data)
        self._checkpoints += 1

    def checkpoints(self) -> list[Checkpoint]:
        """The checkpoints of the part that is written next, in order, up to the first that is damaged."""
        found: list[Checkpoint] = []
        while (content := self.private.read(self._checkpoint_name())) is not None:
            digest, data = content[:32], content[32:]
            if hashlib.sha256(data).digest() != digest:
                break
            table = pa.ipc.open_stream(data).read_all()
            about = table.schema.metadata
            found.append(Checkpoint(table.replace_schema_metadata(), int(about[b"last"]), int(about[b"skipped"])))
            self._checkpoints += 1
        # Later checkpoints continue the damaged one, so they are useless, too.
        for name in self.private.names(_CHECKPOINTS):
            if name >= self._checkpoint_name():
                self.private.delete(name)
        return found

    def _checkpoint_name(self) -> str:
        return f"{_CHECKPOINTS}{len(self.records):05d}-{self._checkpoints:05d}.arrow"

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the summary and the marker that everything is complete."""
        content = (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode()
        self.private.write(_SUMMARY, content)
        self._write_journal(_figures(content))
        self.folder.write(_SUCCESS, b"")

    def close(self) -> None:
        """Release the locks on the folders."""
        self._locks.close()

    def summary(self) -> dict[str, Any]:
        """The summary that `finish` wrote."""
        found: dict[str, Any] = json.loads(self.private.read(_SUMMARY) or b"{}")
        return found

    def _check_new(self) -> None:
        """Refuse a folder with other files in it, before anything is created."""
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
        """Create the folders. Other users of the machine may read only the folder of releases."""
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
        """Write the question to the journal and, once the batch is done, the figures of the summary."""
        content = json.dumps({"question": self._question, "summary": summary})
        self.private.write(_JOURNAL, content.encode())

    def _intact_records(self) -> Iterator[dict[str, Any]]:
        """The records of parts up to the first with changed files. That part and all later ones are made again."""
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
    """The locations of the releases and of the private report, which is beside them by default."""
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
    """Raise if the releases or the report would be among the files of the input or of earlier releases."""
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
    """Create the folder that an argument names."""
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        reason = f"it cannot be made ({error.strerror})"
        raise InputError(f"{argument} is {quote(given)}; {reason}; name another folder", (argument,)) from None


def _lock(place: Location, locks: ExitStack) -> None:
    """Lock a folder on this machine until the stack is closed or this process ends."""
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
    """Each folder of the output with its rows, without the columns whose values are in the folder's name."""
    if not names:
        yield "", batch
        return
    # Plain values, because a dictionary would reveal the values of the other folders.
    table = pa.table({name: _plain(batch.column(name)) for name in batch.schema.names})
    for values in table.select(list(names)).group_by(list(names)).aggregate([]).to_pylist():
        chosen = reduce(pc.and_, (pc.equal(table.column(name), value) for name, value in values.items()))
        folder = "".join(f"{name}={_folder_value(value)}/" for name, value in values.items())
        yield folder, table.filter(chosen).drop_columns(list(names)).combine_chunks().to_batches()[0]


def _folder_value(value: Any) -> str:
    """A value as a folder name, escaped so that readers of such folders do not take it for a missing value."""
    text = quote_address(str(value), safe="")
    return f"%5F{text[1:]}" if text == "__HIVE_DEFAULT_PARTITION__" else text


def _plain(column: Array) -> Array:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _sorted(results: Table) -> Batch:
    """The results in the order of their keys; the key columns may have any name."""
    keys = [f"k{at}" for at in range(len(key_names(results.schema)))]
    names = results.schema.names
    table = results.combine_chunks().rename_columns([*keys, *names[len(keys) :]])
    table = table.sort_by([(key, "ascending") for key in keys])
    return table.rename_columns(names).combine_chunks().to_batches()[0]


def _record(content: bytes | None) -> dict[str, Any] | None:
    """The record of a part; None if the text is not one."""
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
    """Whether a file is unchanged. In an object store the size is enough, because objects are never half written."""
    if not store.place.is_local:
        return bool(store.size(name) == figures[0])
    content = store.read(name)
    return content is not None and _figures(content) == list(figures)
