"""elsewhere: edit your location history before you share it.

`hide` removes every visit to sensitive locations. `resemble` and `avoid` move a histogram towards a target or away
from one, within a limit on the quality loss. `frontier` shows what each limit buys. `verify` checks a release without
trusting the solvers. `read` finds the histogram in a file, `look` says what it tells, and `kinds` what kind of place
each name means. `batch` sanitizes the users of a whole table. `elsewhere.paper` has the algorithms of the paper as
published.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elsewhere import evaluation, paper, profiles
    from elsewhere.attacks import AuditResult, audit
    from elsewhere.engines import batch
    from elsewhere.histories import History, in_zones, read, read_users, read_weights
    from elsewhere.looking import Look, look
    from elsewhere.model.distances import distance
    from elsewhere.model.errors import (
        ElsewhereError,
        Infeasible,
        InputError,
        PrivacyNotMet,
        TargetMismatch,
        TooFewReleased,
        Unchanged,
    )
    from elsewhere.model.histogram import Histogram, Profile
    from elsewhere.model.kinds import Kind
    from elsewhere.model.places import by_kind, kinds
    from elsewhere.model.result import Certificate, Frontier, Sanitized
    from elsewhere.model.smoothing import SmoothedJS
    from elsewhere.model.spread import Spread
    from elsewhere.model.taxonomy import Taxonomy
    from elsewhere.model.trees import KindDistance, TreeDistance
    from elsewhere.plan import Plan
    from elsewhere.policy import Policy
    from elsewhere.verbs import avoid, frontier, hide, resemble
    from elsewhere.verification.verify import Check, verify

__version__ = "0.2.0"

#: Where each public name is; a module is imported when one of its names is first used.
_HOMES = {
    "elsewhere.attacks": ("AuditResult", "audit"),
    "elsewhere.engines": ("batch",),
    "elsewhere.histories": ("History", "in_zones", "read", "read_users", "read_weights"),
    "elsewhere.looking": ("Look", "look"),
    "elsewhere.model.distances": ("distance",),
    "elsewhere.model.errors": (
        "ElsewhereError",
        "Infeasible",
        "InputError",
        "PrivacyNotMet",
        "TargetMismatch",
        "TooFewReleased",
        "Unchanged",
    ),
    "elsewhere.model.histogram": ("Histogram", "Profile"),
    "elsewhere.model.kinds": ("Kind",),
    "elsewhere.model.places": ("by_kind", "kinds"),
    "elsewhere.model.result": ("Certificate", "Frontier", "Sanitized"),
    "elsewhere.model.smoothing": ("SmoothedJS",),
    "elsewhere.model.spread": ("Spread",),
    "elsewhere.model.taxonomy": ("Taxonomy",),
    "elsewhere.model.trees": ("KindDistance", "TreeDistance"),
    "elsewhere.plan": ("Plan",),
    "elsewhere.policy": ("Policy",),
    "elsewhere.verification.verify": ("Check", "verify"),
    "elsewhere.verbs": ("avoid", "frontier", "hide", "resemble"),
}

#: Modules that are reached as attributes.
_MODULES = ("evaluation", "paper", "profiles")

__all__ = [
    "AuditResult",
    "Certificate",
    "Check",
    "ElsewhereError",
    "Frontier",
    "Histogram",
    "History",
    "Infeasible",
    "InputError",
    "Kind",
    "KindDistance",
    "Look",
    "Plan",
    "Policy",
    "PrivacyNotMet",
    "Profile",
    "Sanitized",
    "SmoothedJS",
    "Spread",
    "TargetMismatch",
    "Taxonomy",
    "TooFewReleased",
    "TreeDistance",
    "Unchanged",
    "audit",
    "avoid",
    "batch",
    "by_kind",
    "distance",
    "evaluation",
    "frontier",
    "hide",
    "in_zones",
    "kinds",
    "look",
    "paper",
    "profiles",
    "read",
    "read_users",
    "read_weights",
    "resemble",
    "verify",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            module = import_module(home)
            globals().update({other: getattr(module, other) for other in names})
            return globals()[name]
    if name in _MODULES:
        return import_module(f"elsewhere.{name}")
    raise AttributeError(f"module 'elsewhere' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
