"""Guess the encoding of a text: UTF-8 if possible, otherwise the older encodings of Japan or the west."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable

#: The names of the guessed encodings, in the order in which they are tried. The last one fits all bytes.
GUESSES = {"cp932": "Shift-JIS", "euc_jp": "EUC-JP", "cp1252": "Windows-1252", "latin-1": "Latin-1"}
_JAPANESE = ("cp932", "euc_jp")

_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
#: Kana, kanji and full-width forms. Text that is not Japanese seldom looks like this: an accented letter and the next
#: one become a single kanji among letters, and most others become half-width kana, which are rare in Japanese text.
_KANA_OR_KANJI = "[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff60]"
_LIKELY = re.compile(f"{_KANA_OR_KANJI}{{2,}}|(?<![A-Za-z]){_KANA_OR_KANJI}(?![A-Za-z])")
_LIKELY_SHARE = 0.75


def guess_encoding(chunks: Callable[[], Iterable[bytes]]) -> str:
    """The first encoding in which the bytes are text; `chunks` yields them from the start, and an empty chunk last."""
    return next(name for name in ("utf-8-sig", *GUESSES) if _fits(name, chunks()))


def _fits(encoding: str, chunks: Iterable[bytes]) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    non_ascii = likely = 0
    try:
        for chunk in chunks:
            text = decoder.decode(chunk, final=not chunk)
            if encoding in _JAPANESE:
                non_ascii += sum(map(len, _NON_ASCII.findall(text)))
                likely += sum(map(len, _LIKELY.findall(text)))
    except UnicodeDecodeError:
        return False
    return likely >= _LIKELY_SHARE * non_ascii
