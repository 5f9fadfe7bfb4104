"""The options that commands share: how to read a history, the constraints, and where to write the release."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from elsewhere.model.errors import InputError
from elsewhere.text import quote

if TYPE_CHECKING:
    from elsewhere.histories import History
    from elsewhere.model.question import Goal
    from elsewhere.policy import Policy

Command = TypeVar("Command", bound=Callable[..., Any])
#: A path, or several paths of one history.
Paths: TypeAlias = str | tuple[str, ...]

_DISTANCES = "js, jeffreys, variational, l2, squared-l2, pearson or neyman. Default: js"
_READING = (
    click.option(
        "--format",
        metavar="FORMAT",
        help="Read HISTORY as csv, json, jsonl, parquet, sheet, foursquare, takeout, timeline, swarm, browser, "
        "chrome, youtube, spotify, netflix, records, gpx, kml, tcx, overland, polarsteps, geojson, owntracks, geolife "
        "or tracks. Default: recognise it.",
    ),
    click.option(
        "--locations",
        type=click.Choice(["name", "category", "id"]),
        help="Count visits by this property of a place. Default: depends on the export.",
    ),
    click.option(
        "--location-column",
        metavar="NAME",
        help="Column of a table with the locations. Default: location or a similar name.",
    ),
    click.option(
        "--count-column",
        metavar="NAME",
        help="Column with the counts. Default: count or a similar name; without one, each row is one visit.",
    ),
    click.option("--user-column", metavar="NAME", help="Column with the users. Default: user or a similar name."),
    click.option("--user", metavar="NAME", help="Read only this user's rows. Required if the table has several users."),
    click.option(
        "--labels",
        metavar="FILE",
        help="Rename locations by this table with the columns id and label, and perhaps kind. "
        "elsewhere labels writes one to fill in.",
    ),
    click.option("--stay", metavar="TIME", help="Shortest stay in a track that counts as a visit. Default: 5min."),
    click.option(
        "--radius",
        metavar="LENGTH",
        help="Largest radius of a stay in a track, and largest distance to a place in --places. Default: 100m.",
    ),
    click.option(
        "--max-gap",
        metavar="TIME",
        help="Longest pause within a stay in a track. Default: 15min for gpx, kml, tcx and geolife, else no limit.",
    ),
    click.option(
        "--places",
        metavar="FILE",
        help="Name the places of a track by the nearest in this file: a table with the columns name, latitude, "
        "longitude and perhaps category, or GeoJSON, GPX or KML.",
    ),
    click.option(
        "--keep-coordinates",
        is_flag=True,
        help="Call places of a track that have no name by their coordinates; the release then shows them. "
        "Default: place 1, place 2.",
    ),
    click.option(
        "--from",
        "start",
        metavar="DATE",
        help="Count only visits that begin on this date or later, in local time, such as 2023-03-01 or "
        "2023-03-01T18:00.",
    ),
    click.option("--until", metavar="DATE", help="Count only visits that begin on this date or earlier."),
    click.option(
        "--time-zone",
        metavar="ZONE",
        help="Time zone of visits whose local time HISTORY does not tell, such as Europe/Berlin. "
        "Default: by the longitude of the place, otherwise UTC.",
    ),
)
_ASKING = (
    click.option("--policy", metavar="FILE", help="Read choices from this policy file. Options override it."),
    click.option(
        "--sensitive",
        metavar="NAME",
        multiple=True,
        help="Treat this as sensitive: a location in any spelling, a pattern such as '*church*', a node of the "
        "taxonomy or a preset such as preset:health. Required for hide, here or in --policy. Repeatable.",
    ),
    click.option(
        "--sensitive-zone",
        "sensitive_zones",
        metavar="LAT,LON,RADIUS|FILE",
        multiple=True,
        help="Treat every place in this zone as sensitive: a circle such as 52.5186,13.3763,300m, or a GeoJSON file "
        "with polygons. HISTORY must have coordinates. Repeatable.",
    ),
    click.option(
        "--spare",
        "spared",
        metavar="NAME",
        multiple=True,
        help="Keep this location even though --sensitive or --sensitive-zone covers it. Repeatable.",
    ),
    click.option(
        "--taxonomy",
        metavar="FILE",
        help="Use the taxonomy in this file for --sensitive, --by and --levels. "
        "Default: 'shipped', for presets and names that are not in HISTORY.",
    ),
    click.option(
        "--by",
        metavar="name|kind|place,daypart",
        callback=lambda _, __, value: _by(value),
        help="Count visits by the name of a place or by its kind, such as Restaurant; or make bins of place and time: "
        "place,daypart or place,weekend or place,daypart,weekend. Default: name.",
    ),
    click.option(
        "--depth", type=int, metavar="LEVEL", help="Level of the taxonomy for --by kind, from 1 at the top. Default: 2."
    ),
    click.option(
        "--kind",
        "kinds",
        metavar="NAME=KIND",
        multiple=True,
        help="Say what kind of place this is, or NAME=none for no kind. Overrides the name and the export. Repeatable.",
    ),
    click.option(
        "--levels",
        metavar="W,W,...",
        help="Measure distances over the taxonomy, with these weights of its levels from the top down, or 'equal'. "
        "Default: compare place by place.",
    ),
    click.option("--quality", metavar="DISTANCE", help=f"Measure the quality loss by {_DISTANCES}."),
    click.option(
        "--visited-only",
        is_flag=True,
        default=None,
        help="Keep locations with count 0 at 0. Default: they may receive visits.",
    ),
    click.option(
        "--lower",
        metavar="FILE|NAME=COUNT",
        multiple=True,
        help="Require at least these counts.",
    ),
    click.option(
        "--since",
        metavar="RELEASE",
        help="Continue this earlier release: no count is below its own. Same as --lower with a release.",
    ),
    click.option("--upper", metavar="FILE|NAME=COUNT", multiple=True, help="Allow at most these counts."),
    click.option(
        "--candidate",
        "candidates",
        metavar="NAME",
        multiple=True,
        help="Allow visits at this location even though you never visited it. Repeatable.",
    ),
    click.option("--forbidden", metavar="FILE", multiple=True, help="Do not release this histogram. Repeatable."),
)
_LIMITS = (
    click.option(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="Stop the search after this time with the best release so far. Default: no limit.",
    ),
    click.option(
        "--gap",
        type=float,
        metavar="NUMBER",
        help="Stop the search this close to the proven bound. Default: 0, an exact optimum.",
    ),
    click.option("--memory-limit", type=int, metavar="BYTES", help="Limit the search's memory. Default: 1 GiB."),
)
#: Options of the search, which the check of a release does not need.
_SEARCH_IGNORED = tuple(
    click.option(name, hidden=True, expose_value=False, default=None)
    for name in ("--key-file", "--time-limit", "--gap", "--memory-limit")
)
_TARGET = (
    click.option(
        "--target",
        metavar="TARGET",
        help="Name of a profile, or file with weights by location. "
        "Required for resemble and avoid, here or in --policy.",
    ),
    click.option("--privacy", metavar="DISTANCE", help=f"Measure the distance to the target by {_DISTANCES}."),
    click.option(
        "--size",
        type=click.Choice(["original", "target"]),
        help="Give the release the size of HISTORY or of the target. Default: original.",
    ),
    click.option(
        "--allow-mismatch",
        is_flag=True,
        default=None,
        help="Compare with TARGET even if most of its weight is at places that HISTORY does not have.",
    ),
    click.option(
        "--allow-sensitive-rise",
        is_flag=True,
        default=None,
        help="Let counts rise at places of kinds that are often sensitive. Default: they do not rise.",
    ),
)
_OUTPUT = (
    click.option(
        "-o",
        "--output",
        metavar="RELEASE",
        help="Write the release to this file (.csv, .json or .parquet). Default: standard output.",
    ),
    click.option("--allow-unchanged", is_flag=True, help="Write the release even if it protects nothing."),
    click.option("--report", metavar="FILE", help="Write the private summary to this file, as JSON."),
    click.option("--json", "as_json", is_flag=True, help="Print the private summary as JSON instead of the release."),
    click.option(
        "--plot", metavar="FILE", help="Draw before and after to this private .png, .svg, .pdf or .html file."
    ),
    click.option("--save-policy", metavar="FILE", help="Save these choices to this private policy file."),
    click.option("--quiet", is_flag=True, help="Print only errors."),
)


def _together(options: Iterable[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(tuple(options)):
            command = option(command)
        return command

    return decorate


reading = _together(_READING)
asking = _together(_ASKING)
limits = _together(_LIMITS)
search_ignored = _together(_SEARCH_IGNORED)
target = _together(_TARGET)
output = _together(_OUTPUT)
max_quality_loss = click.option(
    "--max-quality-loss",
    type=float,
    metavar="NUMBER",
    help="Limit on the quality loss. Required, here or in --policy, unless you give a distance to meet.",
)


add_only = click.option(
    "--add-only",
    is_flag=True,
    default=None,
    help="Keep every visit of HISTORY and add as few as meet --max-distance or --min-distance.",
)


def aim(*aims: str) -> Callable[[Command], Command]:
    """The option for the aim of the optimisation."""
    return click.option(
        "--aim",
        type=click.Choice([*aims, "least-loss"]),
        help="Optimise the distance to the target, or the quality loss among releases that meet a distance. "
        "Default: least-loss if there is no limit on the quality loss.",
    )


#: The options for reading a history.
_READ_BY = (
    "format",
    "locations",
    "location_column",
    "count_column",
    "user_column",
    "user",
    "labels",
    "stay",
    "radius",
    "max_gap",
    "places",
    "keep_coordinates",
    "start",
    "until",
    "time_zone",
)


#: What a policy can count visits by: the values of its key `by`.
_BY_PLACE = (None, "name", "kind")


def _by(value: str | None) -> str | None:
    """What visits are counted by: a value of the policy's key `by`, or bins of place and time."""
    if value not in _BY_PLACE:
        from elsewhere.histories.calendar import calendar_of

        try:
            calendar_of(None, None, value, None)
        except InputError as error:
            raise InputError(f"{error}, or name or kind", error.arguments) from None
    return "name" if value == "place" else value


