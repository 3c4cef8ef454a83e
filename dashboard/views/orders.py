"""Two orders side by side: which attributes moved, with as few marks as possible."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class OrderItem(NamedTuple):
    """One attribute in an order. moved: places up (> 0) or down (< 0) from old to new.

    marked: it is one of the few whose move explains the change (the rest kept their order).
    change: 'added' (only in the new order), 'removed' (only in the old one), or ''.
    """

    attribute: str
    moved: int
    marked: bool
    change: str = ""


def compare_orders(
    old: Sequence[str], new: Sequence[str], movers: Collection[str] = ()
) -> tuple[list[OrderItem], list[OrderItem]]:
    """Both orders with their moves; attributes outside the common subsequence are marked, and
    ``movers``, which the decision names."""
    kept = set(common_subsequence(old, new)) - set(movers)
    old_place = {name: place for place, name in enumerate(old)}
    new_place = {name: place for place, name in enumerate(new)}

    def item(name: str, change: str) -> OrderItem:
        if name not in old_place or name not in new_place:
            return OrderItem(name, 0, True, change)
        return OrderItem(name, old_place[name] - new_place[name], name not in kept)

    return [item(name, "removed") for name in old], [item(name, "added") for name in new]


def common_subsequence(a: Sequence[str], b: Sequence[str]) -> list[str]:
    """A longest common subsequence of two sequences without repeats; of several the one whose
    members moved least, so that what is outside it moved most."""
    places = {name: place for place, name in enumerate(b)}
    moved = [abs(places.get(name, place) - place) for place, name in enumerate(a)]
    best = [[(0, 0)] * (len(b) + 1) for _ in range(len(a) + 1)]  # (length, -places moved)
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1])
            if a[i] == b[j]:
                length, still = best[i + 1][j + 1]
                best[i][j] = max(best[i][j], (length + 1, still - moved[i]))
    common, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            common.append(a[i])
            i, j = i + 1, j + 1
    return common
