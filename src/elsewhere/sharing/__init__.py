"""Shared releases: two users with opposite secrets get the same release, so that nobody can tell who has which."""
