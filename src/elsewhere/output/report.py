"""The private summary of a release: what was asked, what it cost, and how that is proven. It is never part of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from elsewhere.model.result import Sanitized

PRIVATE = "Private: this tells what the release hides. Do not give it away with the release."


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


def as_json(content: Mapping[str, Any]) -> str:
    """The content as JSON that any reader takes: what is infinite becomes a text."""
    return json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
