"""``elsewhere demo``: the paper's Alice and Bob."""

from __future__ import annotations

import sys

import click

_PLACES = ("train station", "2-star hotel", "3-star hotel", "museum", "restaurant", "airport", "5-star hotel", "clinic")
_HISTORY = (7, 2, 3, 2, 13, 12, 8, 3)
_FRUGAL = (10, 8, 6, 2, 13, 4, 4, 3)


@click.command(short_help="Show the example of the paper.")
def demo() -> None:
    """Show what elsewhere does, with the example of the paper.

    \b
    Example:
      elsewhere demo
    """
    from elsewhere import Histogram, hide, resemble, verify
    from elsewhere.cli.view import show
    from elsewhere.model.errors import InputError
    from elsewhere.policy import Policy

    history = Histogram(zip(_PLACES, _HISTORY, strict=True))
    frugal = Histogram(zip(_PLACES, _FRUGAL, strict=True))
    sensitive = ("5-star hotel", "clinic")

    click.secho("Alice hides two sensitive places", bold=True)
    alice = hide(history, sensitive)
    show(alice, Policy("hide"), sys.stdout, bars=True)
    checks = [verify(history, alice, sensitive=sensitive)]
    click.echo()
    click.secho("Bob resembles a traveller on a budget, at a quality loss of at most 0.05", bold=True)
    bob = resemble(history, frugal, max_quality_loss=0.05)
    show(bob, Policy("resemble", target="frugal", max_quality_loss=0.05), sys.stdout, bars=True)
    checks.append(verify(history, bob, target=frugal, max_quality_loss=0.05))
    for check in checks:
        if not check.ok:
            raise InputError(check.problems[0])
    click.echo("\nBoth releases were checked without the solver: no problems found.")
