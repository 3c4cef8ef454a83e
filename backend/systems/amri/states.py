"""The indexes of one state: assessed, access methods chosen, partitions moved. [W13] §5 to §8"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from backend.operators.network.eddy.bit_index import bit_index_bytes
from backend.operators.network.eddy.tuning import StateReport, StateTuning
from backend.operators.network.joins.join_kernel import PROBES
from backend.operators.network.stores.stores import hash_index_bytes
from backend.systems.amri.assessment import ASSESSORS, AssessmentSettings, ExactCounters
from backend.systems.amri.bit_choices import BitChoices, ChosenBits
from backend.systems.amri.entries import AssessmentReport
from backend.systems.amri.knobs import AmriKnobs
from backend.systems.amri.migration import (
    MeasuredCosts,
    MigrationMode,
    SliceChoice,
    live_partitions,
    slice_choices,
    slices_to_move,
)
from backend.systems.amri.mixing import AccessMethods, ChosenMix, best_mix, mix_sides
from backend.systems.amri.partition_size import PartitionSize
from backend.systems.amri.portfolio import (
    IndexBytes,
    Mix,
    PortfolioProblem,
    most_frequent,
    portfolio_tiers,
)
from backend.systems.amri.pricing import PricedWindow
from backend.systems.amri.selection import SelectionSettings, with_prior
from storage.vocabulary.amri_configurations import even_split
from storage.vocabulary.amri_costs import Bits, IndexCosts, SearchLoad
from storage.vocabulary.amri_counts import PatternCounts, StateCounts
from storage.vocabulary.amri_patterns import JoinAttribute, Pattern, module_for, pattern_of
from storage.vocabulary.amri_windows import IndexRegret, StateSeen, window_load, window_model
from storage.vocabulary.memory import PAGE_BYTES, Tier


class StateIndex:
    """The decisions on one state. names: of its join attributes; attributes: how each is asked
    for, (): by values; ordered: those that are by order alone, as a pattern."""

    def __init__(self, names: Sequence[str], attributes: Sequence[JoinAttribute] = ()) -> None:
        self.names, self.n, self.knobs = names, len(names), AmriKnobs()
        by_order = [a for a, of in enumerate(attributes) if of.ordered]
        self._n_ordered = len(by_order)
        self.ordered = pattern_of([a for a in by_order if not attributes[a].equal], self.n)
        self.access = AccessMethods(even_split(self.n, 0))
        self.budget = -1
        self.n_bytes = math.inf
        self.wants: list[Tier] = []
        self.pinned: Bits | None = None
        self.migrating: tuple[int, ...] = ()
        self.report = StateReport(0, 0, (), 0, 0)
        self.counts, self.last = StateCounts(), StateCounts()
        self.assessor: ExactCounters | None = None
        self._method = self.knobs.assessment
        self._size = PartitionSize(self.knobs.partition_share)
        self._reported_size = self._size.n
        self.chosen: ChosenBits | ChosenMix | None = None
        self.priced: tuple[SearchLoad, IndexCosts] | None = None
        self._choices = BitChoices()
        self._searched: dict[Pattern, float] = {}
        self._per_arrival = 1.0
        self.asked, self._n_moved = StateCounts(), 0
        self.accounted = self.seen
        self._has_modules, self.took = False, MeasuredCosts()

    def turn(self, knobs: AmriKnobs, pinned: Bits | None) -> None:
        """Other knobs."""
        if knobs.access != self.knobs.access:
            self._account()
        before, self.knobs, self.pinned = self.knobs, knobs, pinned
        self._size.turn(knobs.partition_share)
        is_other = before.index_bits != knobs.index_bits or knobs.bit_division == "by state"
        if self.budget < 0 or is_other:
            self.give(knobs.index_bits)
        if pinned is not None and pinned != self.bits:
            self._adopt(pinned)
        elif knobs.access == "bitmap" != before.access and not any(self.bits) and self.budget:
            self._adopt(even_split(self.n, self.budget, self.ordered))
        modules = self.access.modules
        if (knobs.access, knobs.hash_indexes) != (before.access, before.hash_indexes):
            self._has_modules = False
        if knobs.access == "hash":
            modules = modules or tuple(1 << k for k in range(self.n) if not self.ordered >> k & 1)
            self.access = AccessMethods(self.bits, modules[: knobs.hash_indexes])

    def give(self, budget: int, bits: Bits | None = None) -> None:
        """So many bits, divided like this, else evenly."""
        if budget == self.budget:
            return
        self.budget = budget
        self._choices.compare(self.n, budget)
        self._adopt(even_split(self.n, budget, self.ordered) if bits is None else bits)

    def _adopt(self, bits: Bits) -> None:
        self._account()
        self.access, self.migrating, self._searched = self.access._replace(bits=bits), (), {}
        self._choices.adopted(bits)

    def _account(self) -> None:
        """Of the regret: all requests since the last time, under the bits that they met. Of states
        with other access methods nothing is accounted."""
        now = self.seen
        window = self.accounted.until(now)
        if window.counts.requests and self.knobs.access == "bitmap":
            self._choices.account(window._replace(bits=now.bits, modules=(), served=()))
        self.accounted = now

    @property
    def n_segments(self) -> float:
        """Indexes that a request searches: partitions of a shard."""
        return len(self.report.partitions) / max(1, len(self.report.by_shard))

    @property
    def seen(self) -> StateSeen:
        """What a record tells of it, so that other access methods can be priced."""
        report, tuning, bits = self.report, self.tuning, (0,) * self.n
        asked = {p: module_for(p, tuning.modules) for p in self.asked.by_pattern}
        serving = (self.access.serves or asked) if tuning.modules else {}
        return StateSeen(
            self.asked, self._n_moved, report.n_searched, report.n_tuples, self.n_segments,
            tuning.bits or bits, tuning.modules, tuple(p for p, m in serving.items() if m),
            self.ordered, (round(self.sizes.by_bits), round(self.sizes.module)),
        )  # fmt: skip

    @property
    def ledger(self) -> IndexRegret | None:
        """What the bits cost, and would have cost in hindsight."""
        return self._choices.ledger

    @property
    def bits(self) -> Bits:
        """Of the bit-address index, in force or to come back."""
        return self.access.bits

    @property
    def wished(self) -> AccessMethods:
        """Those in force, as if memory had no limit."""
        access = self.knobs.access
        if access == "portfolio":
            return self.access
        bits = self.bits if access == "bitmap" else (0,) * self.n
        return AccessMethods(bits, self.access.modules if access == "hash" else ())

    @property
    def in_force(self) -> AccessMethods:
        """Those of them that fit the memory of the state."""
        return self.wished.within(self.sizes, self.n_bytes)

    @property
    def sizes(self) -> IndexBytes:
        """Of its access methods in the shard where they take most, as large as the state is."""
        report = self.report
        by_bits = bit_index_bytes(report.span, self._size.n, self.n, self._n_ordered)
        return IndexBytes(by_bits, hash_index_bytes(report.slots))

    @property
    def wanted(self) -> list[Tier]:
        """The memory it bids for in each shard; before anything was assessed what it would hold,
        worth nothing yet."""
        wished = self.wished
        n_bytes = self.sizes.of(wished.bits, len(wished.modules)) if self.report.slots else 0.0
        n_pages = math.ceil(n_bytes / PAGE_BYTES)
        return self.wants or [Tier(n_pages, 0.0)] * bool(n_pages)

    @property
    def tuning(self) -> StateTuning:
        """How the state is to be searched."""
        bits, modules, serves = self.in_force
        served = tuple((p, m) for p, m in serves.items() if m is not None)
        return StateTuning(
            bits if any(bits) else None, modules, self._size.n, self.migrating,
            served, None if math.isinf(self.n_bytes) else int(self.n_bytes),
        )  # fmt: skip

    # ------------------------------------------------------------------ what came of a batch

    def observe(
        self,
        arrivals: int,
        counts: Mapping[Pattern, PatternCounts],
        report: StateReport,
    ) -> None:
        """The search requests of a batch, and the state at its end."""
        self.report, self.last = report, StateCounts(arrivals, counts)
        self._reported_size = self._size.n
        self._size.observe(max(report.by_shard, default=0))
        self._n_moved += report.migrated
        self.asked = self.asked.plus(arrivals, counts)
        still = {partition.number for partition in report.partitions if partition.bits != self.bits}
        self.migrating = tuple(number for number in self.migrating if number in still)
        self.counts = self.counts.plus(arrivals, counts)
        self._assess(counts)

    def _assess(self, counts: Mapping[Pattern, PatternCounts]) -> None:
        """Count the requests of a batch, the largest pattern first."""
        if self.assessor is not None:
            for pattern in sorted(counts, reverse=True):
                self.assessor.observe(pattern, counts[pattern][PROBES])

    def begin(self) -> None:
        """An assessment begins, with the requests of the last batch: one that begins inside of a
        batch may end inside of it."""
        knobs = self.knobs
        settings = AssessmentSettings(
            knobs.epsilon, knobs.theta, cast(Any, knobs.combine), cast(Any, knobs.fold_scope)
        )
        self._method = knobs.assessment
        self.assessor = ASSESSORS[self._method](self.n, settings)
        self.counts = self.last
        self._assess(self.last.by_pattern)

    def select(self) -> ChosenBits | ChosenMix | AssessmentReport | None:
        """The assessment has come to its end; its report alone: nothing is frequent enough to say
        anything; None: nothing was asked, or is to be chosen."""
        report = self.ended()
        if report is None or self.knobs.selection == "off" or self.knobs.access == "scan":
            return None
        if report.is_thin:
            return report
        if self.knobs.access == "hash":
            self._take_modules(report)
            return None
        window = self.window_of(report)
        is_mixed = self.knobs.access == "portfolio"
        self.chosen = self._mixed(window) if is_mixed else self._chosen(window)
        window.load.forget()
        window.asked.forget()
        return self.chosen

    def ended(self) -> AssessmentReport | None:
        """What an assessment that comes to its end reports; None: nothing was asked."""
        assessor, self.assessor = self.assessor, None
        self._account()
        return None if assessor is None or not assessor.total else assessor.report()

    def take(
        self, window: PricedWindow, methods: AccessMethods, mixes: Sequence[Mix]
    ) -> tuple[SliceChoice, ...]:
        """These access methods from now on, where they are others; what becomes of each partition
        that has other bits. mixes: no methods, and others, for bids."""
        if methods[:2] != self.access[:2]:
            self._adopt(methods.bits)
            self.access = methods
        load = window.load
        self.wants = portfolio_tiers(mixes, load.arrivals)
        costs = window.model.one(load, self.bits).searching[0].tolist()
        self._searched = dict(zip(load.patterns, costs, strict=True))
        return self._slices(window)

    def _take_modules(self, report: AssessmentReport) -> None:
        """The paper's peer: hash modules on the patterns that are asked for most, or were in the
        first assessment where they do not adapt."""
        window, modules = self.window_of(report), self.access.modules
        if self.knobs.hash_adapts or not self._has_modules:
            modules = most_frequent(report.frequencies, self.knobs.hash_indexes, self.ordered)
        none, self._has_modules = (0,) * self.n, True
        self.access = AccessMethods(self.bits, modules)
        problem = PortfolioProblem(
            window.load, window.model, SelectionSettings(0), window.chains,
            self.sizes, (none, modules), self.report.n_tuples,
        )  # fmt: skip
        self.wants = portfolio_tiers(problem.growing(modules), window.load.arrivals)

    def window_of(self, report: AssessmentReport) -> PricedWindow:
        """What was asked since the assessment began, and what it is priced by."""
        n, frequencies, n_searched = self.n, report.frequencies, self.report.n_searched
        asked = window_load(n, frequencies, self.counts, n_searched, self.ordered)
        self._per_arrival = asked.requests / asked.arrivals
        is_refined = self.knobs.cost_model == "refined"
        served = tuple(p for p, module in self.access.serves.items() if module is not None)
        model = window_model(asked, is_refined, self.bits, self.n_segments, self.counts, served)
        model = self.took.priced(model) if self.knobs.index_costs == "measured" else model
        return PricedWindow(
            asked, with_prior(asked, self.knobs.prior), model, report, self.counts, self.bits,
            live_partitions(self.report, self._reported_size), self.report.n_tuples, served,
            tuple(self.names), self.sizes,
        )  # fmt: skip

    def _chosen(self, window: PricedWindow) -> ChosenBits:
        """The bits after an assessment."""
        self.priced = window.load, window.model
        chosen = self._choices.choose(window, self.knobs, self.budget, self.pinned)
        holds = chosen.sides.holds
        methods = self.access._replace(bits=chosen.new) if holds else self.access
        moved = self.take(window, methods, chosen.mixes)
        if holds:
            self._choices.gave_up(window.bits)
        return chosen._replace(moved=moved)

    def _mixed(self, window: PricedWindow) -> ChosenMix:
        """The mix of bits and hash modules after an assessment."""
        load, now, chains = window.load, self.access, window.chains
        problem = PortfolioProblem(
            load, window.model, SelectionSettings(self.budget), chains, self.sizes,
            (now.bits, now.modules), self.report.n_tuples, self.pinned,
        )  # fmt: skip
        best, new = best_mix(problem, self.n_bytes)
        sides = mix_sides(problem, now, best, window, self.knobs.min_gain)
        costs = [problem.request_cost(mix.bits, mix.modules) for mix in (now, best)]
        by_pattern = window.by_pattern(*(problem.served(*mix[:2]) for mix in (now, best)))
        basis = {**window.basis, "chains": [[p, n] for p, n in chains.items()]}
        moved = self.take(window, new if sides.holds else now, problem.mixes)
        return ChosenMix(
            sides, now, new, (costs[0], costs[1]), by_pattern, window.assessed, moved, basis,
            problem.is_greedy,
        )  # fmt: skip

    # ------------------------------------------------------------------ partitions

    def _slices(self, priced: PricedWindow) -> tuple[SliceChoice, ...]:
        """What becomes of each partition that has other bits than new ones. Partitions that are to
        have another size are all filled anew, with these."""
        live = priced.partitions if self._size.n == self._reported_size else ()
        load = self.access.by_bits(priced.load)
        choices = slice_choices(
            load, priced.model, live, self.bits, self.report.by_shard, self._per_arrival
        )
        moving = slices_to_move(cast(MigrationMode, self.knobs.migration), choices)
        self.migrating = tuple(partition.partition.number for partition in moving)
        return choices

    def expected_cost(self, pattern: Pattern) -> float | None:
        """Of searching for a request of a pattern under the bits in force, by the model of the last
        selection; None: nothing was selected yet, or other methods are in force."""
        return self._searched.get(pattern) if self.knobs.access == "bitmap" else None

    @property
    def configurations_used(self) -> int:
        """Different ones among the partitions."""
        return len({partition.bits for partition in self.report.partitions})

    # ------------------------------------------------------------------ a run that is resumed

    def state(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {
            "bits": list(self.bits),
            "budget": self.budget,
            "modules": list(self.access.modules),
            "has_modules": self._has_modules,
            "took": self.took.state(),
            "serves": [[p, m] for p, m in self.access.serves.items()],
            "migrating": list(self.migrating),
            "wants": [list(tier) for tier in self.wants],
            "size": [self.report.span, self.report.slots],
            "total": [self.asked.state(), self._n_moved],
            "accounted": self.accounted.json(),
            "partitions": self._size.state(),
            "assessment": self._method,
            "assessor": None if self.assessor is None else self.assessor.state(),
            "choices": self._choices.state(),
            "searched": [[p, n] for p, n in self._searched.items()],
            "counts": self.counts.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken; an assessment by another method begins anew."""
        bits: Sequence[int] = state["bits"]
        span, slots = state["size"]
        self.report = replace(self.report, span=span, slots=slots)
        self._size.restore(state["partitions"])
        self.wants = [Tier(n_pages, priority) for n_pages, priority in state["wants"]]
        if self.knobs.bit_division == "shared":
            self.give(state["budget"])
        if len(bits) != self.n or sum(bits) > self.budget:
            return
        self._adopt(tuple(bits) if self.pinned is None else self.pinned)
        modules, serves = tuple(state["modules"]), {p: m for p, m in state["serves"]}
        self.access = AccessMethods(self.bits, modules, serves)
        self.migrating = tuple(state["migrating"])
        self._restore_assessment(state["assessment"], state["assessor"])
        if self.assessor is None or self.assessor.total:
            self.counts = StateCounts.restored(state["counts"])
        self._has_modules = state["has_modules"]
        self.took.restore(state["took"])
        total, self._n_moved = state["total"]
        self.asked = StateCounts.restored(total)
        self.accounted = StateSeen.read(state["accounted"])
        self._choices.restore(state["choices"])
        self._searched = {p: n for p, n in state["searched"]}

    def _restore_assessment(self, method: str, state: Mapping[str, Any] | None) -> None:
        """Counts of one method say nothing to another one, which begins anew."""
        self.assessor = None
        if state is not None:
            self.begin()
            assert self.assessor is not None
            if ASSESSORS[self._method] is ASSESSORS.get(method):
                self.assessor.restore(state)
