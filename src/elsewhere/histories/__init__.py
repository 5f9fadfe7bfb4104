"""Read the files that people have: tables, exports of Google and Foursquare, browser histories."""

from elsewhere.histories.documents import InMemoryFile
from elsewhere.histories.reading import History, read, read_users, read_weights, relabelled

__all__ = ["History", "InMemoryFile", "read", "read_users", "read_weights", "relabelled"]
