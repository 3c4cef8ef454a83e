"""Ticket routing: the lottery of Eddies, a baseline without an order. [L12] §6, [L07] §5.2

Every construct holds tickets. It gets one when it receives a tuple and gives one back when it
returns the tuple, so it keeps one for each tuple it drops; the next construct is drawn among the
useful ones in proportion to their tickets. [L07] words it as +1 for a drop and -1 for a pass,
which with a floor of 1 draws at random. Seeded: this simulation is the specification of whatever
executes such plans, draw by draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from backend.operators.selection.tickets import FIRST_TICKETS
from backend.systems.asc.constructs import ConstructSet, Words
from backend.systems.asc.matching import Regions, StopRule
from backend.systems.asc.walk import Routed

_MASK: Final = (1 << 64) - 1


class Lottery:
    """SplitMix64: 64-bit draws from a 64-bit seed, the same in every language."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def draw(self, n: int) -> int:
        """A number in 0..n-1: the next 64 bits modulo n."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return (z ^ (z >> 31)) % n


@dataclass(frozen=True, slots=True)
class TicketTrace(Routed):
    """What the lottery did. tickets: held at the end, in the plan's order."""

    tickets: tuple[int, ...]


def ticket_trace(
    constructs: ConstructSet,
    regions: Regions,
    order: Sequence[str],
    stop_rule: StopRule,
    lottery: Lottery,
    tickets: Sequence[int] | None = None,
) -> TicketTrace:
    """Route T tuples, regions intp[T, n] in schema order, one after the other.

    Per visit: the useful constructs (walk.py) in the plan's order, their tickets laid end to end,
    one draw below the total (taken even when one construct is left), the construct it falls on.
    tickets: held at the start, in the plan's order; FIRST_TICKETS each when None.
    """
    state = _Tables(constructs, order, stop_rule)
    held = list(tickets) if tickets is not None else [FIRST_TICKETS] * len(order)
    visited = np.zeros((len(regions), len(order)), dtype=np.bool_)
    dropped = np.zeros(len(order), dtype=np.intp)
    finals: list[int] = []
    for row, hit in enumerate(regions[:, state.columns].tolist()):
        grb, left = state.initial, list(range(len(order)))
        while useful := [place for place in left if grb & state.needs[place]]:
            place = _drawn(useful, held, lottery)
            grb &= state.qrb(place, hit[place])
            left.remove(place)
            visited[row, place] = True
            if not grb:
                held[place] += 1
                dropped[place] += 1
        finals.append(grb)
    grbs = state.words(finals)
    return TicketTrace(grbs, visited, dropped, tuple(held))


def _drawn(useful: Sequence[int], held: Sequence[int], lottery: Lottery) -> int:
    ball = lottery.draw(sum(held[place] for place in useful))
    for place in useful:
        ball -= held[place]
        if ball < 0:
            return place
    raise AssertionError("a draw below the total falls on a construct")


class _Tables:
    """The constructs in the plan's order, bitmaps as Python integers."""

    def __init__(self, constructs: ConstructSet, order: Sequence[str], stop_rule: StopRule) -> None:
        position = {attribute: i for i, attribute in enumerate(constructs.attributes)}
        self._constructs = [constructs.constructs[attribute] for attribute in order]
        self._rows: list[dict[int, int]] = [{} for _ in order]
        self.columns = [position[attribute] for attribute in order]
        self.n_words = constructs.n_words
        self.initial = _as_int(constructs.initial)
        everything = (1 << 64 * self.n_words) - 1
        is_drop = stop_rule == "drop"
        self.needs = [everything if is_drop else _as_int(c.qub) for c in self._constructs]

    def qrb(self, place: int, region: int) -> int:
        """The region's bitmap, converted when first hit."""
        rows = self._rows[place]
        if region not in rows:
            rows[region] = _as_int(self._constructs[place].qrb[region])
        return rows[region]

    def words(self, values: Sequence[int]) -> Words:
        """uint64[T, W] of integers."""
        words = np.zeros((len(values), self.n_words), dtype=np.uint64)
        for row, value in enumerate(values):
            words[row] = np.frombuffer(value.to_bytes(8 * self.n_words, "little"), dtype="<u8")
        return words


def _as_int(words: Words) -> int:
    return int.from_bytes(words.astype("<u8").tobytes(), "little")
