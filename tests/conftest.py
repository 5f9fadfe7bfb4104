"""The order of the tests: files that take long for few tests come first, so that no worker is left with them."""

from __future__ import annotations

import pytest

_FIRST = ("test_spark.py", "test_page.py", "test_local.py", "test_reproduction.py", "test_large.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _FIRST.index(item.path.name) if item.path.name in _FIRST else len(_FIRST))
