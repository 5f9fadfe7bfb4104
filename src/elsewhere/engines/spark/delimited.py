"""CSV and TSV on Spark: Spark finds and spreads the lines, and Python's own csv module reads them on the executors.

Spark's parser has another dialect and tolerates broken files. This one is as strict as the other readers of the
package. An error in a file becomes a row of the result, because an exception of an executor would go to its log.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import itemgetter

from elsewhere.engines.arrow import Batch, pa, pc
from elsewhere.engines.listing import check_one_schema
from elsewhere.engines.spark.paths import partition_values, plain_name
from elsewhere.model.errors import InputError
from elsewhere.text import one_line, plural, quote

#: The column with the error in a file.
PROBLEM = "__problem"
#: Rows that are passed on at a time.
_ROWS = 1 << 13
_SPLIT = "; if its values have line breaks, set spark.sql.files.maxPartitionBytes to more than the size of the file"


@dataclass(frozen=True)
class Layout:
    """The properties that all files share."""

    #: The folder below which names such as month=5 are columns.
    folder: str
    #: The file whose header applies to all files.
    first: str
    header: tuple[str, ...]
    delimiter: str
    #: The columns to read, in the header or in the names of folders.
    wanted: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A part of a file that Spark reads in one go: it begins with a row."""

    file: str
    start: int
    #: Whether the file continues after it.
    cut: bool

    @classmethod
    def of(cls, text: str) -> Block:
        start, cut, file = text.split(" ", 2)
        return cls(plain_name(file), int(start), cut == "true")

    def error(self, what: str, line: int = 0) -> InputError:
        where = f"{quote(self.file)}, line {line}," if line and not self.start else quote(self.file)
        return InputError(f"{where} {what}{_SPLIT if self.cut or self.start else ''}")


def parsed(layout: Layout, batches: Iterable[Batch]) -> Iterator[Batch]:
    """The wanted columns as text, from batches of lines: the text of a `Block`, and the bytes of the line."""
    runs = (run for batch in batches for run in _runs(batch))
    for text, of_block in groupby(runs, itemgetter(0)):
        yield from _block_rows(layout, Block.of(text), (lines for _, lines in of_block))


def _runs(batch: Batch) -> Iterator[tuple[str, Batch]]:
    """The lines of each block, one block after the other."""
    encoded = pc.run_end_encode(batch.column(0))
    start = 0
    for block, end in zip(encoded.values.to_pylist(), encoded.run_ends.to_pylist(), strict=True):
        yield block, batch.column(1).slice(start, end - start)
        start = end


def _block_rows(layout: Layout, block: Block, lines: Iterable[Batch]) -> Iterator[Batch]:
    rows = csv.reader(chain.from_iterable(_texts(lines, block)), delimiter=layout.delimiter, strict=True)
    width, of_folders = len(layout.header), partition_values(layout.folder, block.file)
    try:
        if block.start == 0:
            _check_header(layout, block, rows)
        while chunk := list(islice(rows, _ROWS)):
            whole = [row for row in chunk if row]
            if set(map(len, whole)) - {width}:
                row = next(row for row in whole if len(row) != width)
                many = f"has a row of {plural(len(row), 'value')}, but the table has {plural(width, 'column')}"
                raise block.error(f"{many}: {quote(row)}")
            columns = [_column(layout, name, whole, of_folders) for name in layout.wanted]
            yield _batch(layout, [*columns, pa.nulls(len(whole), pa.string())])
    except csv.Error as error:
        yield _problem(layout, block.error(f"cannot be read ({one_line(error)})", rows.line_num))
    except InputError as error:
        yield _problem(layout, error)


def _check_header(layout: Layout, block: Block, rows: Iterator[list[str]]) -> None:
    header = next((row for row in rows if any(map(str.strip, row))), None)
    if header is None:
        raise InputError(f"{quote(block.file)} has no header line with the names of its columns")
    check_one_schema([(layout.first, layout.header), (block.file, header)])


def _column(layout: Layout, name: str, rows: list[list[str]], of_folders: dict[str, str | None]) -> Batch:
    if name in of_folders:
        return pa.array([of_folders[name]] * len(rows), pa.string())
    return pa.array(list(map(itemgetter(layout.header.index(name)), rows)), pa.string())


def _texts(lines: Iterable[Batch], block: Block) -> Iterator[Iterable[str]]:
    """The lines as text, each with its line ending; Spark splits only at line feeds."""
    before = 0
    for chunk in lines:
        try:
            texts: list[str] = chunk.cast(pa.string()).to_pylist()
        except pa.ArrowInvalid:
            at = next(at for at, line in enumerate(chunk.to_pylist()) if not _is_utf8(line))
            raise block.error("is not UTF-8; save it as UTF-8", before + at + 1) from None
        yield chain.from_iterable(map(_ended, texts))
        before += len(chunk)


def _ended(text: str) -> Sequence[str]:
    whole = f"{text}\n"
    # A carriage return also ends a line, unless it is quoted; the csv module decides that.
    return (whole,) if "\r" not in text[:-1] else list(io.StringIO(whole, newline=""))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _batch(layout: Layout, columns: list[Batch]) -> Batch:
    return pa.record_batch(columns, names=[*layout.wanted, PROBLEM])


def _problem(layout: Layout, error: InputError) -> Batch:
    nothing = [pa.nulls(1, pa.string())] * len(layout.wanted)
    return _batch(layout, [*nothing, pa.array([str(error)], pa.string())])
