"""Open documents: a file, standard input, the files of a folder or of a zip, on disk or in memory.

Nothing is ever unpacked to disk, and no file is trusted: any error becomes one sentence that names the file.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path, PureWindowsPath
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from elsewhere.histories.encodings import GUESSES, guess_encoding
from elsewhere.histories.json_text import parse_json
from elsewhere.histories.unpacking import Budget, TooLarge, Unpacked
from elsewhere.model.errors import InputError
from elsewhere.text import one_line, quote

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

#: Bytes of a document that are used to recognise it.
_HEAD = 1 << 16
_CHUNK = 1 << 20

#: Limits on the number of files, the length of a line, and the unpacked size, which no real history reaches.
_MOST_FILES = 100_000
_LONGEST_LINE = 1 << 24
_MOST_UNPACKED = 1 << 32

#: Suffixes of the files that are opened if there are many.
_HISTORIES = (".json", ".geojson", ".gpx", ".kml", ".tcx", ".plt", ".rec")
_TABLES = (".csv", ".tsv", ".jsonl", ".parquet")

ZIP = b"PK\x03\x04"
#: The first bytes of packed files, and the module and class that unpack them.
_PACKED = {b"\x1f\x8b": ("gzip", "GzipFile"), b"BZh": ("bz2", "BZ2File"), b"\xfd7zXZ\0": ("lzma", "LZMAFile")}
#: A file in every spreadsheet of either kind, and in no other zip.
_SHEETS = {"xl/workbook.xml", "META-INF/manifest.xml"}
_PACKED_NAMES = (".gz", ".bz2", ".xz")
#: The position of the magic number in a tar.
_TAR, _TAR_AT = b"ustar", 257


@dataclass(frozen=True)
class InMemoryFile:
    """A file that is in memory already, or a folder: its files by their names in it."""

    name: str
    content: bytes | Mapping[str, bytes] = field(repr=False)
    #: Called from time to time with the number of bytes read since the last call; each byte is read about twice.
    on_progress: Callable[[int], None] | None = field(default=None, repr=False)
    #: The most bytes of its unpacked content.
    most_unpacked: int = field(default=_MOST_UNPACKED, repr=False)

    def __str__(self) -> str:
        return self.name

    def document(self, name: str, content: bytes, among_others: bool = False) -> Document:
        on_progress = self.on_progress
        opener = (
            (lambda: io.BytesIO(content)) if on_progress is None else (lambda: _ProgressReader(content, on_progress))
        )
        return Document(name, opener, among_others=among_others, on_progress=on_progress)


#: The source of a history: a path, ``"-"`` for standard input, or a file in memory.
Source: TypeAlias = "str | os.PathLike[str] | InMemoryFile"


class _ProgressReader(io.BytesIO):
    """A file that reports how many bytes are read."""

    def __init__(self, content: bytes, on_progress: Callable[[int], None]) -> None:
        super().__init__(content)
        self._told = on_progress

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(size)
        self._told(len(content))
        return content

    def read1(self, size: int | None = -1, /) -> bytes:
        return self.read(size)


@dataclass(frozen=True)
class Document:
    """A file, wherever it is."""

    name: str
    open: Callable[[], BinaryIO]
    #: Its path on disk, if it is neither packed nor from standard input.
    path: Path | None = None
    #: Whether it is one of several files: in a folder, in a zip, or in a list that the person gave.
    among_others: bool = False
    #: Whether the person gave a list, and which item of the list it belongs to.
    is_given: bool = False
    source: str = ""
    #: Called with the number of bytes parsed since the last call.
    on_progress: Callable[[int], None] | None = None

    @cached_property
    def head(self) -> bytes:
        with self.open() as file:
            return file.read(_HEAD)

    @cached_property
    def beginning(self) -> bytes:
        """The first text in the document, in UTF-8."""
        head = self.head.decode("utf-16", "ignore").encode() if self.is_utf16 else self.head
        return head.removeprefix(codecs.BOM_UTF8).lstrip()

    @property
    def is_table(self) -> bool:
        """Whether it has the file name of a table."""
        return _unpacked_name(self.name).endswith(_TABLES)

    @property
    def is_json(self) -> bool:
        return self.beginning[:1] in (b"{", b"[")

    @cached_property
    def encoding(self) -> str:
        return "utf-16" if self.is_utf16 else guess_encoding(self._chunks)

    @property
    def notes(self) -> list[str]:
        """A note if the encoding of the text is a guess."""
        if self.encoding not in GUESSES:
            return []
        guess = f"The file is not UTF-8; it was read as {GUESSES[self.encoding]}."
        return [f"{guess} If names look wrong, save it as UTF-8."]

    @property
    def is_utf16(self) -> bool:
        return self.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))

    @cached_property
    def is_readable(self) -> bool:
        """Whether it has readable content."""
        try:
            with self.named():
                return bool(self.head)
        except TooLarge:
            raise
        except InputError:
            return False

    @contextmanager
    def text(self) -> Iterator[IO[str]]:
        """The document as text. Lines keep their endings, and their length is limited."""
        with self.open() as file, io.TextIOWrapper(file, self.encoding, newline="") as text:
            try:
                yield text
            except UnicodeDecodeError as error:
                raise InputError(f"it is not valid {error.encoding} text") from None

    def json(self) -> Any:
        """The document as a JSON value."""
        with self.open() as file:
            content = file.read()
        if not content:
            raise InputError("it is empty")
        return parse_json(content, self.on_progress)

    def named(self) -> AbstractContextManager[None]:
        """Make errors name the document, unless they name its path anyway."""
        return one_sentence(self.name) if self.among_others else nullcontext()

    def _chunks(self) -> Iterator[bytes]:
        """The document in chunks; the last chunk is empty."""
        length = 0
        with self.open() as file:
            while chunk := file.read(_CHUNK):
                end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
                length = len(chunk) - end + (length if end < 0 else 0)
                if length > _LONGEST_LINE:
                    raise InputError(f"it has a line of more than {_LONGEST_LINE} bytes")
                yield chunk
            yield b""


@contextmanager
def opened(path: Source | Sequence[Source]) -> Iterator[list[Document]]:
    """The documents at one or several paths; errors become one sentence that names the path."""
    if isinstance(path, list | tuple) and len(path) == 1:
        path = path[0]
    if not isinstance(path, list | tuple):
        with one_sentence(path), ExitStack() as stack:
            yield _at(cast(Source, path), stack)
        return
    if not path:
        raise InputError("give at least one file")
    with one_sentence(f"{path[0]} and {len(path) - 1} more"), ExitStack() as stack:
        together: list[Document] = []
        empty: list[Source] = []
        for one in path:
            with one_sentence(one):
                found = _at(one, stack)
            empty += [] if found else [one]
            given = partial(replace, among_others=True, source=str(one))
            together += [given(it, is_given=not it.among_others) for it in found]
        # The zips of one export belong together; some may have only pictures.
        if empty and (not together or any(it.is_given for it in together)):
            with one_sentence(empty[0]):
                raise InputError("it holds nothing that can be read; leave it out")
        yield together


def _at(path: Source, stack: ExitStack) -> list[Document]:
    """The documents at a path, for as long as the stack is open."""
    if path == "-":
        path = InMemoryFile("standard input", _bounded(sys.stdin.buffer))
    if isinstance(path, InMemoryFile):
        return _in_memory(stack, path)
    place = Path(path)
    mode = place.stat().st_mode
    if stat.S_ISDIR(mode):
        return _in_folder(place)
    if stat.S_ISFIFO(mode):
        with place.open("rb") as pipe:
            content = _bounded(pipe)
        return _in_memory(stack, InMemoryFile(str(place), content))
    if not stat.S_ISREG(mode):
        raise InputError("it is neither a file nor a folder")
    document = Document(str(place), lambda: place.open("rb"), place)
    if document.head.startswith(ZIP):
        return _in_zip(stack, document)
    return _inside(document, place.stat().st_size)


@contextmanager
def one_sentence(path: object) -> Iterator[None]:
    """Turn any error of a file into an `InputError` that names it."""
    from lzma import LZMAError
    from tarfile import TarError
    from zipfile import BadZipFile

    name = "standard input" if path == "-" else str(path) if str(path).isprintable() else quote(str(path))
    try:
        yield
    except InputError as error:
        raise type(error)(f"{name}: {error}", error.arguments) from None
    except OSError as error:
        raise InputError(f"{name}: it cannot be read ({one_line(error)})") from None
    except (BadZipFile, LZMAError, TarError, zlib.error, EOFError) as error:
        raise InputError(f"{name}: it is damaged ({one_line(error)})") from None
    except (TypeError, ValueError) as error:
        if isinstance(path, str | os.PathLike | InMemoryFile) and "\0" not in str(path):
            raise
        raise InputError(f"{name}: it is not the name of a file ({one_line(error)})") from None


def _bounded(pipe: BinaryIO) -> bytes:
    """The content of a pipe, whose size is unknown; raise if it is larger than any real history."""
    content = io.BytesIO()
    while chunk := pipe.read(_CHUNK):
        content.write(chunk)
        if content.tell() > _MOST_UNPACKED:
            raise TooLarge(f"it has more than {_MOST_UNPACKED:,} bytes; save it to a file and give the file")
    return content.getvalue()


def _in_memory(stack: ExitStack, held: InMemoryFile) -> list[Document]:
    if not isinstance(held.content, bytes):
        return [
            _unpacked(held.document(name, content, among_others=True), len(content), held.most_unpacked)
            for name, content in sorted(held.content.items())
            if _may_be_history(name)
        ]
    document = held.document(held.name, held.content)
    if document.head.startswith(ZIP):
        return _in_zip(stack, document, held.most_unpacked)
    return _inside(document, len(held.content), held.most_unpacked)


def _may_be_history(name: str) -> bool:
    """Whether one of many files should be opened."""
    return _unpacked_name(name).endswith((*_HISTORIES, *_TABLES))


def _unpacked_name(name: str) -> str:
    """The name of a file after unpacking, in lower case."""
    lowered = name.lower()
    return next((lowered.removesuffix(end) for end in _PACKED_NAMES if lowered.endswith(end)), lowered)


def _inside(document: Document, size: int, most: int = _MOST_UNPACKED) -> list[Document]:
    """The document, or the files in it if it is a tar, packed or not."""
    found = _unpacked(document, size, most)
    return _in_tar(found, most) if found.head[_TAR_AT:].startswith(_TAR) else [found]


def _unpacked(document: Document, size: int, most: int = _MOST_UNPACKED) -> Document:
    """The document itself, or its content if it is packed with gzip, bzip2 or xz."""
    # One of many files is opened only if its name says that it is packed.
    if document.among_others and not document.name.lower().endswith(_PACKED_NAMES):
        return document
    with suppress(OSError, InputError, zlib.error, EOFError) if document.among_others else nullcontext():
        for mark, (module, unpacker) in _PACKED.items():
            if document.head.startswith(mark):
                return replace(document, open=_unpacking(document, module, unpacker, size, most), path=None)
    return document


def _unpacking(document: Document, module: str, unpacker: str, size: int, most: int) -> Callable[[], BinaryIO]:
    def unpack() -> BinaryIO:
        packed = document.open()
        file = getattr(import_module(module), unpacker)
        inner = file(fileobj=packed) if module == "gzip" else file(packed)
        return io.BufferedReader(Unpacked([inner, packed], size, Budget(most)))

    return unpack


def _in_tar(document: Document, most: int) -> list[Document]:
    """The files in a tar. It has no index, so files that may be histories are kept in memory."""
    import tarfile

    held, seen, left = {}, 0, most
    with document.open() as file, tarfile.open(fileobj=file, mode="r|") as archive:
        for member in archive:
            seen += 1
            if seen > _MOST_FILES:
                raise InputError(f"it holds more than {_MOST_FILES} files")
            _check_inside(member.name)
            if not member.isfile() or not _may_be_history(member.name):
                continue
            left -= member.size
            content = archive.extractfile(member)
            if left < 0 or content is None:
                raise TooLarge("it is far too large when unpacked")
            held[member.name] = content.read()
    return _in_memory(ExitStack(), InMemoryFile(document.name, held, document.on_progress, most))


def _in_folder(folder: Path) -> list[Document]:
    documents, seen = [], 0
    for place, _, names in os.walk(folder):
        seen += len(names) + 1
        if seen > _MOST_FILES:
            raise InputError(f"it holds more than {_MOST_FILES} files; give the folder of the export itself")
        for name in names:
            path = Path(place, name)
            if _may_be_history(name) and path.is_file():
                document = Document(str(path.relative_to(folder)), _opener(path), path, among_others=True)
                documents.append(_unpacked(document, path.stat().st_size))
    return sorted(documents, key=lambda it: it.name)


def _opener(path: Path) -> Callable[[], BinaryIO]:
    return lambda: path.open("rb")


def _in_zip(stack: ExitStack, document: Document, most: int = _MOST_UNPACKED) -> list[Document]:
    """The files in a zip, or the zip itself if it is a spreadsheet."""
    from zipfile import ZipFile

    try:
        archive = stack.enter_context(ZipFile(stack.enter_context(document.open())))
    except (NotImplementedError, ValueError) as error:
        raise InputError(f"it is damaged ({one_line(error)})") from None
    members = archive.infolist()
    if len(members) > _MOST_FILES:
        raise InputError(f"it holds more than {_MOST_FILES} files")
    budget = Budget(most)
    for member in members:
        _check_inside(member.filename)
    if not _SHEETS.isdisjoint(archive.namelist()):
        for member in members:  # the library that unpacks it has no limit
            with _member(archive, member, budget)() as inner:
                while inner.read(_CHUNK):
                    pass
        return [document]
    return [
        _unpacked(
            Document(member.filename, _member(archive, member, budget), among_others=True), member.file_size, most
        )
        for member in members
        if _may_be_history(member.filename)
    ]


def _check_inside(name: str) -> None:
    """Raise if the name of a file leads outside its archive."""
    path = PureWindowsPath(name)  # it handles both kinds of slashes, and drives
    if path.anchor or ".." in path.parts:
        raise InputError(f"it has a file named {quote(name)}, which points outside of it")


def _member(archive: ZipFile, member: ZipInfo, budget: Budget) -> Callable[[], BinaryIO]:
    def unpack() -> BinaryIO:
        try:
            return io.BufferedReader(Unpacked([archive.open(member)], member.compress_size, budget))
        except (NotImplementedError, RuntimeError, ValueError) as error:
            raise InputError(f"{quote(member.filename)} in it cannot be unpacked ({one_line(error)})") from None

    return unpack