history = click.argument(
    "history",
    metavar="HISTORY...",
    nargs=-1,
    required=True,
    callback=lambda _, __, paths: paths[0] if len(paths) == 1 else paths,
)


def read_history(path: Paths, given: Mapping[str, Any], say: Callable[[str], None]) -> History:
    """Read the history at a path, and print its notes."""
    from elsewhere.histories import read

    by = given.get("by")
    history = read(path, **{name: given[name] for name in _READ_BY}, by=None if by in _BY_PLACE else by)
    for note in history.notes:
        say(note)
    return history


def chosen_policy(goal: Goal, given: Mapping[str, Any], recorded: Policy | None = None) -> Policy:
    """The policy of the options, on top of a policy file or of the policy in a report."""
    from dataclasses import fields

    from elsewhere.policy import EQUAL, Policy

    known = {item.name for item in fields(Policy)}
    choices = {name: value for name, value in given.items() if name in known and value not in (None, ())}
    if choices.get("by", "name") not in _BY_PLACE:
        del choices["by"]  # the history is already read in such bins
    for name in ("lower", "upper"):
        if name in choices:
            choices[name] = _bounds(f"--{name}", choices[name])
    if given.get("add_only"):
        if "size" in choices:
            raise InputError("--size and --add-only both set the size of the release; give only one")
        choices["size"] = "free"
    if "levels" in choices:
        choices["levels"] = level_weights(choices["levels"]) or EQUAL
    if given.get("policy") is not None:
        policy = Policy.load(given["policy"])
        if policy.goal != goal:
            raise InputError(f"the policy {quote(given['policy'])} is for {policy.goal}, not for {goal}")
        recorded = policy.at(Path())
    if given.get("since") is not None:
        choices["lower"] = _earlier(given["since"], choices, recorded)
    if "kinds" in choices:
        own = _kinds(choices["kinds"])  # first, so that their patterns take precedence over the policy's
        choices["kinds"] = {**own, **({} if recorded is None else recorded.kinds), **own}
    return Policy(goal=goal, **choices) if recorded is None else replace(recorded, **choices)


