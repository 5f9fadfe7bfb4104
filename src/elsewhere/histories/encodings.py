"""Which encoding a text is in, if nothing says so: UTF-8 if it can be, otherwise what Japan or the west used before."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable

#: What people call the encodings that are guesses, in the order in which they are tried. The last one fits all bytes.
GUESSES = {"cp932": "Shift-JIS", "euc_jp": "EUC-JP", "cp1252": "Windows-1252", "latin-1": "Latin-1"}
_JAPANESE = ("cp932", "euc_jp")

_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
#: Kana, kanji and full-width forms. Text that is not Japanese seldom looks like them: an accented letter and the one
#: after it become a lone kanji among letters, and most of the rest half-width kana, which Japanese text has few of.
_KANA_OR_KANJI = "[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff60]"
_LIKELY = re.compile(f"{_KANA_OR_KANJI}{{2,}}|(?<![A-Za-z]){_KANA_OR_KANJI}(?![A-Za-z])")
_LIKELY_SHARE = 0.75


def guess_encoding(chunks: Callable[[], Iterable[bytes]]) -> str:
    """The first encoding in which the bytes are text; `chunks` gives them from their start, and an empty one last."""
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
