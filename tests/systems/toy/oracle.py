"""Slow and obvious twins: which tuples pass, and which shares a stream comes to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def passes(draws: Iterable[int], share: float) -> list[int]:
    """Places of the tuples that pass, by their draws of 32 bits."""
    return [place for place, draw in enumerate(draws) if draw / 2**32 < share]


def shares(batches: Sequence[Sequence[int]], first: float, bound: int) -> list[float]:
    """The share each batch of draws runs under."""
    found = [first]
    for draws in batches:
        is_over = len(passes(draws, found[-1])) > bound
        found.append(found[-1] / 2 if is_over else found[-1])
    return found[:-1]
