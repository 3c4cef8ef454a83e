"""Streams of the experiments on AMRI: cliques of four, with routes dealt by phase, and sensors.

[W13] §9: each stream joins each of the others on an attribute of its own, and data are drawn anew
phase by phase. Domains are not given: a pair's is as large as gives a tuple so many partners in a
window of the other stream. Some tuples describe an entity, which all four streams tell of, so that
there are results at any size of the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, permutations, product
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.kinds.eddy import EddyOp
from backend.systems.amri.routing import Order
from bench.experiments.join_running import Arrivals

N_STREAMS: Final = 4
PAIRS: Final = tuple(combinations(range(N_STREAMS), 2))
#: Partners of a tuple in the window of another stream.
RATES: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
#: A router goes by fan-outs that are at least so much apart.
MARGIN: Final = 1.15
#: Share of the tuples that describe an entity, and entities for each tuple of a window.
DESCRIBING: Final = 0.1
ENTITIES: Final = 0.2
_SPREAD: Final = 7919

#: By origin, the order of the other streams.
Routes: TypeAlias = tuple[Order, ...]


class DealtPhase(NamedTuple):
    """rates: of each pair; routes: that all tuples take; (): as the router chooses."""

    rates: tuple[float, ...]
    routes: Routes = ()


class EddyCase(NamedTuple):
    """window, phase_tuples: of each stream; phases: one after the other, after the last the first
    again; (): readings of sensors. training: tuples of each stream before anything is counted."""

    name: str
    window: int
    phase_tuples: int
    n_phases: int
    training: int
    phases: tuple[DealtPhase, ...] = ()

    @property
    def n_each(self) -> int:
        """Tuples of each stream."""
        return self.training + self.n_phases * self.phase_tuples

    @property
    def batch(self) -> int:
        """Tuples of all streams in a batch: a quarter of the windows."""
        return N_STREAMS * max(1, self.window // 4)

    @property
    def are_dealt(self) -> bool:
        """Whether phases say which routes tuples take."""
        return bool(self.phases and self.phases[0].routes)

    def routes(self, place: int) -> Routes:
        """From a tuple of each stream on."""
        if not self.phases:
            return ()
        return self.phases[place // self.phase_tuples % len(self.phases)].routes

    def arrivals(self, rng: np.random.Generator) -> Arrivals:
        """The streams in step."""
        values = self._clique(rng) if self.phases else sensors(self.n_each, rng)
        streams = np.tile(np.arange(N_STREAMS), self.n_each)
        sizes, widths = (self.window,) * N_STREAMS, (N_STREAMS - 1,) * N_STREAMS
        return Arrivals(streams, values.reshape(-1, N_STREAMS - 1), sizes, widths)

    def _clique(self, rng: np.random.Generator) -> NDArray[np.int64]:
        n = self.n_each
        rates = np.array([phase.rates for phase in self.phases])
        of = np.arange(n) // self.phase_tuples % len(self.phases)
        domains = np.maximum(1, np.round(self.window / rates)).astype(np.int64)[of]
        describes = rng.random((n, N_STREAMS)) < DESCRIBING
        entities = rng.integers(0, max(1, round(ENTITIES * self.window)), (n, N_STREAMS))
        values = np.zeros((n, N_STREAMS, N_STREAMS - 1), np.int64)
        for place, pair in enumerate(PAIRS):
            for own, other in (pair, pair[::-1]):
                drawn = rng.integers(0, domains[:, place])
                described = entities[:, own] * _SPREAD % domains[:, place]
                values[:, own, column(own, other)] = np.where(describes[:, own], described, drawn)
        return values


def column(own: int, other: int) -> int:
    """The place of the attribute that a stream joins another one by."""
    return other - (other > own)


CLIQUE: Final = EddyOp(tuple(((i, column(i, j)), (j, column(j, i))) for i, j in PAIRS))


def drifting(n_phases: int, rng: np.random.Generator) -> tuple[DealtPhase, ...]:
    """Rates drawn anew for each phase, without the highest."""
    drawn = rng.choice(RATES[:-1], (n_phases, len(PAIRS)))
    return tuple(DealtPhase(tuple(rates)) for rates in drawn.tolist())


# ------------------------------------------------------------------ routes, dealt


def _next_by_fan_out(
    origin: int, rates: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """int64[n], bool[n]: by row of rates the place of the order by next fan-out, among all of the
    origin; whether each step is clear."""
    others = [k for k in range(N_STREAMS) if k != origin]
    of = {frozenset(pair): rates[:, place] for place, pair in enumerate(PAIRS)}
    place, clear = np.zeros(len(rates), np.int64), np.zeros(len(rates), np.bool_)
    for k, (first, second, third) in enumerate(permutations(others)):
        own = [of[frozenset((origin, to))] for to in (first, second, third)]
        later = [own[1] * of[frozenset((first, second))], own[2] * of[frozenset((first, third))]]
        is_it = (MARGIN * own[0] <= np.minimum(own[1], own[2])) & (MARGIN * later[0] <= later[1])
        place[is_it], clear[is_it] = k, True
    return place, clear


@cache
def deals() -> dict[tuple[int, ...], tuple[float, ...]]:
    """By places of the orders of all origins rates that lead to them."""
    every = np.array([*product(RATES, repeat=len(PAIRS))])
    by_origin = [_next_by_fan_out(origin, every) for origin in range(N_STREAMS)]
    rows = np.flatnonzero(np.all([clear for _, clear in by_origin], axis=0))
    places = np.stack([place[rows] for place, _ in by_origin], axis=1)
    by_deal: dict[tuple[int, ...], tuple[float, ...]] = {}
    for row, of in zip(rows.tolist(), places.tolist(), strict=True):
        by_deal.setdefault(tuple(of), tuple(every[row].tolist()))
    return by_deal


def dealt(n_routes: Sequence[int], rng: np.random.Generator) -> tuple[DealtPhase, ...]:
    """Phases in which the streams use 1, 2 or 6 routes in all; as few as do."""
    while True:
        allowed = [set(rng.choice(6, n, replace=False).tolist()) for n in n_routes]
        fitting = [d for d in deals() if all(a in of for a, of in zip(d, allowed, strict=True))]
        used = [{deal[origin] for deal in fitting} for origin in range(N_STREAMS)]
        if used == allowed:
            chosen = [fitting[k] for k in _covering(fitting, rng)]
            return tuple(DealtPhase(deals()[deal], _routes(deal)) for deal in chosen)


def _covering(fitting: Sequence[tuple[int, ...]], rng: np.random.Generator) -> Iterator[int]:
    """Deals that use all routes together: next the one with most that are new."""
    left = {(origin, route) for deal in fitting for origin, route in enumerate(deal)}
    order = rng.permutation(len(fitting)).tolist()
    while left:
        best = max(order, key=lambda k: len(left & set(enumerate(fitting[k]))))
        left -= set(enumerate(fitting[best]))
        yield best


def _routes(deal: Sequence[int]) -> Routes:
    return tuple(
        [*permutations(k for k in range(N_STREAMS) if k != origin)][place]
        for origin, place in enumerate(deal)
    )


# ------------------------------------------------------------------ sensors

#: Motes, which four streams share out by where they stand; readings of a day, one about each 31 s.
MOTES: Final = 54
_A_DAY: Final = 24 * 3600 // 31 * MOTES // N_STREAMS
#: Which reading a pair is joined by: the three perfect matchings.
_READ: Final = {(0, 1): 0, (2, 3): 0, (0, 2): 1, (1, 3): 1, (0, 3): 2, (1, 2): 2}


def sensors(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """int64[n, 4, 3]: temperature (1/50 K), humidity (1/25 %), distance (m) of motes in a hall of
    40 by 30 metres: a surrogate for the readings of the Intel lab; motes and readings are made
    up."""
    spots = np.sort(rng.random((MOTES, 2)) * [40, 30], axis=0)
    mote = rng.integers(0, MOTES // N_STREAMS, (n, N_STREAMS))
    mote += np.arange(N_STREAMS) * (MOTES // N_STREAMS)
    day = np.sin(2 * np.pi * np.arange(n) / _A_DAY)[:, None]
    warmth = 20 + 4 * day + spots[mote, 0] / 10 + rng.normal(0, 0.5, mote.shape)
    damp = 40 - 6 * day + spots[mote, 1] / 10 + rng.normal(0, 1.0, mote.shape)
    distance = np.hypot(*(spots[mote] - [20, 15]).transpose(2, 0, 1))
    readings = np.stack([50 * warmth, 25 * damp, distance], axis=2).round().astype(np.int64)
    values = np.zeros((n, N_STREAMS, N_STREAMS - 1), np.int64)
    for pair, kind in _READ.items():
        for own, other in (pair, pair[::-1]):
            values[:, own, column(own, other)] = readings[:, own, kind]
    return values
