"""The paper to the letter: its algorithms in plain Python, one a file, to be read beside its pseudocode.

Nobody has to wait for them: `elsewhere.hide`, `elsewhere.resemble` and `elsewhere.avoid` answer the same questions
faster and with more constraints. These here are the oracles of the tests and the baselines of the benchmarks.

============== =================================== =========================================
`lho`          Location Hiding Optimal             shortest path, the SLH problem
`ro`, `ao`     Resemblance and Avoidance Optimal   constrained shortest or longest path, TR and TA
`rh`, `ah`     Resemblance and Avoidance Heuristic greedy moves of counts, TR and TA
`brute_force`  not in the paper                    every histogram there is, all three problems
============== =================================== =========================================

Grigorios Loukides and George Theodorakopoulos: Location histogram privacy by sensitive location hiding and target
histogram avoidance/resemblance (extended version).
"""

from elsewhere.paper.brute_force import BruteForce, brute_force
from elsewhere.paper.heuristics import Move, ah, best_move, rh
from elsewhere.paper.lho import lho
from elsewhere.paper.ro import ao, ro

__all__ = ["BruteForce", "Move", "ah", "ao", "best_move", "brute_force", "lho", "rh", "ro"]