def reading_words(given: Mapping[str, Any]) -> list[str]:
    """The reading options as options of another command; a policy does not have them."""
    read_by = {name: given[name] for name in _READ_BY if given[name]}
    if given.get("by") not in _BY_PLACE:
        read_by["by"] = given["by"]
    words = [(f"--{'from' if name == 'start' else name.replace('_', '-')}", value) for name, value in read_by.items()]
    return [word for option, value in words for word in ((option,) if value is True else (option, value))]


_READ = ("policy", "target", "taxonomy", "labels", "places", "sensitive_zones", "lower", "upper", "since", "forbidden",
         "popularity", "key_file", "earlier")  # fmt: skip


def check_paths(history: Paths, given: Mapping[str, Any], written: Iterable[str]) -> None:
    """Raise, before any work, if an output cannot be written or would overwrite an input or another output."""
    histories = (history,) if isinstance(history, str) else history
    taken = {os.path.realpath(path): "HISTORY" for path in histories}
    for name in _READ:
        value = given.get(name) or ()
        for path in (value,) if isinstance(value, str) else value:
            taken[os.path.realpath(path)] = "--" + name.replace("_", "-")
    for name in written:
        path, option = given[name], "--" + name.replace("_", "-")
        if path is None or (path == "-" and name == "output"):
            continue
        if path == "-":
            raise InputError(f"{option} is '-'; give a file, or print the summary with --json")
        other = taken.setdefault(os.path.realpath(path), option)
        if other != option:
            raise InputError(f"{option} is {quote(path)}, which is also {other}; give another file")
        if Path(path).exists() and any(_belongs_to(path, one) for one in histories):
            raise InputError(f"{option} is {quote(path)}, which is a file of HISTORY; give another file")
        folder = Path(os.path.realpath(path)).parent
        if not os.access(folder, os.W_OK):
            raise InputError(f"{option} is {quote(path)}, but the folder {quote(str(folder))} is not writable")
    if given.get("as_json") and given["output"] == "-":
        raise InputError("--json and -o - would both print to standard output; give -o a file")


