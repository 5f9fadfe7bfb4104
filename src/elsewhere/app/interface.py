"""The interface between the page and its server, as JSON schemas.

All addresses are relative to the one that the program opens:

    GET    api/start                                            START
    POST   api/samples/ID                                       LINE, each on a line of its own, the last a history
    POST   api/histories?name=NAME        a file                LINE
    POST   api/folders?name=NAME                                FOLDER
    DELETE api/folders/ID                                       NOTHING
    POST   api/folders/ID/files?name=PATH a file                FOLDER
    POST   api/folders/ID/read                                  LINE
    POST   api/histories/ID/labels        a table id,label      LINE
    GET    api/histories/ID                                     HISTORY
    DELETE api/histories/ID                                     NOTHING
    GET    api/histories/ID/look                                LOOK
    GET    api/histories/ID/map                                 MAP
    GET    api/land?west=W&south=S&east=E&north=N               LAND
    POST   api/histories/ID/keep                                NOTHING
    POST   api/histories/ID/tree          GROUND                TREE
    POST   api/histories/ID/release       QUESTION              ANSWER
    POST   api/histories/ID/frontier      QUESTION              POINTS, each on a line of its own, the last a frontier
    POST   api/histories/ID/stop          STOP                  NOTHING; the frontier ends with the points that it has
    POST   api/histories/ID/take?what=... QUESTION              one of the files in TAKEN; a release that equals the
                                                                history only with &allow_unchanged=1
    POST   api/histories/ID/policy?name=NAME&target=ID&taxonomy=ID&lower=ID  a policy  POLICY
    POST   api/targets?name=NAME          a table or profile    TABLE
    POST   api/taxonomies?name=NAME       a taxonomy            TABLE
    POST   api/releases?name=NAME         an earlier release    TABLE
    POST   api/histories/ID/verify?release=ID  QUESTION         CHECKED
    GET    api/kinds?taxonomy=ID                                KINDS
    GET    api/compiling                                        COMPILING

Reading options (READING) are part of the query. A refused request gets a status of 400 or more and ERROR. Infinite
numbers are null.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

#: The options of `elsewhere.read` that a query may have.
READING = ("format", "locations", "location_column", "count_column", "user_column", "user", "stay", "radius")

_TEXT: Schema = {"type": "string"}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "number"}
_MAYBE: Schema = {"type": ["number", "null"]}
_FLAG: Schema = {"type": "boolean"}
_MAYBE_FLAG: Schema = {"type": ["boolean", "null"]}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _object(**members: Schema) -> Schema:
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


_NAMES = _list(_TEXT)

#: An error, with remedies that the page offers as buttons: compare by "kind", allow a "mismatch" with the target, or
#: draw the "curve" again; or the users of a file with several users, those with the most visits first.
ERROR = _object(
    error=_TEXT,
    hint=_MAYBE_TEXT,
    ways=_list({"enum": ["kind", "mismatch", "curve"]}),
    users=_list(_object(name=_TEXT, visits=_COUNT)),
)
NOTHING = _object()

#: The seconds that compiling the solvers has taken so far; null if they are not being compiled.
COMPILING = _object(seconds=_MAYBE)

#: The parts that a question and a tree share. The names are those of a policy.
_GROUND: dict[str, Schema] = {
    "taxonomy": _MAYBE_TEXT,
    "target": _MAYBE_TEXT,
    # The kinds that the person gave to places.
    "kinds": {"type": ["object", "null"], "additionalProperties": _TEXT},
    "by": {"enum": ["name", "kind", None]},
    "depth": {"type": ["integer", "null"]},
}
GROUND: Schema = {"type": "object", "additionalProperties": False, "properties": _GROUND}

#: The question for a release. The names are those of a policy; missing or null values mean its defaults.
QUESTION: Schema = {
    "type": "object",
    "required": ["goal", "number"],
    "additionalProperties": False,
    "properties": {
        # A counter: a question is dropped if a later one about the same history arrives.
        "number": _COUNT,
        "goal": {"enum": ["hide", "resemble", "avoid"]},
        "sensitive": _NAMES,
        "spared": _NAMES,
        # All sensitive locations of the history, whatever `sensitive` calls them.
        "ticked": {"type": ["array", "null"], "items": _TEXT},
        **_GROUND,
        "max_quality_loss": _MAYBE,
        "max_distance": _MAYBE,
        "min_distance": _MAYBE,
        "aim": {"enum": ["near", "far", "least-loss", None]},
        "quality": _MAYBE_TEXT,
        "privacy": _MAYBE_TEXT,
        "method": {"enum": ["optimal", "heuristic", "drawn", None]},
        "size": {"enum": ["original", "target", None]},
        "redistribute": {"type": ["integer", "null"]},
        "visited_only": _MAYBE_FLAG,
        # Other places that may get visits.
        "candidates": _NAMES,
        # The id of an earlier release that this one continues.
        "lower": _MAYBE_TEXT,
        "allow_mismatch": _MAYBE_FLAG,
        "allow_sensitive_rise": _MAYBE_FLAG,
        "time_limit": _MAYBE,
        # Whether the proof may wait: the slider moves.
        "draft": _MAYBE_FLAG,
    },
}

#: The question whose frontier should stop.
STOP = _object(number=_COUNT)

START = _object(
    version=_TEXT,
    samples=_list(_object(id=_TEXT, name=_TEXT, description=_TEXT)),
    presets=_list(_object(id=_TEXT, name=_TEXT, description=_TEXT)),
    profiles=_list(_object(name=_TEXT, label=_TEXT, description=_TEXT, length=_COUNT)),
    limits=_object(upload_bytes=_COUNT, seconds=_NUMBER),
    #: The methods of each goal.
    methods={"type": "object", "additionalProperties": _NAMES},
    distances=_NAMES,
    notes=_NAMES,
)

HISTORY = _object(
    id=_TEXT,
    name=_TEXT,
    format=_TEXT,
    size=_COUNT,
    length=_COUNT,
    notes=_NAMES,
    locations=_list(_object(name=_TEXT, count=_COUNT)),
    #: The last question asked of it.
    question={"anyOf": [QUESTION, {"type": "null"}]},
)

#: What the history reveals: sentences, each with the places to hide to prevent it; and the places of unknown kind, most
#: visited first.
LOOK = _object(lines=_list(_object(sentence=_TEXT, places=_NAMES)), unrecognised=_NAMES)

#: The coordinates of the places that have them in the file.
MAP = _object(places=_list(_object(name=_TEXT, latitude=_NUMBER, longitude=_NUMBER)))

#: The land in a window in degrees, as a path over cells; the first cell is in the north-west. Null if the package with
#: the land is not installed.
LAND: Schema = {"anyOf": [_object(west=_NUMBER, north=_NUMBER, cell=_NUMBER, path=_TEXT), {"type": "null"}]}

LINE: Schema = {"anyOf": [_object(progress=_NUMBER), _object(history=HISTORY), ERROR]}
FOLDER = _object(id=_TEXT, files=_COUNT)
TABLE = _object(id=_TEXT, name=_TEXT, length=_COUNT)

#: All kinds of place in a taxonomy, parents before their children, each with its name in `kinds` of a question.
KINDS = _list(_object(value=_TEXT, name=_TEXT, depth=_COUNT))

#: Parents come before their children. The last branch, without an id, has what the taxonomy does not know. The
#: locations are places, or kinds of place if the question is by kind.
TREE = _object(
    nodes=_list(
        _object(
            id=_TEXT,
            name=_TEXT,
            parent=_MAYBE_TEXT,
            known=_FLAG,
            count=_COUNT,
            own=_NAMES,
            locations=_NAMES,
        )
    ),
    presets={"type": "object", "additionalProperties": _NAMES},
    #: Every place with the kind that is used for it; with the person's own taxonomy there is no reason.
    places=_list(_object(name=_TEXT, kind=_TEXT, reason=_MAYBE_TEXT, confidence=_MAYBE)),
    #: The locations of the history whose kind leaves open whether they are sensitive, most visited first.
    unsure=_NAMES,
    #: The number of locations whose kind is often sensitive.
    watched=_COUNT,
)

_FIGURES: dict[str, Schema] = {
    "bars": _list(_object(location=_TEXT, before=_COUNT, after=_COUNT, target=_MAYBE, sensitive=_FLAG)),
    #: How much changed, as a plain sentence.
    "plain": _TEXT,
    #: The same to four digits.
    "exact": _TEXT,
    "quality_loss": _MAYBE,
    "privacy_distance": _MAYBE,
    "quality_words": _TEXT,
    "privacy_words": _MAYBE_TEXT,
    "words": _NAMES,
    "certificate": _TEXT,
    "status": {"enum": ["optimal", "feasible"]},
    "notes": _NAMES,
    "unchanged": _FLAG,
    #: What a stranger could still guess, with the source of each statement.
    "guesses": _list(_object(sentence=_TEXT, source=_MAYBE_TEXT)),
}

#: The release, or why there is none, with the figures of the nearest solution if there is one.
ANSWER: Schema = {
    "anyOf": [
        _object(number=_COUNT, possible={"const": True}, draft=_FLAG, seconds=_NUMBER, **_FIGURES),
        _object(
            number=_COUNT,
            possible={"const": False},
            draft=_FLAG,
            seconds=_NUMBER,
            sentence=_TEXT,
            hint=_MAYBE_TEXT,
            needed_quality_loss=_MAYBE,
            best={"anyOf": [_object(**_FIGURES), {"type": "null"}]},
        ),
    ]
}

_POINT = _object(max_quality_loss=_NUMBER, quality_loss=_NUMBER, privacy_distance=_MAYBE)

#: From the least possible budget to the one beyond which nothing improves.
FRONTIER = _object(
    number=_COUNT,
    #: Whether the points were searched; otherwise they are bounds on the optimum.
    exact=_FLAG,
    #: Whether it was stopped, and has only the points found until then.
    stopped=_FLAG,
    points=_list(_POINT),
    suggested=_MAYBE,
    #: The least quality loss that meets the wanted distance; null if none is wanted, or if no loss meets it.
    needed=_MAYBE,
    sentence=_MAYBE_TEXT,
)

#: First the limits of all points, then the points in any order, some of them twice.
POINTS: Schema = {
    "anyOf": [_object(budgets=_list(_NUMBER), exact=_FLAG), _object(point=_POINT), _object(frontier=FRONTIER), ERROR]
}

#: The policy as a question about the history, or the files that it needs and the page lacks.
POLICY: Schema = {
    "anyOf": [
        _object(question=QUESTION, notes=_NAMES),
        _object(needs=_list(_object(kind={"enum": ["target", "taxonomy", "lower"]}, name=_TEXT))),
    ]
}

#: Whether a file is a release that satisfies the question, with remarks.
CHECKED = _object(ok=_FLAG, sentences=_NAMES)

#: The files that can be saved, with their media types.
TAKEN = {
    "release.csv": "text/csv; charset=utf-8",
    "release.json": "application/json",
    "release.parquet": "application/vnd.apache.parquet",
    "policy.toml": "application/toml",
    "report.json": "application/json",
    "command.sh": "text/x-shellscript; charset=utf-8",
    "script.py": "text/x-python; charset=utf-8",
}
