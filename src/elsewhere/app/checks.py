"""Verify a file on the page: is it a release of the history that satisfies the question?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsewhere.app.queries import plainly, resolve
from elsewhere.app.session import OpenHistory, Refused, Session
from elsewhere.text import as_sentence, quote
from elsewhere.verification.verify import check_release


def check_file(session: Session, opened: OpenHistory, question: Mapping[str, Any], release: str) -> dict[str, Any]:
    """Check a file that was loaded as a release against the current question, without any solver."""
    table = session.releases.ask(release)
    asked = resolve(session, opened, question).question
    if asked.goal == "hide" and not asked.covered.locations:
        raise Refused(400, "nothing is ticked, so there is nothing to verify", "Tick what the file must not show.")
    check = check_release(asked, table.content.histogram)
    problems = [*table.content.problems, *check.problems]
    if problems:
        name = quote(table.name)
        told = f"{name} does not meet what you chose."
        if not check.problems:  # an editor may have saved it again
            told = f"The counts in {name} meet what you chose, but the file is not as a release should be."
        return {"ok": False, "sentences": [told, *map(as_sentence, problems)]}
    met = f"{quote(table.name)} meets everything that you chose and holds nothing else."
    return {"ok": True, "sentences": [met, plainly(asked.history, table.content.histogram)]}
