"""Two orders side by side: which attributes moved, with as few marks as possible."""

from __future__ import annotations

from collections.abc import Sequence
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
    old: Sequence[str], new: Sequence[str]
) -> tuple[list[OrderItem], list[OrderItem]]:
    """Both orders with their moves; attributes outside a longest common subsequence are marked."""
    kept = set(common_subsequence(old, new))
    old_place = {name: place for place, name in enumerate(old)}
    new_place = {name: place for place, name in enumerate(new)}

    def item(name: str, change: str) -> OrderItem:
        if name not in old_place or name not in new_place:
            return OrderItem(name, 0, True, change)
        return OrderItem(name, old_place[name] - new_place[name], name not in kept)

    return [item(name, "removed") for name in old], [item(name, "added") for name in new]


def common_subsequence(a: Sequence[str], b: Sequence[str]) -> list[str]:
    """A longest common subsequence of two sequences without repeats."""
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            longest[i][j] = (
                longest[i + 1][j + 1] + 1
                if a[i] == b[j]
                else max(longest[i + 1][j], longest[i][j + 1])
            )
    found, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            found.append(a[i])
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return found
