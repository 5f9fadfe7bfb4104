"""Parse requests: the query, the body and the question."""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.requests import Request

from elsewhere.app.interface import READING
from elsewhere.app.session import too_large
from elsewhere.model.errors import InputError
from elsewhere.text import quote

#: The most bytes of a question.
MOST_QUESTION = 2**22


def query(request: Request, name: str) -> str:
    value = request.query_params.get(name)
    if not value:
        raise InputError(f"the query has no {name}")
    return value


def reading_options(request: Request) -> dict[str, str]:
    """The reading options in a query; an empty option counts as missing."""
    return {name: value for name, value in request.query_params.items() if name in READING and value}


async def question_in(request: Request) -> dict[str, Any]:
    question = await json_in(request, "the question")
    if type(question.get("number")) is not int:
        raise InputError(f"the question is {quote(question)}; it must be an object whose number is a whole number")
    return question


async def json_in(request: Request, what: str) -> dict[str, Any]:
    content = await body(request, MOST_QUESTION)
    try:
        value = json.loads(content, parse_constant=_number, parse_float=_number)
    except (ValueError, RecursionError):
        raise InputError(f"{what} is not valid JSON") from None
    if not isinstance(value, dict):
        raise InputError(f"{what} is {quote(value)}; it must be an object")
    return value


def _number(text: str) -> float:
    """A finite number, because JSON has no infinity."""
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


async def body(request: Request, most: int) -> bytes:
    """The body in memory; raise if it is too large."""
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= most:
            chunks.append(chunk)
        else:
            chunks.clear()  # read and drop the rest: a browser that is cut off does not show the reason
    if size > most:
        raise too_large(most)
    return b"".join(chunks)
