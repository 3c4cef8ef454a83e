"""What a window that may shed wants and has of memory that many share: pages by accuracy. [AL11]

A page is worth the accuracy that its tuples add, by the curve A(M) of the window as it is. Starts
that are kept beside of tuples that were shed take their part of the pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from backend.operators.network.shedding.curve import AccuracyCurve, read_curve
from backend.operators.network.shedding.options import ShedOptions
from backend.systems.cals.knobs import SUM, WORST
from storage.vocabulary.memory import PAGE_BYTES, Bid, MemoryUse, Tier

#: The only part of a bid.
_PART: Final = "window"
#: Pages that are asked for in each shard before anything is known.
_FIRST: Final = 256
#: A larger limit is taken from this share on, so that tuples are not turned for a page; what might
#: be beside is taken to be larger by it at least, and less only where it is less by as much.
_MORE: Final = 0.125
_NS: Final = 1000
#: Of the last batches, arrivals count with this weight.
_NEW: Final = 0.125
#: Bytes of a tuple that is kept beside: its valid time.
_BESIDE: Final = 16


def beside_bytes(options: ShedOptions) -> float:
    """Bytes kept beside of a tuple that is shed while it would be in the window."""
    if options.needs_exact:
        return _BESIDE
    return _BESIDE / options.audit_groups if options.audit == "sampled" else 0.0


@dataclass(slots=True)
class StatePool:
    """The pages of a window. limit_bytes: of its own, 0 = none; weight: of its accuracy; price:
    microseconds a tuple that one per cent of it is worth; objective: by which it bids. n_shards:
    that it is in; row_bytes: of a tuple; beside: bytes of it once it is shed, on average. as_runs:
    a limit is of the bytes of so many tuples as runs; run_bytes: of one among its runs, lately at
    most, 0 = not known.
    in_force: pages of each shard that its limit is of, None = the pool of the run has none. curve:
    that it bids by; enough: tuples, more of which are not wanted, 0 = all are. arrivals: of a
    batch, lately; lacking: tuples in memory and beside that there may be in all shards by the end
    of the next batch."""

    limit_bytes: int = 0
    weight: float = 1.0
    price: float = 0.0
    objective: str = SUM
    n_shards: int = 1
    row_bytes: int = 1
    beside: float = 0.0
    as_runs: bool = False
    run_bytes: float = 0.0
    in_force: int | None = None
    curve: AccuracyCurve | None = None
    enough: int = 0
    arrivals: float = 0.0
    lacking: float = 0.0

    def observe(
        self,
        curve: AccuracyCurve | None,
        n_arrived: int,
        enough: int = 0,
        n_resident: int = 0,
        audit_bytes: int = 0,
        run_bytes: int = 0,
    ) -> None:
        """A batch is over. n_resident: tuples in memory, of so many bytes as runs; audit_bytes: of
        what is beside."""
        self.arrivals += _NEW * (n_arrived - self.arrivals)
        self.enough = enough
        if curve is not None and curve.is_new:
            points = tuple(point._replace(at_once=None, going=()) for point in curve.points)
            self.curve = curve._replace(points=points, values=(), is_new=False)
        each = run_bytes / n_resident if n_resident else self.run_bytes
        if not (1 - _MORE) * self.run_bytes <= each <= self.run_bytes:
            self.run_bytes = (1 + _MORE) * each
        gone = audit_bytes / self._gone if self._gone else 0.0
        now = n_resident + gone + max(self.arrivals, n_arrived)
        if not (1 - _MORE) * self.lacking <= now <= self.lacking:
            self.lacking = (1 + _MORE) * now

    @property
    def kept_bytes(self) -> float:
        """Of a tuple in memory, in the form of the state."""
        return self.run_bytes if self.as_runs and self.run_bytes else self.row_bytes

    @property
    def _gone(self) -> float:
        """Of a tuple that was shed, on average."""
        return self.kept_bytes * self.beside / _BESIDE if self.as_runs else self.beside

    @property
    def _saved(self) -> float:
        """Of a tuple of a limit, once it is shed."""
        gone = self.row_bytes * self.beside / _BESIDE if self.as_runs else self.beside
        return max(1.0, self.row_bytes - gone)

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """What is wanted in each shard: per cent of accuracy that a page of a run of them adds; or,
        where the worst is first, that are lacking before. The first is worth all of it, as there is
        no answer without."""
        if self.curve is None:
            return ()
        first = max(1, self._pages(min(self._per_page, self.curve.n_window)))
        walk = self._ranked if self.objective == WORST else self._adding
        return (Tier(first, 100.0), *walk(self.curve, first))

    def _adding(self, curve: AccuracyCurve, had: int) -> Iterator[Tier]:
        """Of the concave envelope."""
        least, known = 100.0, self._accuracy(curve.envelope)
        for n_pages, accuracy in self._steps(curve.envelope, had):
            least = min(least, max(0.0, 100 * (accuracy - known) / n_pages))
            yield Tier(n_pages, least)
            known = accuracy

    def _ranked(self, curve: AccuracyCurve, had: int) -> Iterator[Tier]:
        """Of the curve, in steps of a per cent at most."""
        known = self._accuracy(curve.rising)
        for n_pages, accuracy in self._steps(curve.rising, had):
            rises = max(0.0, 100 * (accuracy - known))
            ends = np.linspace(0, n_pages, 1 + min(n_pages, max(1, math.ceil(rises)))).round()
            for begin, end in pairwise(ends.astype(int).tolist()):
                lacks = 100 * (1 - known) - rises * begin / n_pages
                yield Tier(end - begin, max(0.0, lacks))
            known = max(known, accuracy)

    def _steps(
        self, line: tuple[tuple[float, float], ...], had: int
    ) -> Iterator[tuple[int, float]]:
        """Pages from one point of a line to the next, and the accuracy there."""
        for tuples, accuracy in line:
            n_pages = self._pages(min(tuples, self.enough or math.inf)) - had
            if n_pages > 0:
                yield n_pages, accuracy
                had += n_pages

    def _accuracy(self, line: tuple[tuple[float, float], ...]) -> float:
        """With the first pages."""
        axis, accuracies = zip(*line, strict=True)
        return float(np.interp(self._per_page, axis, accuracies))

    @property
    def _per_page(self) -> float:
        """Tuples in all that a page in each shard holds."""
        return self.n_shards * PAGE_BYTES / self.kept_bytes

    def _pages(self, tuples: float) -> int:
        """In each shard, for so many tuples in all; the others of the window are beside."""
        whole = 0.0 if self.curve is None else self.curve.n_window
        beside = max(0.0, whole - tuples) * self._gone
        return math.ceil((tuples * self.kept_bytes + beside) / (self.n_shards * PAGE_BYTES))

    @property
    def wants(self) -> list[Tier]:
        """What its curve says, in nanoseconds a microsecond of the price; and, last of all bids,
        room to grow into until it is looked at again."""
        worth = self.weight * _NS
        tiers = self.tiers
        known = sum(tier.n_pages for tier in tiers)
        arriving = math.ceil(2 * self.arrivals / self._per_page)
        room = max(known, arriving, 4) if known else _FIRST
        return [*(Tier(n, per_cent * worth) for n, per_cent in tiers), Tier(room, 0.0)]

    def bid(self, entity: str, kept: str) -> Bid:
        """Of a window. entity: of its operator; kept: of what that keeps."""
        bid = Bid(
            {_PART: self.wants},
            0,
            self.n_shards,
            self.arrivals,
            entity,
            {_PART: kept},
            "ns",
            "state_pool_bytes",
            endless=True,
            rate=self.price,
            priced="accuracy_price",
            ranked=self.objective == WORST,
        )
        return bid.limited(self.limit_bytes)

    @property
    def own_pages(self) -> int | None:
        """In each shard, by its own limit; None: it has none."""
        return self.limit_bytes // (PAGE_BYTES * self.n_shards) if self.limit_bytes else None

    def grant(self, n_pages: int | None) -> None:
        """Pages of each shard by the pool of the run. Fewer are obeyed at once."""
        now = self.in_force
        is_more = now is not None and n_pages is not None and n_pages > now
        if is_more and n_pages is not None and n_pages <= (1 + _MORE) * (now or 0):
            return
        self.in_force = n_pages

    @property
    def n_pages(self) -> int | None:
        """That it may have in each shard; None: as many as it wants."""
        limits = [pages for pages in (self.own_pages, self.in_force) if pages is not None]
        return min(limits, default=None)

    def limited(self, memory_tuples: int) -> int:
        """Tuples that it may keep in a shard, if it may keep so many by itself; 0 = all. What may
        be beside then is left room for; where that is all there is, one."""
        if self.n_pages is None:
            return memory_tuples
        most = self.n_pages * PAGE_BYTES // self.row_bytes
        fits = max(1, min(most, math.floor(self._left / self._saved)))
        return min(memory_tuples, fits) if memory_tuples else fits

    @property
    def _left(self) -> float:
        """Bytes of a shard, were all that there may be beside."""
        pages = self.n_pages or 0
        return pages * PAGE_BYTES - self.lacking / self.n_shards * self._gone

    @property
    def is_full_of_audit(self) -> bool:
        """Whether what may be beside leaves no room for a tuple."""
        return self.n_pages is not None and self._left < self._saved

    def rows(self, tuples: float) -> float:
        """Rows that take as much as so many tuples in the form of the state: a limit for them."""
        return tuples * self.kept_bytes / self.row_bytes

    def use(self, used: int) -> MemoryUse:
        """Of a batch, in all shards, with bytes in use."""
        asked = sum(tier.n_pages for tier in self.wants)
        granted = asked if self.n_pages is None else min(asked, self.n_pages)
        return MemoryUse(granted * PAGE_BYTES * self.n_shards, {_PART: used})

    def state(self) -> dict[str, Any]:
        """What a run that is resumed bids, and has, until the next batch."""
        return {
            "curve": self.curve,
            "enough": self.enough,
            "in_force": self.in_force,
            "arrivals": self.arrivals,
            "lacking": self.lacking,
            "run_bytes": self.run_bytes,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take that up."""
        self.curve, self.in_force = read_curve(state["curve"]), state["in_force"]
        self.enough, self.arrivals = state["enough"], state["arrivals"]
        self.lacking, self.run_bytes = state["lacking"], state["run_bytes"]
