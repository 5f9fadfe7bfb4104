"""Reading the files that people have: tables, Google's and Foursquare's exports, browser histories."""

from elsewhere.histories.documents import Held
from elsewhere.histories.reading import History, read, read_users, read_weights, relabelled

__all__ = ["Held", "History", "read", "read_users", "read_weights", "relabelled"]
