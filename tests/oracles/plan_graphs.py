"""The order of a plan's flow, found step by step among all nodes that are left."""

from __future__ import annotations

from collections.abc import Sequence


def flow_order(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[str]:
    """Again and again the first node that waits for none of those left; if all wait, the first."""
    left, ordered = list(nodes), list[str]()
    while left:
        waiting = {target for source, target in edges if source in left}
        free = next((node for node in left if node not in waiting), left[0])
        ordered.append(free)
        left.remove(free)
    return ordered
