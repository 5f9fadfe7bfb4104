"""Made-up files of services and browsers."""

from __future__ import annotations

import sqlite3
from pathlib import Path

EXPORTS = Path(__file__).parents[1] / "fixtures" / "exports"
MEDIA = Path(__file__).parents[1] / "fixtures" / "media"


def firefox(path: Path) -> sqlite3.Connection:
    """Three visits to a cafe under three addresses, one to a gym, one that is none of a site, and a bookmark."""
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR)")
    database.execute("CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, place_id INTEGER, visit_type INTEGER)")
    urls = ["https://www.cafe.example/menu?x=1", "http://Cafe.example:8080/", "https://gym.example", "about:config",
            "https://never.example/", "https://[broken"]  # fmt: skip
    database.executemany("INSERT INTO moz_places (url) VALUES (?)", [(url,) for url in urls])
    visits = [1, 1, 2, 3, 4, 6]
    database.executemany("INSERT INTO moz_historyvisits (place_id, visit_type) VALUES (?, 1)", [(at,) for at in visits])
    database.commit()
    return database


def chromium(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE urls (id INTEGER PRIMARY KEY, url LONGVARCHAR, visit_count INTEGER)")
    database.execute("CREATE TABLE visits (id INTEGER PRIMARY KEY, url INTEGER NOT NULL, visit_time INTEGER)")
    database.executemany(
        "INSERT INTO urls (url) VALUES (?)",
        [("https://www.cafe.example/",), ("chrome://settings",), ("http://gym.example",)],
    )
    database.executemany("INSERT INTO visits (url) VALUES (?)", [(1,), (1,), (2,), (3,), (1,)])
    database.commit()
    return database
