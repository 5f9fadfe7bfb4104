"""The results of finished experiments, kept in the report's folder so that an interrupted run can resume."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from elsewhere import __version__
from elsewhere.files import write_atomic
from elsewhere.reproduction.experiment import Study
from elsewhere.reproduction.rows import Rows


class Outcome(NamedTuple):
    """The rows of an experiment, or a sentence that says why there are none, and the processor time in seconds."""

    rows: Rows
    refused: str = ""
    seconds: float = 0.0


class Cache:
    """One file per experiment, which records the data, seed, scale and code that it was made from."""

    def __init__(self, folder: Path, study: Study, digest: str) -> None:
        self._folder = folder
        self._made_from = {
            "version": __version__,
            "data": digest,
            "seed": study.seed,
            "scale": repr(study.scale),
            "code": _code(),
        }

    def get(self, name: str) -> Outcome | str:
        """The experiment's outcome, or what has changed since, in words; an empty string if it never finished."""
        try:
            kept = json.loads(self._path(name).read_text(encoding="utf-8"))
            outcome = Outcome(Rows(kept["rows"]), kept["refused"], kept["seconds"])
            changed = [key for key, value in self._made_from.items() if kept["made from"].get(key) != value]
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return ""
        return " and ".join(changed) if changed else outcome

    def put(self, name: str, outcome: Outcome) -> None:
        """Store an outcome."""
        kept = {"made from": self._made_from, **outcome._asdict()}
        self._folder.mkdir(exist_ok=True)
        write_atomic(self._path(name), json.dumps(kept).encode(), private=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def _code() -> str:
    """A digest of the code of all experiments, so that a change of any of it is noticed."""
    content = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        content.update(file.read_bytes())
    return content.hexdigest()
