"""RO and AO on the graph that the paper's runtimes speak of, which 'has more edges' when the threshold is larger.

The pseudocode's graph has the same edges for every threshold. Here those whose quality error alone exceeds it are left
out, and with them the nodes that nothing leads to: no solution goes there. The rest is `elsewhere.paper.ro`.
"""

from __future__ import annotations

from elsewhere.model.histogram import Histogram, TableLike
from elsewhere.model.question import Goal
from elsewhere.paper.ro import Edges, Node, vectors
from elsewhere.paper.setting import Setting, prepare


def optimal(goal: Goal, histogram: Histogram, target: TableLike, max_quality_loss: float) -> float:
    """The best privacy distance (JS) within a maximum quality loss (JS).

    >>> h = Histogram({"a": 7, "b": 2, "c": 3, "d": 2, "e": 13, "f": 12, "g": 8, "h": 3})
    >>> target = {"a": 10, "b": 8, "c": 6, "d": 2, "e": 13, "f": 4, "g": 4, "h": 3}
    >>> round(optimal("resemble", h, target, 0.05), 7)
    0.0045983
    """
    sign = 1 if goal == "resemble" else -1
    setting = prepare(histogram, target, max_quality_loss, "js", "js", "original")
    graph = _graph(setting, sign)
    vector = vectors(graph, setting.threshold)[len(setting.locations), setting.size]
    return sign * vector[-1][1]


def _graph(setting: Setting, sign: int) -> dict[Node, Edges]:
    graph: dict[Node, Edges] = {(0, 0): []}
    layer = [0]
    for i, (original, target) in enumerate(zip(setting.original, setting.target, strict=True)):
        allowed = [
            (k, sign * setting.p(target, k), q_err)
            for k in range(setting.size + 1)
            if (q_err := setting.q(original, k)) <= setting.threshold
        ]
        layer = sorted({j + k for j in layer for k, _, _ in allowed if j + k <= setting.size})
        for j in layer:
            graph[i + 1, j] = [((i, j - k), k, p, q) for k, p, q in allowed if (i, j - k) in graph]
    return graph
