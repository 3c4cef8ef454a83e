"""The profiler: profile window, matrix view and costs of one query's filters. [B05] §4.3.1"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from backend.adaptive.ordering.findings import Situation
from backend.adaptive.ordering.ranks import PS_PER_US, Picoseconds, picoseconds
from backend.adaptive.ordering.view import Columns, MatrixView
from backend.adaptive.ordering.window import ProfileWindow
from backend.model.filters import DROPPED, BatchFiltered, Filter, Outcomes
from backend.systems.agreedy.costs import CostWindow
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.agreedy.sparing import KnownSample, marked, unmarked, with_passes


class Taken(NamedTuple):
    """One step of the window: what came in and what went out, as bitsets.

    outcomes: int8[k, n], what came in, columns by filter; is_complete: all filters were asked.
    n_expired: tuples that went out. sample: all that is known of the batch, where filters were
    spared; only whole tuples are in the window.
    """

    inserted: Columns
    expired: Columns
    outcomes: Outcomes
    n_passed: int
    n_expired: int
    is_complete: bool
    sample: KnownSample

    @property
    def n_new(self) -> int:
        """Profile tuples that came in, passes left aside."""
        return len(self.outcomes)

    @property
    def priceable(self) -> KnownSample:
        """What orders can be priced on: nothing where not every filter was to be asked."""
        return self.sample[: None if self.is_complete else 0]


class Profiler:
    """Keeps what the re-optimizer asks for. Filters are known by their place in ``names``."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self.filters = tuple(filters)
        self.names = tuple(f.name for f in filters)
        self.n_native = sum(f.kind == "native" for f in filters)
        self.view = MatrixView(range(len(filters)), self.n_native)
        self.window = ProfileWindow(len(filters))
        self.costs = CostWindow()

    @property
    def order(self) -> tuple[str, ...]:
        """The filters by position."""
        return tuple(self.names[x] for x in self.view.order)

    @property
    def n_tuples(self) -> int:
        """Tuples of the window, passes included."""
        return len(self.window) + self.window.n_passed

    def take(self, event: BatchFiltered, knobs: AgreedyKnobs, partial: bool) -> Taken:
        """Slide the window and take in the timings. partial: incomplete tuples may come in."""
        outcomes = self._fitted(event, partial)
        n_passed, whole = event.n_passed if outcomes is not None else 0, event.whole
        if outcomes is None:
            outcomes, whole = np.zeros((0, len(self.names)), dtype=np.int8), None
        sample = with_passes(outcomes, n_passed)
        if whole is not None:
            outcomes, n_passed = unmarked(outcomes[whole.rows]), whole.n_passed
        is_complete = event.probing.rule == "all"
        inserted = self.window.add(outcomes, n_passed, event.time_s, is_complete)
        since = None if knobs.keep_s is None else event.time_s - knobs.keep_s
        held = len(self.window)
        expired = self.window.expire(knobs.keep_tuples, since)
        self.costs.add(event.costs)
        n_expired = held - len(self.window)
        return Taken(
            inserted=inserted,
            expired=expired,
            outcomes=outcomes,
            n_passed=n_passed,
            n_expired=n_expired,
            is_complete=is_complete,
            sample=sample,
        )

    def refresh(self, taken: Taken) -> None:
        """Bring V up to date with one step of the window."""
        self.view.update(taken.inserted, taken.expired)

    def situation(self, knobs: AgreedyKnobs) -> Situation:
        """What an algorithm decides on."""
        return Situation(
            self.view,
            self.window.columns,
            self.prices(knobs),
            self.n_tuples,
            knobs.rule,
            self.window.is_complete,
        )

    def prices(self, knobs: AgreedyKnobs) -> tuple[Picoseconds, ...]:
        """Costs by filter: timed ones, and the knob's for native filters."""
        timed = self.costs.picoseconds(self.names)
        native = picoseconds(knobs.native_cost_us)
        kinds = (f.kind for f in self.filters)
        return tuple(native if k == "native" else t for k, t in zip(kinds, timed, strict=True))

    def price_us(self, knobs: AgreedyKnobs) -> dict[str, float]:
        """The same by name, in microseconds."""
        prices = self.prices(knobs)
        return {name: ps / PS_PER_US for name, ps in zip(self.names, prices, strict=True)}

    def call_us(self) -> dict[str, float]:
        """What calls take besides their tuples, microseconds, of filters that are priced so."""
        timed = (f.name for f in self.filters if f.kind != "native")
        return {name: self.costs.cost(name).fixed for name in timed}

    def adopt(self, order: Sequence[int]) -> None:
        """Another order is in force: V follows."""
        self.view.reorder(order, self.window.columns)

    def empty(self) -> int:
        """Flush the window; how many tuples it held."""
        held = len(self.window)
        self.window.clear()
        self.view.rebuild(self.window.columns)
        return held

    def keep_complete(self) -> int:
        """Flush the tuples not every filter was asked about; how many."""
        held, self.window = len(self.window), self.window.completed()
        self.view.rebuild(self.window.columns)
        return held - len(self.window)

    def ordered_like(self, order: Sequence[str]) -> list[int]:
        """The filters, native ones first, those named in their order, the others behind them."""
        place, last = {name: i for i, name in enumerate(order)}, len(order)
        return sorted(
            range(len(self.names)),
            key=lambda x: (x >= self.n_native, place.get(self.names[x], last)),
        )

    def carried_to(self, filters: Sequence[Filter]) -> tuple[Profiler, str]:
        """The profiler of a query with other filters, and what was kept and flushed, in words.

        Filters are the same when their conditions are. Common filters keep their relative order,
        new ones go to the end of their segment. The window is kept when filters were only removed
        and every tuple of it is complete: then it is the window the fewer filters would have had.
        Otherwise it is flushed, since bits are missing.
        """
        profiler, held = Profiler(filters), len(self.window)
        index_of = {f.condition: i for i, f in enumerate(self.filters)}
        now_called = {}
        common = []
        for new in profiler.filters:
            known = index_of.get(new.condition)
            if known is not None:
                common.append(known)
                now_called[self.names[known]] = new.name
                profiler.costs.carry(new.name, self.costs, self.names[known])
        if held and len(common) == len(profiler.names) and common and self.window.is_complete:
            profiler.window = self.window.of_filters(common)
            words = f"{len(profiler.window)} of {held} profile tuples kept"
        else:
            words = f"{held} profile tuples flushed"
        order = [now_called[name] for name in self.order if name in now_called]
        profiler.adopt(profiler.ordered_like(order))
        return profiler, words

    def _fitted(self, event: BatchFiltered, partial: bool) -> KnownSample | None:
        """The outcomes with columns by filter; None when they are of no use.

        They are not when a filter is missing, or when not all were asked and V needs all, or was
        of another order, nor when filters were spared for one that is gone.
        """
        place = {name: i for i, name in enumerate(event.filters)}
        if any(name not in place for name in self.names):
            return None
        if not partial and event.probing.rule != "all":
            return None
        if event.whole is not None and len(place) != len(self.names):
            return None
        known = marked(event.outcomes, event.filters, event.probing)
        outcomes: Outcomes = known[:, [place[name] for name in self.names]]
        dropped: Outcomes = outcomes[(outcomes == DROPPED).any(axis=1)]
        return dropped
