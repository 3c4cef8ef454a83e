"""What a window under a limit lacks, by value group: its runs, and what is left of them. [AL11]"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from heapq import nsmallest
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import dtype_of
from backend.operators.network.core.strings import Strings
from backend.operators.network.expressions.arrow import arrow_column
from backend.operators.network.relational.packing import unpack
from backend.operators.network.shedding.temporal import Values

#: Value groups that are told of, and pieces of their runs.
MOST_GROUPS: Final = 40
MOST_PIECES: Final = 200

#: A run as long as it would be without a limit, and a piece that is left of it: start and end of
#: both. None: the run is not known, or nothing is left.
RunPiece: TypeAlias = tuple[int | None, int | None, int | None, int | None]


class ShedGroup(NamedTuple):
    """A value group of which tuples were shed that would still be in the window. n_shed: how many;
    loss: of accuracy (R1), as expected; pieces: of its runs, by start; n_pieces: with those that
    there was no room for."""

    values: Values
    n_shed: int
    loss: float
    pieces: tuple[RunPiece, ...]
    n_pieces: int


def bounded(groups: Iterable[ShedGroup]) -> tuple[ShedGroup, ...]:
    """At most MOST_GROUPS of which most was shed, with at most MOST_PIECES in all: the last of each
    that has more than its equal part of the room."""
    most = nsmallest(MOST_GROUPS, groups, key=lambda group: (-group.n_shed, group.values))
    room, kept = MOST_PIECES, dict[Values, tuple[RunPiece, ...]]()
    shortest = sorted(most, key=lambda group: len(group.pieces))
    for n_left, group in zip(range(len(shortest), 0, -1), shortest, strict=True):
        own = group.pieces[-(room // n_left) :] if room >= n_left else ()
        kept[group.values] = own
        room -= len(own)
    return tuple(group._replace(pieces=kept[group.values]) for group in most)


def read_values(
    packed: Sequence[Values], fields: Sequence[Attribute], strings: Strings
) -> list[tuple[str, ...]]:
    """Packed values (relational.packing) as people read them, in the same order."""
    if not packed:
        return []
    columns = unpack(np.array(packed, np.int64), [dtype_of(field.type) for field in fields])
    read = [
        map(_text, arrow_column(column, field.type, strings).to_pylist())
        for column, field in zip(columns, fields, strict=True)
    ]
    return list(zip(*read, strict=True)) if read else [()] * len(packed)


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(" ", "auto").removesuffix("+00:00")
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
