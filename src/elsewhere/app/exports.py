"""The files that a person can save: the release, the private report, and the commands to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from elsewhere.app.interface import TAKEN
from elsewhere.app.queries import resolve, sanitized
from elsewhere.app.session import OpenHistory, Refused, Session
from elsewhere.model.errors import InputError
from elsewhere.model.result import Sanitized
from elsewhere.output.report import as_json, summary
from elsewhere.policy import SHIPPED, Policy
from elsewhere.release_files import encode
from elsewhere.text import quote

_RELEASE = "release.csv"
#: The command-line options whose names differ from the policy's keys.
_OPTIONS = {"spared": "spare", "kinds": "kind", "candidates": "candidate", "lower": "since"}


def take(
    session: Session, opened: OpenHistory, question: Mapping[str, Any], what: str, allow_unchanged: bool = False
) -> bytes:
    """The content of a file, equal to what the command line writes.

    A release that equals the history needs `allow_unchanged`.
    """
    if what not in TAKEN:
        raise InputError(f"what is {quote(what)}; it must be one of {', '.join(TAKEN)}")
    asked = resolve(session, opened, question)
    if asked.policy.goal == "hide" and not asked.question.covered.locations:
        raise Refused(400, "nothing is ticked, so the release would equal your history", "Tick what to hide.")
    result = sanitized(opened, asked)
    if what not in _FILES and result.unchanged and not allow_unchanged:
        raise Refused(400, "nothing was hidden; the release would equal your history", "Confirm that you want it.")
    policy = asked.policy
    # An optimal release, or a drawn one of hide, does not depend on the time limit, so leave it out.
    if result.status == "optimal" or (policy.goal == "hide" and policy.method == "drawn"):
        policy = replace(policy, time_limit=None)
    return _FILES[what](opened, policy, result) if what in _FILES else encode(what, result.histogram.items())


def _files_of(opened: OpenHistory, policy: Policy) -> list[str]:
    """The names of the files that a command reads; raise if one name stands for two files."""
    taxonomy = None if policy.taxonomy == SHIPPED else policy.taxonomy
    given = (opened.name, opened.labels, policy.target, taxonomy, policy.lower)
    names = [name for name in given if isinstance(name, str)]
    for name in names:
        if names.count(name) > 1:
            sentence = f"two of your files are called {quote(name)}, so a command cannot tell them apart"
            raise Refused(400, sentence, "Rename one of them and load it again.")
    return names


def _release_beside(opened: OpenHistory, policy: Policy) -> str:
    """The name of the release in a command: it must not overwrite an input file."""
    taken, name = _files_of(opened, policy), _RELEASE
    while name in taken:
        name = f"new-{name}"
    return name


def _policy(opened: OpenHistory, policy: Policy, result: Sanitized) -> bytes:
    return policy.as_toml().encode()


def _report(opened: OpenHistory, policy: Policy, result: Sanitized) -> bytes:
    return as_json(summary(result, policy.chosen())).encode()


def _command(opened: OpenHistory, policy: Policy, result: Sanitized) -> bytes:
    words = ["elsewhere", policy.goal, opened.name, *_options(opened, policy), "-o", _release_beside(opened, policy)]
    if result.unchanged:
        words.append("--allow-unchanged")
    return (shlex.join(words) + "\n").encode()


def _options(opened: OpenHistory, policy: Policy) -> Iterator[str]:
    for name, value in {**_reading(opened), **policy.chosen()}.items():
        option = "--" + _OPTIONS.get(name, name).replace("_", "-")
        if name == "goal":
            continue
        if value is True:
            yield option
        elif isinstance(value, Mapping):
            for place, kind in value.items():
                yield from (option, f"{place}={kind}")
        else:
            for item in value if isinstance(value, list) else [value]:
                yield from (option, str(item))


def _script(opened: OpenHistory, policy: Policy, result: Sanitized) -> bytes:
    reading = "".join(f", {name}={value!r}" for name, value in _reading(opened).items())
    choices = "".join(
        f"    {name}={tuple(value) if isinstance(value, list) else value!r},\n"
        for name, value in policy.chosen().items()
    )
    saving = repr(_release_beside(opened, policy)) + (", allow_unchanged=True" if result.unchanged else "")
    return _SCRIPT.format(history=opened.name, reading=reading, choices=choices, saving=saving).encode()


_SCRIPT = """\
import elsewhere as ew

history = ew.read({history!r}{reading})
policy = ew.Policy(
{choices})
result = policy.plan().sanitize(history)
result.save({saving})
"""


def _reading(opened: OpenHistory) -> dict[str, str]:
    return dict(opened.reading) if opened.labels is None else {**opened.reading, "labels": opened.labels}


_FILES: dict[str, Callable[[OpenHistory, Policy, Sanitized], bytes]] = {
    "policy.toml": _policy,
    "report.json": _report,
    "command.sh": _command,
    "script.py": _script,
}
