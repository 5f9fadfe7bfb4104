"""Reading the files that people have: tables, Google's and Foursquare's exports, browser histories."""

from elsewhere.histories.reading import History, read, read_users, read_weights

__all__ = ["History", "read", "read_users", "read_weights"]
