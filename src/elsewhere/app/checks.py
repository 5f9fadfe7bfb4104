"""Verify a file on the page: is it a release that meets what is asked of the history?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsewhere.app.queries import plainly, resolve
from elsewhere.app.session import OpenHistory, Refused, Session
from elsewhere.text import as_sentence, quote
from elsewhere.verification.verify import check_release


def check_file(session: Session, opened: OpenHistory, question: Mapping[str, Any], release: str) -> dict[str, Any]:
    """What is wrong with a file that was loaded as a release, by what is asked now; no solver takes part."""
    table = session.releases.ask(release)
    asked = resolve(session, opened, question).question
    if asked.goal == "hide" and not asked.covered.locations:
        raise Refused(400, "nothing is ticked, so there is nothing to verify", "Tick what the file must not show.")
    check = check_release(asked, table.content.histogram)
    problems = [*table.content.problems, *check.problems]
    if problems:
        return {
            "ok": False,
            "sentences": [f"{quote(table.name)} does not meet what you chose.", *map(as_sentence, problems)],
        }
    met = f"{quote(table.name)} meets everything that you chose and holds nothing else."
    return {"ok": True, "sentences": [met, plainly(asked.history, table.content.histogram)]}
