"""Bytes of a state as tuples and as runs: compress before you drop. Card B7

As tuples, each is a row: its values and its valid time. As runs, values are there once for all runs
of a value group, with where and how many its tuples are; each tuple, in order of start, is a byte
that says how many bytes its four differences take, 0, 1, 4 or 8 each, and these: from the end
before to its start, of its length, of its arrival, and of where it is in the window, less what is
usual. Of contiguous readings of one length the byte is all there is. A tuple's cost hangs on the
one before alone, so that what is added or taken is known without a walk.
"""

from __future__ import annotations

from typing import Final, NamedTuple

WORD: Final = 8
#: Of a value group: where its tuples are, and how many, four bytes each.
_PLACE_BYTES: Final = 8


class FormBytes(NamedTuple):
    """Of the same tuples in both state forms."""

    tuples: int
    runs: int


def row_bytes(n_values: int) -> int:
    """Of a tuple kept as such."""
    return WORD * (n_values + 2)


def group_bytes(n_values: int) -> int:
    """Of a value group whose tuples are kept as runs, without these."""
    return WORD * n_values + _PLACE_BYTES
