"""``python -m benchmarks.trees``: what distances over a taxonomy gain, in NCE and recommendation.

Every user gets a release with the flat distance js, and one with js over the taxonomy for each choice of `levels`.

- resemble: the target is another user, and the privacy distance is flat. The flat release may lose 0.05. The others get
  the limit at which their flat loss is the same.
- hide: a random tenth of each user's locations, or a branch. The flat release has the least flat loss, so the others
  lose more. The table says how much.

All are compared with the same originals, and a recommender gets the same questions for all of them. It takes about five
minutes on two cores, and needs the evaluation sets in a folder `data`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

import elsewhere as ew
from benchmarks.data import folder_with, read
from elsewhere.evaluation import Tables, conditional_entropies, quality_losses
from elsewhere.evaluation.recommendation import predict
from elsewhere.model.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SETS = ("synthetic_nyc", "nyc_partial")
_TREE = "taxonomy.csv"
#: The weights of the levels, by the name of the column; the default gives all five levels the same weight.
_LEVELS: Mapping[str, Sequence[float] | None] = {"default": None, "0.5,0.5": (0.5, 0.5), "0.9,0.1": (0.9, 0.1)}
_ORIGINAL, _FLAT = "original", "flat"
_LIMIT = 0.05
#: Two flat losses count as equal if they differ by at most this share.
_SAME = 0.01
_TRIES = 8
_BRANCH = "Medical Center"
_NEIGHBOURS = 25
_FOLDS = 10
#: The number of rounds; each user is tested once per round, with another location.
_ROUNDS = 5
_DRAWS = 1_000

#: One number for each user, of every release.
_ByRelease: TypeAlias = dict[str, Floats]


@dataclass(frozen=True)
class Case:
    """Histograms of users, and their releases by each method."""

    title: str
    originals: list[ew.Histogram]
    releases: dict[str, list[ew.Histogram]]
    privacy: _ByRelease


def main() -> None:
    if not all(map(folder_with, (_TREE, *(f"{name}.csv.gz" for name in _SETS)))):
        sys.exit(f"This needs {_TREE} and the sets {' and '.join(_SETS)} in a folder data.")
    with ProcessPoolExecutor() as pool:
        for name in _SETS:
            # By id, because some names have changed since.
            histograms = read(_file(f"{name}.csv.gz"), "category_id")
            for case in (_resembled(pool, histograms), *_hidden(pool, histograms)):
                print(f"{name}, {case.title}, {len(case.originals):,} users\n")
                print("\n".join(_table(case)) + "\n", flush=True)


def _file(name: str) -> Path:
    folder = folder_with(name)
    assert folder is not None
    return folder / name


@cache
def _taxonomy() -> ew.Taxonomy:
    return ew.Taxonomy.load(_file(_TREE))


# Releases


def _resembled(pool: ProcessPoolExecutor, histograms: list[ew.Histogram]) -> Case:
    half = len(histograms) // 2
    targets = histograms[half:] + histograms[:half]
    made = list(pool.map(_resemble, histograms, targets, chunksize=16))
    releases = {way: [results[way].histogram for results in made] for way in (_FLAT, *_LEVELS)}
    apart = {_ORIGINAL: np.array([ew.distance("js", t, h) for h, t in zip(histograms, targets, strict=True)])}
    privacy = {way: np.array([results[way].privacy_distance for results in made]) for way in releases}
    return Case("resemble", histograms, releases, apart | privacy)


def _resemble(history: ew.Histogram, target: ew.Histogram) -> dict[str, ew.Sanitized]:
    flat = ew.resemble(history, target, _LIMIT)
    found = {_FLAT: flat}
    for way, levels in _LEVELS.items():
        tree = ew.TreeDistance("js", _taxonomy(), levels)
        limit, nearest = _LIMIT, np.inf
        for _ in range(_TRIES):
            result = ew.resemble(history, target, limit, quality=tree)
            loss = ew.distance("js", history, result.histogram)
            if abs(loss - flat.quality_loss) < nearest:
                nearest, found[way] = abs(loss - flat.quality_loss), result
            if nearest <= _SAME * flat.quality_loss or not loss:
                break
            # The two losses are about proportional.
            limit *= flat.quality_loss / loss
    return found


def _hidden(pool: ProcessPoolExecutor, histograms: list[ew.Histogram]) -> Iterator[Case]:
    random = np.random.default_rng(7)
    tenth = [random.choice(h.locations, max(1, h.length // 10), replace=False).tolist() for h in histograms]
    branch = [sorted(_taxonomy().select([_BRANCH], among=h)) for h in histograms]
    for title, chosen in (("hide a tenth of the locations", tenth), (f"hide {_BRANCH}", branch)):
        asked = [(h, names) for h, names in zip(histograms, chosen, strict=True) if 0 < len(names) < h.length]
        made = list(pool.map(_hide, *zip(*asked, strict=True), chunksize=16))
        yield Case(title, [h for h, _ in asked], {way: [m[way] for m in made] for way in (_FLAT, *_LEVELS)}, {})


def _hide(history: ew.Histogram, sensitive: list[str]) -> dict[str, ew.Histogram]:
    trees = {
        way: ew.hide(history, sensitive, taxonomy=_taxonomy(), levels=levels).histogram
        for way, levels in _LEVELS.items()
    }
    return {_FLAT: ew.hide(history, sensitive).histogram} | trees


# Measures


def _table(case: Case) -> Iterator[str]:
    """Lines of Markdown, one per measure: its mean over users, and the interval of the difference from the flat one."""
    yield f"| | {_ORIGINAL} | {_FLAT} | {' | '.join(f'tree, {way}' for way in _LEVELS)} |"
    yield "| --- | --- | --- |" + " --- |" * len(_LEVELS)
    originals = {f"{at:05d}": h for at, h in enumerate(case.originals)}
    tables = {
        way: Tables.of(originals, dict(zip(originals, releases, strict=True)))
        for way, releases in case.releases.items()
    }
    kinds = {way: both.by_kind(_taxonomy()) for way, both in tables.items()}
    yield _line("flat loss", {way: quality_losses(both)["js"] for way, both in tables.items()})
    yield _line("loss of kinds", {way: quality_losses(both)["js"] for way, both in kinds.items()})
    if case.privacy:
        yield _line("privacy distance", case.privacy)
    yield _line("NCE", {way: conditional_entropies(both) for way, both in tables.items()})
    yield _line("NCE of kinds", {way: conditional_entropies(both) for way, both in kinds.items()})
    for what, chosen in (("", tables), (" of kinds", kinds)):
        errors = _errors(chosen)
        for who in ("alone", "all"):
            shown = {way: errors[who, way] for way in (_ORIGINAL, *tables)}
            yield _line(f"MAE{what}, {who}", {way: np.abs(e).mean(axis=0) for way, e in shown.items()})
            yield _line(f"RMSE{what}, {who}", {way: (e**2).mean(axis=0) for way, e in shown.items()}, np.sqrt)


def _line(name: str, figures: _ByRelease, of_mean: Callable[[Floats], Floats] = np.asarray) -> str:
    """One mean over users per column; the interval (95%) is bootstrapped over the users."""
    flat = figures[_FLAT]
    drawn = np.random.default_rng(7).multinomial(len(flat), np.full(len(flat), 1 / len(flat)), _DRAWS) / len(flat)
    cells = [] if _ORIGINAL in figures else [""]
    for way, values in figures.items():
        cell = f"{of_mean(values.mean()):.4g}"
        if way in _LEVELS:
            low, high = np.quantile(of_mean(drawn @ values) - of_mean(drawn @ flat), [0.025, 0.975])
            cell += f" ({low:+.2g} to {high:+.2g})"
        cells.append(cell)
    return f"| {name} | {' | '.join(cells)} |"


def _errors(tables: Mapping[str, Tables]) -> dict[tuple[str, str], Floats]:
    """The predictions of a recommender minus the truth: one row per round, one column per user.

    The keys say whether only the tested users share releases or everybody does, and which releases. Unlike
    `recommendation_errors`, which has one release, this asks the same questions for all releases: about a location that
    the original and every release have. And every user is tested, a tenth at a time.
    """
    names = sorted({name for both in tables.values() for name in both.locations})
    before, _ = _matrices(tables[_FLAT], names)
    counts = {_ORIGINAL: before} | {way: _matrices(both, names)[1] for way, both in tables.items()}
    truth = before.toarray()
    common = np.all([matrix.toarray() > 0 for matrix in counts.values()], axis=0)
    errors = {(who, way): np.zeros((_ROUNDS, len(truth))) for who in ("alone", "all") for way in counts}
    for at in range(_ROUNDS):
        for tested, others, hidden in _questions(common, np.random.default_rng([7, at])):
            for (who, way), found in errors.items():
                rest = before if who == "alone" else counts[way]
                predicted = predict(counts[way][tested], rest[others], hidden, _NEIGHBOURS)
                found[at, tested] = predicted - truth[tested, hidden]
    return {key: found[:, common.any(axis=1)] for key, found in errors.items()}


def _questions(common: Flags, random: np.random.Generator) -> Iterator[tuple[Ints, Ints, Ints]]:
    """A tenth of the users, the other users, and a location for each of the tenth, until all users were tested."""
    hidden = np.where(common, random.random(common.shape), 1.0).argmin(axis=1)
    order = random.permutation(len(common))
    for fold in range(_FOLDS):
        within = np.arange(len(order)) % _FOLDS == fold
        tested = order[within]
        tested = tested[common[tested].any(axis=1)]
        yield tested, order[~within], hidden[tested]


def _matrices(both: Tables, names: list[str]) -> tuple[csr_array, csr_array]:
    """The counts before and after, with a column for each of the names."""
    from scipy.sparse import csr_array

    number = {name: at for at, name in enumerate(names)}
    columns = np.array([number[name] for name in both.locations])
    shape = (len(both.users), len(names))
    before, after = (csr_array((m.data, columns[m.indices], m.indptr), shape=shape) for m in both.matrices())
    return before, after


if __name__ == "__main__":
    main()
