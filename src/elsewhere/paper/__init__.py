"""The algorithms of the paper as published, in plain Python: one per file, to be read beside the pseudocode.

`elsewhere.hide`, `elsewhere.resemble` and `elsewhere.avoid` solve the same problems faster and with more constraints.
The functions here are the oracles of the tests and the baselines of the benchmarks.

================= =================================== =========================================
`lho`             Location Hiding Optimal             shortest path, the SLH problem
`ro`, `ao`        Resemblance and Avoidance Optimal   constrained shortest or longest path, TR and TA
`ro_every_length` RO as the paper's text reads        the best path of every quality loss
`rh`, `ah`        Resemblance and Avoidance Heuristic greedy moves of counts, TR and TA
`rh_tabulated`    RH with its terms computed once     the same moves
`brute_force`     not in the paper                    all histograms, all three problems
`fewest_added`    not in the paper                    all ways to add visits, until a distance is met
================= =================================== =========================================

Grigorios Loukides and George Theodorakopoulos, "Location histogram privacy by Sensitive Location Hiding and Target
Histogram Avoidance/Resemblance", Knowledge and Information Systems, 2020, doi:10.1007/s10115-019-01432-4.
"""

from elsewhere.paper.brute_force import BruteForce, brute_force, fewest_added
from elsewhere.paper.heuristics import Move, ah, best_move, rh, rh_tabulated
from elsewhere.paper.lho import lho
from elsewhere.paper.ro import ao, ro, ro_every_length

__all__ = [
    "BruteForce",
    "Move",
    "ah",
    "ao",
    "best_move",
    "brute_force",
    "fewest_added",
    "lho",
    "rh",
    "rh_tabulated",
    "ro",
    "ro_every_length",
]
