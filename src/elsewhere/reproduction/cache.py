"""What finished experiments found, kept in the report's folder so that a run that was ended goes on from there."""

from __future__ import annotations

import hashlib
import inspect
import json
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from elsewhere import __version__
from elsewhere.files import write_whole
from elsewhere.reproduction.experiment import Study
from elsewhere.reproduction.rows import Rows


class Outcome(NamedTuple):
    """The rows of an experiment, or a sentence on why there are none."""

    rows: Rows
    refused: str = ""


class Cache:
    """A file an experiment, which says what it was made from."""

    def __init__(self, folder: Path, study: Study, digest: str) -> None:
        self._folder = folder
        self._made_from = {
            "version": __version__,
            "data": digest,
            "seed": study.seed,
            "scale": repr(study.scale),
        }

    def get(self, name: str, module: ModuleType) -> Outcome | str:
        """What the experiment found, or what has changed since; an empty word if it never ended."""
        try:
            kept = json.loads(self._path(name).read_text(encoding="utf-8"))
            before, outcome = kept["made from"], Outcome(Rows(kept["rows"]), kept["refused"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        now = self._stamp(module)
        changed = [key for key, value in now.items() if before.get(key) != value]
        return " and ".join(changed) if changed else outcome

    def put(self, name: str, module: ModuleType, outcome: Outcome) -> None:
        """Keep what was found."""
        kept = {"made from": self._stamp(module), "rows": outcome.rows, "refused": outcome.refused}
        self._folder.mkdir(exist_ok=True)
        write_whole(self._path(name), json.dumps(kept).encode(), private=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _stamp(self, module: ModuleType) -> dict[str, object]:
        # The experiment's own file is looked at too, for whoever is writing one.
        return {**self._made_from, "experiment": hashlib.sha256(inspect.getsource(module).encode()).hexdigest()}