def _belongs_to(path: str, history: str) -> bool:
    """Whether a file is part of an export, not a release that was saved beside it."""
    from elsewhere.verification.release_file import read_release

    if Path(path).samefile(history) if Path(history).exists() else False:
        return True
    if not Path(history).is_dir() or Path(os.path.realpath(history)) not in Path(os.path.realpath(path)).parents:
        return False
    try:
        return bool(read_release(path).problems)
    except InputError:
        return True


def speaker(given: Mapping[str, Any]) -> Callable[[str], None]:
    """A function that prints a sentence to standard error, unless `--quiet` is set."""

    def say(sentence: str) -> None:
        if not given.get("quiet"):
            print(sentence, file=sys.stderr)

    return say


def _bounds(option: str, values: tuple[str, ...]) -> str | dict[str, int]:
    """A file, or counts by location."""
    if len(values) == 1 and ("=" not in values[0] or Path(values[0]).exists()):
        return values[0]
    counts: dict[str, int] = {}
    for value in values:
        name, equals, count = value.rpartition("=")
        if not equals or not count.isdecimal():
            raise InputError(f"{option} is {quote(value)}; give one file, or NAME=COUNT once or more")
        if name in counts:
            raise InputError(f"{option} has two bounds for {quote(name)}")
        counts[name] = int(count)
    return counts


def _earlier(path: str, choices: Mapping[str, Any], recorded: Policy | None) -> str:
    """The file of an earlier release, if it is one and no other option gives the least counts."""
    from elsewhere.verification.release_file import read_release

    if choices.get("size", None if recorded is None else recorded.size) == "free":
        raise InputError("--since cannot be combined with --add-only, which keeps every visit of HISTORY; leave it out")
    if "lower" in choices:
        raise InputError("--since and --lower both set the least counts; give only one")
    problems = read_release(path).problems
    if problems:
        told = f"--since is {quote(path)}, which is not a release: {problems[0]}"
        raise InputError(f"{told} (--lower would take any table of counts)")
    return path


def _kinds(values: tuple[str, ...]) -> dict[str, str]:
    """Kinds by location. Both may contain a =, so the first = that leaves a known kind separates them."""
    from elsewhere.model.taxonomy import NO_KIND, Taxonomy

    kinds: dict[str, str] = {}
    for value in values:
        parts = value.split("=")
        ways = [("=".join(parts[:at]).strip(), "=".join(parts[at:]).strip()) for at in range(1, len(parts))]
        known = (way for way in ways if way[1].lower() == NO_KIND or Taxonomy.shipped().node(way[1]) is not None)
        name, kind = next(known, ways[-1] if ways else ("", ""))
        if not (name and kind):
            raise InputError(f"--kind is {quote(value)}; give NAME=KIND")
        if kinds.setdefault(name, kind) != kind:
            raise InputError(f"--kind gives {quote(name)} two kinds: {quote(kinds[name])} and {quote(kind)}")
    return kinds


def level_weights(value: str) -> tuple[float, ...] | None:
    """The weights of levels, or None if all have the same weight."""
    from elsewhere.policy import EQUAL

    if value == EQUAL:
        return None
    try:
        return tuple(float(weight) for weight in value.split(","))
    except ValueError:
        raise InputError(f"--levels is {quote(value)}; give weights such as 0.5,0.5, or 'equal'") from None
