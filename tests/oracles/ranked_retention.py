"""What windows of joins keep by partners or life, tuple by tuple, the worthiest first.

Tuples of a key group are evenly old, up to the age that its oldest one has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def partners_of(whole: Mapping[str, Sequence[int]], window: str, group: int) -> int:
    """Combinations of tuples that the other windows hold for a tuple of one."""
    n = 1
    for other, sizes in whole.items():
        n *= sizes[group] if other != window else 1
    return n


def kept_by_partners(worth: Sequence[float], whole: Sequence[int], room: float) -> list[float]:
    """Of each key group, the share that finds room."""
    kept = [0.0] * len(whole)
    for group in sorted(range(len(whole)), key=lambda g: (-worth[g], -g)):
        kept[group] = max(0.0, min(1.0, room / whole[group] if whole[group] else float(room > 0)))
        room -= whole[group]
    return kept


def kept_by_life(
    worth: Sequence[float], sizes: Sequence[int], ages: Sequence[int], span: int, room: float
) -> int:
    """How many tuples stay, those that are worth most; 0 worth is worth nothing."""
    tuples = [
        worth[g] * (span - ages[g] * (k + 0.5) / n) for g, n in enumerate(sizes) for k in range(n)
    ]
    return len(sorted(tuples, reverse=True)[: int(room)])
