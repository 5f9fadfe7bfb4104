"""The private summary of a release: the question, the figures and their proof. It is never part of the release."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from elsewhere.files import read_bounded
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.question import Question, as_float
from elsewhere.model.result import Certificate, Sanitized
from elsewhere.text import one_line, quote

_MOST_BYTES = 2**28
_FIGURES = ("goal", "status", "quality_loss", "privacy_distance", "bound", "gap")
PRIVATE = "Private: this tells what the release hides. Do not share it with the release."


def summary(result: Sanitized, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a result, together with the question."""
    question, certificate = result.question, result.certificate
    sensitive = sorted({location for locations in question.covered.values() for location in locations})
    return {
        "private": PRIVATE,
        "goal": result.goal,
        "status": result.status,
        "quality_loss": result.quality_loss,
        "privacy_distance": result.privacy_distance,
        "bound": result.bound,
        "gap": result.gap,
        "regret": result.regret,
        "certificate": None
        if certificate is None
        else {
            "quality_multiplier": certificate.quality_multiplier,
            "size_multiplier": certificate.size_multiplier,
            "bound": certificate.bound,
        },
        "size": {"history": question.history.size, "release": result.histogram.size},
        "length": {"history": int((question.history.counts > 0).sum()), "release": result.histogram.length},
        **({"added": result.added} if question.size == "free" else {}),
        "sensitive": sensitive,
        "sensitive_visits": question.hidden_visits,
        "notes": list(result.notes),
        "guesses": [guess.as_dict() for guess in result.guesses],
        "policy": dict(asked),
    }


def read_report(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a report that `summary` made."""
    name = quote(os.fspath(path))
    try:
        content = json.loads(read_bounded(path, _MOST_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the report {name} cannot be read: {one_line(error)}") from None
    if (
        not isinstance(content, dict)
        or not {*_FIGURES, "certificate", "policy", "notes"} <= content.keys()
        or not isinstance(content["policy"], dict)
    ):
        raise InputError(f"{name} is not a report of a release; --report of hide, resemble and avoid writes one")
    return content


def reported(content: Mapping[str, Any], release: Histogram, question: Question) -> Sanitized:
    """The result that a report claims a release to be."""
    figures = {name: _number(name, content[name]) for name in _FIGURES[2:]}
    certificate = content["certificate"]
    if certificate is not None:
        names = ("quality_multiplier", "size_multiplier", "bound")
        if not isinstance(certificate, dict) or {*certificate} != {*names}:
            raise InputError(f"the report's certificate is {quote(certificate)}")
        certificate = Certificate(*(_number(name, certificate[name]) for name in names))
    claimed = {"goal": content["goal"], "status": content["status"], "certificate": certificate, **figures}
    return Sanitized(histogram=release, notes=(), question=question, **claimed)


def _number(name: str, value: Any) -> Any:
    """A figure of a report; infinite numbers are texts there."""
    if value is None and name == "privacy_distance":
        return None
    number = float(value) if value in ("inf", "-inf") else as_float(value)
    if math.isnan(number):
        raise InputError(f"the report's {name} is {quote(value)}; it must be a number")
    return number


def as_json(content: Mapping[str, Any]) -> str:
    """The content as standard JSON; infinite numbers become texts."""
    return json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
