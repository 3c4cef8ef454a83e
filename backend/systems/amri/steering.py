"""Access methods of a state as the autopilot sees them: S, a search, cost(P, S), a price of moving.

A tuple of the plan log is a search request. What is stored is taken in and moved for requests, so
that this is a part of what they cost. [B05] §7
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.begins import LogBegins
from backend.adaptive.planlog.records import LogJson, LogSchema, NamedStatistic
from backend.adaptive.planlog.steered import SteeredLook
from backend.adaptive.planlog.steering import Steering
from backend.operators.network.joins.join_kernel import PROBES
from backend.systems.amri.bit_choices import scan_or_bits
from backend.systems.amri.following import SearchedStretch
from backend.systems.amri.knobs import AmriKnobs
from backend.systems.amri.migration import SliceChoice
from backend.systems.amri.mixing import AccessMethods, building_cost
from backend.systems.amri.portfolio import Mix, PortfolioProblem, best_portfolio
from backend.systems.amri.pricing import PricedWindow
from backend.systems.amri.selection import SelectionSettings, select, with_prior
from backend.systems.amri.states import StateIndex
from backend.systems.amri.view import EddyView
from storage.vocabulary.amri_costs import Floats, SearchLoad
from storage.vocabulary.amri_counts import PatternCounts
from storage.vocabulary.amri_patterns import Pattern, pattern_text, specified
from storage.vocabulary.planlog import BY_AUTOPILOT, form_digest

#: Sampled requests of a look, at least and at most.
LEAST: Final = 256
SAMPLED: Final = 2_048
#: Sampled requests until the conditions that a run begins with count as known.
SETTLING: Final = 2 * SAMPLED
#: Subjects end with a state.
INDEX_OF: Final = "index of "
PER_REQUEST: Final = "work/request"
#: Requests, each by its pattern.
Requests: TypeAlias = NDArray[np.int64]


def log_schema(names: Sequence[str], subject: str) -> LogSchema:
    """S: the share of the requests that ask for each attribute, and the tuples stored."""
    asked = [NamedStatistic(f"asked {name}", "prob") for name in names]
    return LogSchema((*asked, NamedStatistic("stored", "tuples")), PER_REQUEST, subject)


def method_words(
    names: Sequence[str], bits: Sequence[int], modules: Sequence[Pattern]
) -> list[str]:
    """Access methods as plan logs have them: the bits of each attribute, then hash indexes."""
    spelt = [f"{name} {n}" for name, n in zip(names, bits, strict=True)]
    return [*spelt, *(pattern_text(module, names) for module in modules)]


def method_form(names: Sequence[str], methods: AccessMethods) -> LogJson:
    """A plan of the log."""
    return ["bits", method_words(names, methods.bits, methods.modules), []]


def methods_of(form: LogJson, names: Sequence[str]) -> AccessMethods:
    """Of a plan of the log."""
    _, words, _ = form
    n = len(names)
    by_text = {pattern_text(pattern, names): pattern for pattern in range(1, 1 << n)}
    bits = tuple(int(word.rpartition(" ")[2]) for word in words[:n])
    return AccessMethods(bits, tuple(by_text[word] for word in words[n:]))


def sampled_requests(counts: Mapping[Pattern, PatternCounts], most: int = SAMPLED) -> Requests:
    """Of a batch: of each pattern its share of so many at most."""
    asked = sorted(counts)
    ends = np.cumsum([counts[pattern][PROBES] for pattern in asked])
    n = int(ends[-1]) if asked else 0
    places = np.floor((np.arange(min(n, most)) + 0.5) * n / max(1, min(n, most)))
    return np.array(asked, np.int64)[np.searchsorted(ends, places, side="right")]


class IndexLimits(NamedTuple):
    """is_mixed: bits and hash modules are chosen, else bits; bits: of the index, n_bytes: of all,
    at most; prior: as of ``with_prior``."""

    is_mixed: bool
    bits: int
    n_bytes: float
    prior: float


class IndexPlans:
    """Access methods of a state, by what was asked since its last look. now: those in force;
    stored: tuples that a request finds; window: of them all, when it is asked for."""

    def __init__(
        self,
        schema: LogSchema,
        names: Sequence[str],
        now: AccessMethods,
        stored: float,
        limits: IndexLimits,
        window: Callable[[], PricedWindow],
    ) -> None:
        self.schema, self.names, self._now, self._stored = schema, names, now, stored
        self._limits, self._window, self._tables = limits, window, dict[str, Floats]()

    @cached_property
    def window(self) -> PricedWindow:
        """What was asked, and what it is priced by."""
        return self._window()

    def statistics(self, sample: Requests) -> Sequence[float]:
        """float[n + 1]."""
        asked = specified(sample.tolist(), len(self.names)).mean(axis=0)
        return [*asked.tolist(), self._stored]

    def search(self, sample: Requests) -> Sequence[LogJson]:
        """The cheapest bits, or mix, of the sample with the prior: without it real joins were worse
        off, as routes that change ask for what nothing asked for before (ADR 63)."""
        shares = np.bincount(sample) / len(sample)
        asked = {pattern: f for pattern, f in enumerate(shares.tolist()) if f}
        load = with_prior(replace(self.window.asked, frequencies=asked), self._limits.prior)
        return [method_form(self.names, self._best(load))]

    def _best(self, load: SearchLoad) -> AccessMethods:
        settings = SelectionSettings(self._limits.bits)
        if not self._limits.is_mixed:
            return AccessMethods(select(load, self.window.model, settings).bits)
        best = best_portfolio(self._problem(load, settings, self._now), self._limits.n_bytes)
        return AccessMethods(best.bits, best.modules)

    def prices(self, plan: LogJson, sample: Requests) -> NDArray[np.float64]:
        """float64[T], units of work."""
        costs: Floats = self._costs(plan)[sample]
        return costs

    def worst(self, old: LogJson, new: LogJson) -> float:
        """Units of work, of any pattern."""
        return max(0.0, float((self._costs(new) - self._costs(old)).max()))

    def switching(self, old: LogJson, new: LogJson) -> float:
        """Moving all that is stored, and filling hash indexes."""
        new_methods = methods_of(new, self.names)
        mix = Mix(new_methods.bits, new_methods.modules, 0.0, 0.0)
        window = self.window
        return building_cost(window.model, window.n_stored, methods_of(old, self.names), mix)

    def taken(self, plan: LogJson) -> tuple[AccessMethods, Sequence[Mix]]:
        """The access methods of a plan, with what serves each pattern; and what is bid for."""
        methods, window = methods_of(plan, self.names), self.window
        if not self._limits.is_mixed:
            return methods, scan_or_bits(window, methods.bits)
        settings = SelectionSettings(self._limits.bits)
        problem = self._problem(window.load, settings, methods)
        return methods._replace(serves=problem.serves(Mix(*methods[:2], 0.0, 0.0))), problem.mixes

    def _problem(
        self, load: SearchLoad, settings: SelectionSettings, methods: AccessMethods
    ) -> PortfolioProblem:
        window = self.window
        return PortfolioProblem(
            load, window.model, settings, window.chains, window.sizes, methods[:2], window.n_stored
        )

    def _costs(self, plan: LogJson) -> Floats:
        """float64[patterns]: of a request, with its share of taking tuples in."""
        digest = form_digest(plan)
        if digest not in self._tables:
            self._tables[digest] = self._table(methods_of(plan, self.names))
        return self._tables[digest]

    def _table(self, methods: AccessMethods) -> Floats:
        window = self.window
        bits, modules, _ = methods.within(window.sizes, self._limits.n_bytes)
        every = dict.fromkeys(range(1 << len(self.names)), 1.0)
        load, model = replace(window.asked, frequencies=every), window.model
        priced = model.one(load, bits)
        costs: Floats = priced.requests[0]
        for module in modules:
            length = window.chains.get(module, self._stored)
            costs = np.minimum(costs, model.chained(load, module, length))
        linked = sum(model.linked(load, module) for module in modules)
        return costs + (float(priced.upkeep[0]) + linked) / load.requests


class IndexLook(NamedTuple):
    """A look at a state. moved: the choice for each partition with other bits."""

    look: SteeredLook
    moved: tuple[SliceChoice, ...]


class IndexPilot(Steering):
    """The autopilot of the access methods of a state."""

    most_sampled = SAMPLED

    def __init__(
        self, names: Sequence[str], subject: str, begins: LogBegins | None = None, t: int = 0
    ) -> None:
        super().__init__(log_schema(names, subject), t, begins)
        self._names = tuple(names)
        self.settle(SETTLING)

    def batch(self, state: StateIndex, ran: AccessMethods, knobs: AmriKnobs) -> IndexLook | None:
        """What a batch led to, which was searched by some methods."""
        n, work = SearchedStretch.of(ran, state).spent
        if state.pinned is not None:
            self.passed(n)
        if not n or state.pinned is not None:
            return None
        keys = sum(module.bit_count() + 1 for module in ran.modules)
        indexed = sum(bits > 0 for bits in ran.bits)
        self.sampled(n, sampled_requests(state.last.by_pattern))
        self.ran(n, work + state.last.arrivals * (indexed + keys))
        if state.assessor is None:
            state.begin()
        plans = IndexPlans(
            self.schema, self._names, state.wished, state.report.n_searched,
            IndexLimits(knobs.access == "portfolio", state.budget, state.n_bytes, knobs.prior),
            partial(_window, state),
        )  # fmt: skip
        look = self.look(plans, method_form(self._names, state.wished), LEAST, knobs.caution)
        if look is None:
            return None
        moved = state.take(plans.window, *plans.taken(look.plan))
        plans.window.load.forget()
        return IndexLook(look, moved)


def _window(state: StateIndex) -> PricedWindow:
    report = state.ended()
    assert report is not None
    return state.window_of(report)


def index_pilots(
    view: EddyView, eddy: str, begins: LogBegins, before: Sequence[IndexPilot]
) -> list[IndexPilot]:
    """Of the states of an eddy of some name, with empty logs. before: those that these replace."""
    times = [pilot.t for pilot in before] or [0] * view.n
    return [
        IndexPilot(names, f"{eddy}: {INDEX_OF}{state}{BY_AUTOPILOT}", begins, t)
        for state, names, t in zip(view.names, view.attributes, times, strict=True)
    ]
