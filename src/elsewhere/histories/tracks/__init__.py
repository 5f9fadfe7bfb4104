"""Positions over time: formats that have them, stays in them, and the places that the stays are at."""
