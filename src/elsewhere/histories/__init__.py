"""Read the files that people have: tables, exports of Google and Foursquare, browser histories."""

from elsewhere.histories.documents import InMemoryFile
from elsewhere.histories.history import History
from elsewhere.histories.label_table import LabelTable, label_table
from elsewhere.histories.reading import read, read_labels, read_users, read_weights, relabelled
from elsewhere.histories.zones import in_zones

__all__ = [
    "History",
    "InMemoryFile",
    "LabelTable",
    "in_zones",
    "label_table",
    "read",
    "read_labels",
    "read_users",
    "read_weights",
    "relabelled",
]
