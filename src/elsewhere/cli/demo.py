"""``elsewhere demo``: the paper's Alice and Bob."""

from __future__ import annotations

import click

_PLACES = {
    "a": "train station",
    "b": "2-star hotel",
    "c": "3-star hotel",
    "d": "museum",
    "e": "restaurant",
    "f": "airport",
    "g": "5-star hotel",
    "h": "clinic",
}
_HISTORY = {"a": 7, "b": 2, "c": 3, "d": 2, "e": 13, "f": 12, "g": 8, "h": 3}
_FRUGAL = {"a": 10, "b": 8, "c": 6, "d": 2, "e": 13, "f": 4, "g": 4, "h": 3}


@click.command()
def demo() -> None:
    """Show what elsewhere does, on the example of the paper.

    \b
    Example:
      elsewhere demo
    """
    from rich.console import Console

    from elsewhere import Histogram, hide, resemble, verify
    from elsewhere.cli.view import show

    console = Console()
    history = Histogram({_PLACES[key]: count for key, count in _HISTORY.items()})
    frugal = Histogram({_PLACES[key]: count for key, count in _FRUGAL.items()})
    sensitive = {_PLACES["g"], _PLACES["h"]}

    console.rule("Alice hides two sensitive places")
    alice = hide(history, sensitive=sensitive)
    show(console, history, alice, sensitive=sensitive)
    checked = verify(history, alice, sensitive=sensitive)
    console.print(f"Checked without the solver: {'all in order' if checked.ok else checked.problems}.")

    console.rule("Bob resembles a traveller on a budget, at a quality loss of at most 0.05")
    bob = resemble(history, frugal, max_quality_loss=0.05)
    show(console, history, bob, target=frugal)
    checked = verify(history, bob, target=frugal, max_quality_loss=0.05)
    console.print(f"Checked without the solver: {'all in order' if checked.ok else checked.problems}.")
