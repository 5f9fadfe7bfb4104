"""Secret keys, and the random numbers derived from them: the same on every machine, and unknown without the key.

A key has 32 random bytes. It comes from an argument, the environment, or a private file. Your default key file is
created on first use; a file that you name must exist.

Numbers are HMAC-SHA256 of the key, their purpose, and a counter. NumPy's generators are not used, because their numbers
may change between versions.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from elsewhere.files import read_bounded, write_atomic
from elsewhere.model.arrays import Ints
from elsewhere.model.errors import InputError
from elsewhere.text import one_line, printable, quote

#: Environment variables: the key as hexadecimal or base64 text, and the key file.
VARIABLE = "ELSEWHERE_KEY"
FILE_VARIABLE = "ELSEWHERE_KEY_FILE"
#: A shorter key could be guessed.
SHORTEST = 16

_BYTES = 32
_MOST_BYTES = 4096
_WORDS_IN_BLOCK = 4


class Key:
    """A secret for random draws. Neither its text form nor its messages show it."""

    __slots__ = ("_secret", "made")

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or not secret:
            raise InputError("key must be a Key, or bytes that are not empty", ("key",))
        self._secret = secret
        #: The file of your own key, if it was just created.
        self.made: Path | None = None

    @classmethod
    def new(cls) -> Key:
        """Return a new random key."""
        return cls(secrets.token_bytes(_BYTES))

    @classmethod
    def own(cls) -> Key:
        """Return your key: from the environment, or from your private file, which is created on first use."""
        if text := os.environ.get(VARIABLE):
            return cls(_decoded(text, f"the environment variable {VARIABLE}"))
        file = key_file()
        is_new = not file.exists() and _make(file)
        key = cls.at(file)
        key.made = file if is_new else None
        return key

    @classmethod
    def make(cls, path: str | os.PathLike[str]) -> Key:
        """Write a new key to a file at `path` that only you can read. An existing file is an error."""
        if os.fspath(path) in ("", "-"):
            raise InputError(f"{quote(os.fspath(path))} is not a file; name a new file for the key")
        file = Path(path)
        if file.exists() or not _make(file):
            raise InputError(f"{quote(str(file))} exists already; name a new file for the key")
        return cls.at(file)

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> Key:
        """Return the key in the file at `path`."""
        file = Path(path)
        if not file.exists():
            raise InputError(
                f"the key file {quote(str(file))} does not exist; make one with: elsewhere key {shlex.quote(str(file))}"
            )
        try:
            content = read_bounded(file, _MOST_BYTES).decode("ascii")
        except OSError as error:
            raise InputError(f"the key file {quote(str(file))} cannot be read: {one_line(error)}") from None
        except ValueError:  # its message may contain part of the key
            content = ""
        return cls(_decoded(content, f"the key file {quote(str(file))}"))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the key, as clauses."""
        notes = []
        if self.made is not None:
            why = "without it nobody, not even you, can make the same release again"
            notes.append(f"made your secret key in {printable(str(self.made))}; keep this file: {why}")
        if len(self._secret) < SHORTEST:
            notes.append(f"warning: the key has fewer than {SHORTEST} bytes and may be guessed")
        return tuple(notes)

    def derived(self, *parts: str) -> Key:
        """Return another key, derived from this one and `parts`, such as the name of a user."""
        return Key(hmac.digest(self._secret, canonical("key", *parts), "sha256"))

    def fingerprint(self) -> str:
        """Return a text that is the same for equal keys and reveals nothing about them."""
        return self.derived("fingerprint")._secret.hex()

    def numbers(self, *parts: str | int) -> Numbers:
        """Return the random numbers for a purpose that `parts` name."""
        return Numbers(hmac.digest(self._secret, canonical("numbers", *parts), "sha256"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and hmac.compare_digest(self._secret, other._secret)

    def __hash__(self) -> int:
        return hash(hashlib.sha256(self._secret).digest())

    def __repr__(self) -> str:
        return "Key(...)"


KeyLike: TypeAlias = Key | bytes


def as_key(given: Any) -> Key:
    """Convert any accepted form of a key."""
    return given if isinstance(given, Key) else Key(given)


class Numbers:
    """An endless sequence of random numbers. It does not depend on how many are taken at a time."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._block = 0
        self._left = np.zeros(0, np.uint64)

    def words(self, number: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """Return the next numbers from 0 to 2**64 - 1."""
        blocks = max(0, -(-(number - len(self._left)) // _WORDS_IN_BLOCK))
        counters = range(self._block, self._block + blocks)
        digests = b"".join(hmac.digest(self._seed, at.to_bytes(8, "big"), "sha256") for at in counters)
        self._block += blocks
        known = np.concatenate([self._left, np.frombuffer(digests, ">u8").astype(np.uint64)])
        self._left = known[number:]
        return known[:number]

    def below(self, limit: int, number: int) -> Ints:
        """Return the next whole numbers from 0 to `limit` - 1, all equally likely; `limit` is at most 2**62."""
        # Reject words beyond the last multiple of the limit: they would make small numbers more likely.
        most = np.uint64(2**64 - 2**64 % limit - 1)
        found: list[Ints] = []
        missing = number
        while missing:
            words = self.words(missing)
            accepted = words[words <= most]
            found.append((accepted % np.uint64(limit)).astype(np.int64))
            missing -= len(accepted)
        return np.concatenate([np.zeros(0, np.int64), *found])

    def large_below(self, limit: int) -> int:
        """Return the next whole number from 0 to `limit` - 1, whatever the limit."""
        bits = limit.bit_length()
        words = -(-bits // 64)
        while True:
            number = int.from_bytes(self.words(words).astype(">u8").tobytes(), "big") >> (64 * words - bits)
            if number < limit:
                return number


def canonical(*parts: str | int) -> bytes:
    """A unique encoding of the parts as bytes."""
    texts = [str(part).encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(text).to_bytes(8, "big") + text for text in texts)


def key_file() -> Path:
    """Return where your key is: ``$ELSEWHERE_KEY_FILE``, or a file among your settings."""
    if chosen := os.environ.get(FILE_VARIABLE):
        return Path(chosen)
    import click

    return Path(click.get_app_dir("elsewhere")) / "key"


def _make(file: Path) -> bool:
    """Write a new key to a new file; return False if another process has created the file first."""
    whole = file.with_name(f".{file.name}-{secrets.token_hex(8)}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(whole, f"{secrets.token_hex(_BYTES)}\n".encode(), private=True)
        return _name(whole, file)
    except (OSError, InputError) as error:
        raise InputError(f"the key file {quote(str(file))} cannot be made: {one_line(error)}") from None
    finally:
        whole.unlink(missing_ok=True)


def _name(whole: Path, file: Path) -> bool:
    """Give a complete file its final name, unless that exists by now."""
    try:
        os.link(whole, file)
    except FileExistsError:
        return False
    except OSError:  # not every file system has links
        whole.replace(file)
    return True


def _decoded(text: str, where: str) -> bytes:
    """The bytes of a key; a message never quotes the text."""
    text = "".join(text.split())
    with suppress(ValueError):
        secret = bytes.fromhex(text)
        if len(secret) >= SHORTEST:
            return secret
    with suppress(ValueError):
        secret = base64.b64decode(text, validate=True)
        if len(secret) >= SHORTEST:
            return secret
    raise InputError(f"{where} has no key: it must be at least {SHORTEST} bytes, as hexadecimal or base64 text")
