"""What finished experiments found, kept in the report's folder so that a run that was ended goes on from there."""

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
    """The rows of an experiment, or a sentence on why there are none, and the seconds of the processor they took."""

    rows: Rows
    refused: str = ""
    seconds: float = 0.0


class Cache:
    """A file an experiment, which says what it was made from."""

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
        """What the experiment found, or what has changed since; an empty word if it never ended."""
        try:
            kept = json.loads(self._path(name).read_text(encoding="utf-8"))
            outcome = Outcome(Rows(kept["rows"]), kept["refused"], kept["seconds"])
            changed = [key for key, value in self._made_from.items() if kept["made from"].get(key) != value]
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return ""
        return " and ".join(changed) if changed else outcome

    def put(self, name: str, outcome: Outcome) -> None:
        """Keep what was found."""
        kept = {"made from": self._made_from, **outcome._asdict()}
        self._folder.mkdir(exist_ok=True)
        write_atomic(self._path(name), json.dumps(kept).encode(), private=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def _code() -> str:
    """Tells the experiments from what they were before somebody changed one, or what they share."""
    content = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        content.update(file.read_bytes())
    return content.hexdigest()
