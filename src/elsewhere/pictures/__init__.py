"""Drawings and HTML tables of results.

Everything here takes plain numbers, not results, so that results can draw themselves.
"""
