"""The private summary of a release: what was asked, what it cost, and how that is proven. It is never part of it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from elsewhere.files import read_bounded
from elsewhere.model.errors import InputError
from elsewhere.model.histogram import Histogram
from elsewhere.model.question import Question
from elsewhere.model.result import Certificate, Sanitized
from elsewhere.text import one_line, quote

_MOST_BYTES = 2**28
_FIGURES = ("goal", "status", "quality_loss", "privacy_distance", "bound", "gap")
PRIVATE = "Private: this tells what the release hides. Do not share it with the release."


def summary(result: Sanitized, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a result, together with what was asked."""
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
        "certificate": None
        if certificate is None
        else {
            "quality_multiplier": certificate.quality_multiplier,
            "size_multiplier": certificate.size_multiplier,
            "bound": certificate.bound,
        },
        "size": {"history": question.history.size, "release": result.histogram.size},
        "length": {"history": int((question.history.counts > 0).sum()), "release": result.histogram.length},
        "sensitive": sensitive,
        "sensitive_visits": question.hidden_visits,
        "notes": list(result.notes),
        "policy": dict(asked),
    }


def read_report(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a report that `summary` made."""
    name = quote(os.fspath(path))
    try:
        content = json.loads(read_bounded(path, _MOST_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the report {name} cannot be read: {one_line(error)}") from None
    if not isinstance(content, dict) or not {*_FIGURES, "certificate", "policy", "notes"} <= content.keys():
        raise InputError(f"{name} is not a report of a release; --report of hide, resemble and avoid writes one")
    return content


def reported(content: Mapping[str, Any], release: Histogram, question: Question) -> Sanitized:
    """The result that a report claims a release to be."""
    figures = {name: _number(content[name]) for name in _FIGURES}
    certificate = content["certificate"]
    if certificate is not None:
        try:
            certificate = Certificate(**{name: _number(value) for name, value in certificate.items()})
        except (AttributeError, TypeError):
            raise InputError(f"the report has the invalid certificate {quote(certificate)}") from None
    return Sanitized(histogram=release, certificate=certificate, notes=(), question=question, **figures)


def _number(value: Any) -> Any:
    """A figure of a report, in which what is infinite is a text."""
    return float(value) if value in ("inf", "-inf", "nan") else value


def as_json(content: Mapping[str, Any]) -> str:
    """The content as JSON that any reader takes: what is infinite becomes a text."""
    return json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
