"""The words of a name, in a form that does not depend on case, accents, plural or the shape of letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from elsewhere.model.names import name_key

#: Letters and digits, with the vowel marks of the scripts of India and South-East Asia.
_WORD = re.compile(r"[\w\u0900-\u0dff\u0e31-\u0e4e\u0eb1-\u0ece\u1000-\u109f\u1780-\u17d3]+")
#: Optional marks: accents, the points of Hebrew and Arabic, and the Arabic tatweel.
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0640\u064b-\u065f\u0670]")
#: Letters that may have marks or be written in several ways: Latin, Greek, Cyrillic, Hebrew, Arabic.
_FOLDABLE = re.compile("[\u00c0-\u06ff\u1e00-\u1fff]")
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_INITIALS = re.compile(r"\b(?:(?:[^\W\d_]\.){2,}(?:[^\W\d_]\b)?|[^\W\d_]\.[^\W\d_](?=[\s\d]|$))")
#: The letters that Arabic and the Nordic languages write in more than one way.
_LETTERS = str.maketrans({
    "\u0623": "\u0627", "\u0625": "\u0627", "\u0622": "\u0627", "\u0649": "\u064a", "\u0629": "\u0647",
    "\u00f8": "o", "\u00e6": "ae", "\u0153": "oe", "\u0142": "l", "\u0111": "d", "\u0131": "i", "\u00f0": "d",
})  # fmt: skip
_IN_SEVERAL_WAYS = re.compile(f"[{''.join(map(chr, _LETTERS))}]")
#: Scripts without blanks between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese; in Korean blanks are optional.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]+)"
)
#: The Arabic article, which is joined to its noun.
_ARTICLE = "\u0627\u0644"
_ALEF = _ARTICLE[0]


def folded(key: str) -> str:
    """The key of a name without marks, with one form for letters that have several."""
    text = key
    if not text.isascii() and _FOLDABLE.search(text):
        text = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text)))
        if _IN_SEVERAL_WAYS.search(text):  # most texts have none, and searching is cheaper than translating
            text = text.translate(_LETTERS)
    if "'" in text or "\u2019" in text:
        text = _POSSESSIVE.sub("s", text)
    if "." in text:
        text = _INITIALS.sub(lambda initials: initials[0].replace(".", ""), text)
    return text


def plain_words(text: str) -> list[str]:
    """The words of a folded text."""
    if text.replace(" ", "").isalnum():  # most names
        return text.split()
    return _WORD.findall(text.replace("_", " "))


def words(name: str) -> list[str]:
    """The words of a name without case, accents and plural.

    >>> words("St. Mary's Chapels"), words("D.D.S. Müller")
    (['st', 'mary', 'chapel'], ['dds', 'muller'])
    """
    return bases(plain_words(folded(name_key(name))))


def by_script(word: str) -> list[str]:
    """Split a word where a script without blanks begins or ends.

    >>> by_script("abc中央病院"), by_script("café")
    (['abc', '中央病院'], ['café'])
    """
    return [part for part in _UNSPACED.split(word) if part]


def has_unspaced(text: str) -> bool:
    """Whether a text has letters of a script without blanks."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def is_unspaced(word: str) -> bool:
    """Whether a word is in a script without blanks."""
    return not word.isascii() and bool(_UNSPACED.fullmatch(word))


def bases(words: Iterable[str]) -> list[str]:
    """The words without their plurals' endings and Arabic articles."""
    return [base(word) if word[-1] == "s" or word[0] == _ALEF else word for word in words]


def base(word: str) -> str:
    """A word without its plural's ending, or without the Arabic article."""
    if word[-1] == "s":
        return _singular(word)
    if word.startswith(_ARTICLE) and len(word) > 4:
        return word[2:]
    return word


def _singular(word: str) -> str:
    if len(word) <= 3 or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes")) else word[:-1]
