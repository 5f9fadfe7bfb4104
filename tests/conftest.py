"""The order of the tests and hypothesis' settings.

Files that take long for few tests come first, so that no worker is left with them. Examples have no deadline, and
drawing them may take any time: the first one that calls a kernel may have to wait for its compilation, and on a busy
machine every one may have to wait for others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

from elsewhere.kernels.first_answers import compile_at_once
from elsewhere.kernels.jit import interpreting

_FIRST = (
    "test_spark.py", "test_spark_input.py", "test_page.py", "test_local.py", "test_columns.py",
    "test_install.py", "test_reproduction.py", "test_large.py",
)  # fmt: skip

# The same examples in every run; `make fuzz` looks for new ones.
_PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("elsewhere", **_PATIENT, derandomize=True)
hypothesis.settings.register_profile("fuzz", **_PATIENT, derandomize=False, print_blob=True)
hypothesis.settings.load_profile("elsewhere")

compile_at_once()  # many questions will come


@pytest.fixture(autouse=True)
def _interpreted() -> Iterator[None]:
    """`make coverage` has the kernels interpreted: nobody sees which lines of compiled ones are run."""
    if "INTERPRETED" in os.environ:
        with interpreting():
            yield
    else:
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _FIRST.index(item.path.name) if item.path.name in _FIRST else len(_FIRST))
