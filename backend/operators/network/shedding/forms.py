"""Bytes of a state as tuples and as runs: compress before you drop. Card B7

A run is its values once and its interval, and of its tuples what tells when they leave and where
the run begins then: their starts, and in windows of so many arrivals their numbers, as differences.
Nothing is needed where differences are all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from backend.operators.network.shedding.runs import ShedRun

_WORD: Final = 8
#: Sizes of integers that differences are kept in.
_SIZES: Final = (1, 2, 4)


class FormBytes(NamedTuple):
    """Of the same tuples in both state forms."""

    tuples: int
    runs: int


def form_bytes(
    runs: Iterable[ShedRun], row_bytes: int, value_bytes: int, by_rows: bool
) -> FormBytes:
    """row_bytes: of a stored tuple, valid time included; value_bytes: of its values; by_rows:
    tuples leave by their arrival numbers."""
    as_tuples = as_runs = 0
    for run in runs:
        as_tuples += len(run.members) * row_bytes
        as_runs += run_bytes(run, value_bytes, by_rows)
    return FormBytes(as_tuples, as_runs)


def run_bytes(run: ShedRun, value_bytes: int, by_rows: bool) -> int:
    """Of one run. A chain's tuples end where the next begins; others need their lengths, too."""
    n = value_bytes + 2 * _WORD
    n += listed_bytes([member.start for member in run.members])
    if not run.is_chain:
        n += _each([member.end - member.start for member in run.members])
    if by_rows:
        n += _WORD + listed_bytes([member.number for member in run.members])
    return n


def listed_bytes(numbers: Sequence[int]) -> int:
    """Of whole numbers after the first, as differences."""
    return _each([later - earlier for earlier, later in pairwise(numbers)])


def _each(differences: Sequence[int]) -> int:
    if len(set(differences)) <= 1:
        return _WORD * bool(differences and len(differences) > 1)
    low, high = min(differences), max(differences)
    fits = (size for size in _SIZES if -(1 << 8 * size - 1) <= low < high < 1 << 8 * size - 1)
    return len(differences) * next(fits, _WORD)
