"""Chains of a scheduler: progress charts of paths, the partition in force, the one before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboard.components.names import named
from storage.vocabulary.records import Decision

KIND: Final = "chains"
#: Microseconds of work for an element, and elements left of it, beyond which an estimate is none:
#: a day of work, and as many elements. What is left behind many joins is a product of estimates.
ABSURD: Final = 86_400e6


class ChainOf(NamedTuple):
    """A chain. slope: elements it releases per microsecond; moved: the other partition has no such
    chain."""

    operators: tuple[str, ...]
    slope: float
    moved: bool


class PathChart(NamedTuple):
    """A path. points: (microseconds of work for each element that came, elements left of it)
    before its first and behind each of its operators. edges: places of the points at the ends of
    chains, under the fresh partition and under the one before."""

    operators: tuple[str, ...]
    points: list[tuple[float, float]]
    edges: list[int]
    edges_before: list[int]

    @property
    def is_sound(self) -> bool:
        """Whether its estimates can be drawn beside others."""
        return all(
            math.isfinite(number) and abs(number) < ABSURD
            for point in self.points
            for number in point
        )


class ChainsView(NamedTuple):
    """The last evaluation of chains. adopted: the fresh ones are in force."""

    fresh: list[ChainOf]
    before: list[ChainOf]
    paths: list[PathChart]
    batch: int
    adopted: bool
    explanation: str
    unit: str
    seq: int


def build_chains(decision: Decision) -> ChainsView:
    """What a decision on chains compared."""
    detail = decision.detail or {}
    fresh, before = _read(detail.get("chains")), _read(detail.get("chains_before"))
    paths = [
        PathChart(
            tuple(map(str, chart["operators"])),
            [(float(time), float(size)) for time, size in chart["points"]],
            _ends(chart["operators"], fresh),
            _ends(chart["operators"], before),
        )
        for chart in detail.get("charts") or ()
    ]
    return ChainsView(
        _against(fresh, before),
        _against(before, fresh),
        paths,
        decision.batch,
        decision.verdict == "switched",
        named(decision.explanation),
        decision.unit_id,
        decision.seq,
    )


_Chains = Sequence[tuple[tuple[str, ...], float]]


def _read(chains: Sequence[Mapping[str, Any]] | None) -> list[tuple[tuple[str, ...], float]]:
    return [(tuple(map(str, chain["operators"])), float(chain["slope"])) for chain in chains or ()]


def _against(chains: _Chains, others: _Chains) -> list[ChainOf]:
    known = {operators for operators, _ in others}
    return [ChainOf(own, slope, bool(others) and own not in known) for own, slope in chains]


def _ends(operators: Sequence[str], chains: _Chains) -> list[int]:
    """The points of a path where one chain ends and the next begins, its first and last among
    them; [] where no chain is known."""
    chain_of = {name: place for place, (own, _) in enumerate(chains) for name in own}
    if not any(name in chain_of for name in operators):
        return []
    points = [0]
    for place, name in enumerate(operators):
        last = place + 1 == len(operators)
        if last or chain_of.get(operators[place + 1]) != chain_of.get(name):
            points.append(place + 1)
    return points
