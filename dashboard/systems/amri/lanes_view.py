"""Bits of the states' indexes over time, from the decisions that moved them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from storage.tables.rows import DecisionEntry

#: The kinds of decisions that move bits.
BITS: Final = ("index bits", "access methods")
#: Lanes that are drawn: those whose bits moved most often.
MOST_LANES: Final = 12


class BitsPoint(NamedTuple):
    """Bits by attribute from a batch on; time: of its record, Unix s. why: in words; seq: of the
    decision, None at the ends of the record."""

    batch: int
    time: float
    bits: tuple[int, ...]
    seq: int | None = None
    why: str = ""


class BitsLane(NamedTuple):
    """The course of a state's bits, oldest first: from the first batch to the last."""

    state: str
    attributes: tuple[str, ...]
    points: tuple[BitsPoint, ...]

    @property
    def n_moves(self) -> int:
        """How often its bits moved."""
        return sum(point.seq is not None for point in self.points)


def build_lanes(
    entries: Sequence[DecisionEntry], first: tuple[int, float], last: tuple[int, float]
) -> list[BitsLane]:
    """A lane for each state whose bits moved, by name. first, last: batch and time of the record's
    ends."""
    moved: dict[tuple[str, str], list[DecisionEntry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.decision.seq):
        if entry.decision.kind in BITS:
            detail = entry.decision.detail
            moved.setdefault((detail["eddy"], detail["state"]), []).append(entry)
    lanes = [_lane(state, own, first, last) for (_, state), own in moved.items()]
    lanes.sort(key=lambda lane: (-lane.n_moves, lane.state))
    return sorted(lanes[:MOST_LANES], key=lambda lane: lane.state)


def _lane(
    state: str,
    entries: Sequence[DecisionEntry],
    first: tuple[int, float],
    last: tuple[int, float],
) -> BitsLane:
    points = [BitsPoint(*first, tuple(entries[0].decision.old["bits"]))]
    for entry in entries:
        decision = entry.decision
        points.append(
            BitsPoint(
                decision.batch,
                entry.time,
                tuple(decision.new["bits"]),
                decision.seq,
                decision.explanation,
            )
        )
    points.append(BitsPoint(*last, points[-1].bits))
    return BitsLane(state, tuple(entries[0].decision.detail["attributes"]), tuple(points))
