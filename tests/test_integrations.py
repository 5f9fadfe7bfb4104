"""In other people's pipelines: DuckDB's SQL and scikit-learn. The page of recipes is tested with the other pages."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import elsewhere as ew
from elsewhere.engines.duckdb import register
from elsewhere.model.arrays import Ints
from elsewhere.sklearn import ProfileTransformer

duckdb: Any = import_module("duckdb")


def test_duckdb_agrees_with_the_verb() -> None:
    """Over many rows, with NULL, an empty map, a map of which nothing may be left, and one that needs no change."""
    dice = np.random.default_rng(1)
    histories = [{name: int(dice.integers(1, 9)) for name in "abc"} for _ in range(3000)]
    connection = duckdb.connect()
    register(connection, ew.Policy("hide", sensitive=("a",)), "releasable")
    connection.execute("CREATE TABLE users (id INTEGER, histogram MAP(VARCHAR, BIGINT))")
    odd: list[dict[str, int] | None] = [None, {}, {"a": 3}, {"b": 3}]
    connection.executemany("INSERT INTO users VALUES (?, ?)", [[at, row] for at, row in enumerate([*histories, *odd])])
    rows = connection.sql("SELECT releasable(histogram) FROM users ORDER BY id").fetchall()
    assert [row[0] for row in rows[:-4]] == [dict(ew.hide(history, ["a"]).histogram) for history in histories]
    assert [row[0] for row in rows[-4:]] == [None, None, None, {"b": 3}]


def test_duckdb_refuses_what_a_function_cannot_know() -> None:
    with pytest.raises(ew.InputError, match="cannot draw"):
        register(duckdb.connect(), ew.Policy("hide", sensitive=("a",), method="drawn"))
    register(connection := duckdb.connect(), ew.Policy("hide", sensitive=("a",)))
    with pytest.raises(duckdb.Error, match="missing or negative"):
        connection.sql("SELECT sanitize(MAP {'a': -3})").fetchall()


class Rounding(ProfileTransformer):
    """Takes the real numbers that scikit-learn's checks send for counts."""

    def transform(self, X: ArrayLike) -> Ints:  # noqa: N803
        return super().transform(X if isinstance(X, list) and not X else _rounded(X))


def _rounded(given: Any) -> Any:
    try:
        return np.round(np.asarray(given, np.float64))
    except (TypeError, ValueError):
        return given  # what is no number at all is for the transformer to refuse


def test_scikit_learn_accepts_the_transformer() -> None:
    """As it is, nothing but its whole numbers is in the way; with rounded ones every check passes."""
    check_estimator: Any = import_module("sklearn.utils.estimator_checks").check_estimator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for checked, allowed in ((ProfileTransformer(), "counts are whole numbers"), (Rounding(), None)):
            for result in check_estimator(checked, on_fail=None, on_skip=None):
                told = str(result["exception"])
                passed = result["status"] in ("passed", "skipped")
                assert passed or (allowed and told.startswith(allowed)), (result["check_name"], told)


def test_the_transformer_agrees_with_the_verbs() -> None:
    dice = np.random.default_rng(2)
    members, users = dice.integers(0, 9, (20, 5)), dice.integers(0, 9, (30, 5))
    users[3] = 0
    for goal, verb in (("resemble", ew.resemble), ("avoid", ew.avoid)):
        made = ProfileTransformer(goal, 0.05).fit(members)  # type: ignore[arg-type]
        shares = np.mean([row / row.sum() for row in members if row.any()], axis=0)
        names = [f"{at:08d}" for at in range(5)]
        wanted = [
            [verb(dict(zip(names, row, strict=True)), ew.Profile(dict(zip(names, shares, strict=True))), 0.05)
             .histogram[name] for name in names] if any(row) else [0] * 5
            for row in users.tolist()
        ]  # fmt: skip
        assert made.transform(users).tolist() == wanted
    with pytest.raises(ValueError, match=r"whole numbers; found 0\.5"):
        made.transform([[0.5, 1, 1, 1, 1]])
    with pytest.raises(ValueError, match="goal is 'hide'"):
        ProfileTransformer("hide").fit(members).transform(users)  # type: ignore[arg-type]
