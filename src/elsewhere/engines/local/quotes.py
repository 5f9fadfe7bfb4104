"""Check in one pass over the bytes that the quotes in a text table are valid for Python's csv module.

Arrow reads such tables fast, but it accepts a value that continues after its closing quote, and a quote that is never
closed. The latter would swallow all rows after it.
"""

from __future__ import annotations

import codecs
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from elsewhere.kernels.jit import kernel
from elsewhere.model.errors import InputError
from elsewhere.text import quote

_CHUNK = 1 << 22
_BEGIN, _PLAIN, _QUOTED, _CLOSED, _WRONG = range(5)
_QUOTE, _LINE, _RETURN = b'"\n\r'


def check_quotes(stream: IO[bytes], delimiter: str, shown: str) -> int:
    """Raise if a quote is not closed, or a value continues after its closing quote; return the number of bytes."""
    state, lines, size = _BEGIN, 0, 0
    chunk = stream.read(_CHUNK).removeprefix(codecs.BOM_UTF8)
    while chunk:
        size += len(chunk)
        if state in (_QUOTED, _CLOSED) or b'"' in chunk:
            state, new = _walk(np.frombuffer(chunk, np.uint8).copy(), ord(delimiter), state)
            lines += new
        else:
            lines += chunk.count(b"\n")
            state = _BEGIN if chunk[-1] in (ord(delimiter), _LINE, _RETURN) else _PLAIN
        if state == _WRONG:
            raise InputError(f"{quote(shown)}, line {lines + 1}: a value continues after its closing quote")
        chunk = stream.read(_CHUNK)
    if state == _QUOTED:
        raise InputError(f"{quote(shown)}: a quote is not closed, so the rest of the file is one value")
    return size


@kernel
def _walk(content: NDArray[Any], delimiter: int, state: int) -> tuple[int, int]:
    """The state after some bytes, and the number of lines; it stops at the first invalid byte."""
    lines = 0
    for byte in content:
        if byte == _LINE:
            lines += 1
        if state == _QUOTED:
            if byte == _QUOTE:
                state = _CLOSED
        elif state == _CLOSED and byte == _QUOTE:
            state = _QUOTED
        elif byte in (delimiter, _LINE, _RETURN):
            state = _BEGIN
        elif state == _CLOSED:
            return _WRONG, lines
        elif state == _BEGIN and byte == _QUOTE:
            state = _QUOTED
        else:
            state = _PLAIN
    return state, lines
