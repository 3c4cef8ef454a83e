"""The bits of one state: the cheapest of a window, changed on evidence, taken back. [W13] §6

What a state remembers from one selection to the next: how far each configuration is ahead, what the
one before was estimated to cost, and what all of them would have cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from backend.adaptive.stats import Mean
from backend.operators.network.joins.join_kernel import PROBES
from backend.systems.amri.entries import AssessmentReport
from backend.systems.amri.knobs import AmriKnobs
from backend.systems.amri.migration import SliceChoice, switching_prices
from backend.systems.amri.portfolio import Mix
from backend.systems.amri.pricing import PatternCosts, PricedWindow
from backend.systems.amri.selection import (
    BitSelection,
    SelectionSettings,
    select,
)
from backend.systems.amri.sides import Sides
from backend.systems.amri.switching import (
    AccumulatedAdvantage,
    by_window,
    pair_difference,
    roll_back,
)
from storage.vocabulary.amri_configurations import MOST_CANDIDATES, configurations, n_configurations
from storage.vocabulary.amri_costs import COUNTED, Bits
from storage.vocabulary.amri_patterns import pattern_of
from storage.vocabulary.amri_windows import IndexRegret, PassedWindow

#: A request may cost so many times what was estimated of the bits before, until they are taken up
#: again.
TOLERANCE: Final = 1.1


class ChosenBits(NamedTuple):
    """What an assessment led to. sides: of the change of bits; selection: the cheapest bits of the
    window; old, new: bits; costs: of a request under both, by_pattern: what they
    follow from; report: what was assessed; basis: what
    costs were worked out from, as JSON-typed data; mixes: no bits and the cheapest, for bids;
    rolled_back: the old bits are taken up again; moved: the choice for each partition."""

    sides: Sides
    selection: BitSelection
    old: Bits
    new: Bits
    costs: tuple[float, float]
    by_pattern: tuple[PatternCosts, ...]
    report: AssessmentReport
    basis: Mapping[str, Any]
    mixes: tuple[Mix, Mix]
    rolled_back: bool = False
    moved: tuple[SliceChoice, ...] = ()


class BitChoices:
    """From one selection to the next. ledger: the regret, None where candidates are too many."""

    def __init__(self) -> None:
        self.ledger: IndexRegret | None = None
        self._advantage: AccumulatedAdvantage | None = None
        self._before: Bits | None = None

    def compare(self, n: int, budget: int) -> None:
        """Configurations of n attributes with at most so many bits are compared from now on."""
        caps = (budget,) * n
        self._advantage = self.ledger = None
        if n_configurations(caps, budget, at_most=True) <= MOST_CANDIDATES:
            candidates = configurations(caps, budget, at_most=True)
            self._advantage = AccumulatedAdvantage(candidates, (0,) * n)
            self.ledger = IndexRegret(candidates, COUNTED)

    def adopted(self, bits: Bits) -> None:
        """Bits are in force from now on."""
        self._before = None
        if self._advantage is not None:
            self._advantage = AccumulatedAdvantage(self._advantage.candidates, bits)

    def gave_up(self, bits: Bits) -> None:
        """Bits were in force until now; at the next selection they may be taken up again."""
        self._before = bits

    def choose(
        self, window: PricedWindow, knobs: AmriKnobs, budget: int, pinned: Bits | None
    ) -> ChosenBits:
        """The bits after an assessment."""
        load, model = window.load, window.model
        selection = select(load, model, SelectionSettings(budget), window.assessed)
        basis = window.basis
        back = self._rolled_back(window, basis)
        if pinned is not None:
            new, sides = _by_window(window, selection, knobs)
            sides = sides._replace(verdict="pinned") if sides.holds else sides
        elif back is not None:
            new, sides = back
        elif knobs.selection == "accumulated" and self._advantage is not None:
            new, sides = self._accumulated(self._advantage, window, knobs.min_gain, basis)
        else:
            new, sides = _by_window(window, selection, knobs)
        old, other = (model.one(load, bits).requests[0] for bits in (window.bits, new))
        costs = float(old @ load.shares), float(other @ load.shares)
        return ChosenBits(
            sides, selection, window.bits, new, costs, window.by_pattern(old, other),
            window.assessed, basis,
            scan_or_bits(window, selection.bits), back is not None,
        )  # fmt: skip

    def account(self, passed: PassedWindow) -> None:
        """Of the regret: what searches and migrations took, and would have taken under every
        candidate."""
        if self.ledger is not None:
            self.ledger.account(*passed.costs(self.ledger.candidates), passed.n_tuples)

    def _rolled_back(
        self, window: PricedWindow, basis: dict[str, Any]
    ) -> tuple[Bits, Sides] | None:
        """The bits before, where a request measurably costs more than it would with them, by the
        model and on the same requests; its cost is taken to spread as far as its mean."""
        before, self._before, counts = self._before, None, window.counts
        if before is None or not counts.requests:
            return None
        old = window.model.one(window.asked, before)
        estimate = float(old.requests[0] @ window.asked.shares)
        indexed = pattern_of([k for k, b in enumerate(window.bits) if b], window.load.n)
        by_pattern = counts.by_pattern.items()
        hashed = sum(row[PROBES] * (p & indexed).bit_count() for p, row in by_pattern)
        searched = counts.cost(window.model.costs)
        measured = (searched + hashed) / counts.requests
        half = 2.0 * measured / math.sqrt(counts.requests)
        mean = Mean(measured, measured - half, measured + half, counts.requests)
        sides = roll_back(mean, estimate * TOLERANCE + window.slack(sum(before)))
        basis["measured"] = [searched, hashed, counts.requests, estimate]
        return (before, sides) if sides.holds else None

    def _accumulated(
        self,
        advantage: AccumulatedAdvantage,
        window: PricedWindow,
        min_gain: float,
        basis: dict[str, Any],
    ) -> tuple[Bits, Sides]:
        load, model, total = window.load, window.model, window.assessed.total
        slack = window.slack(int(advantage.candidates.sum(axis=1).max()))
        advantage.observe(load, model, load.requests, total, slack, min_gain)
        prices = switching_prices(window.partitions, model.costs, advantage.candidates)
        finding = advantage.look(prices, total)
        basis["advantage"] = finding.sides.lhs
        if finding.sides.holds:
            return finding.bits, finding.sides
        names = window.names, window.pattern_names
        sides = finding.sides._replace(
            headroom=advantage.headroom(load, model, prices, min_gain, names)
        )
        if sides.lhs <= 0.0:
            sides = sides._replace(relation=">", verdict="kept")
        return finding.bits, sides

    def state(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {
            "before": self._before,
            "advantage": None if self._advantage is None else self._advantage.state(),
            "ledger": None if self.ledger is None else self.ledger.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        before, advantage = state["before"], state["advantage"]
        self._before = None if before is None else tuple(before)
        if self._advantage is not None and advantage is not None:
            self._advantage = AccumulatedAdvantage.restored(self._advantage.candidates, advantage)
        if self.ledger is not None and state["ledger"] is not None:
            self.ledger.restore(state["ledger"])


def _by_window(
    window: PricedWindow, selection: BitSelection, knobs: AmriKnobs
) -> tuple[Bits, Sides]:
    """The cheapest bits of the window, if they save enough beside those in force."""
    load, model, bits = window.load, window.model, window.bits
    slack = selection.cost_bound / max(load.requests, 1e-300)
    gain = pair_difference(load, model, bits, selection.bits, window.assessed.total, slack)
    old = float(model.one(load, bits).requests[0] @ load.shares)
    names = window.pattern_names
    sides = by_window(gain, old, load.requests, 0.0, knobs.min_gain, names)
    same = selection.bits == bits
    return selection.bits, sides._replace(verdict="kept") if same else sides


def scan_or_bits(window: PricedWindow, bits: Bits) -> tuple[Mix, Mix]:
    """A scan, and the bit-address index: what the state could have for its bytes."""
    none = (0,) * len(bits)
    scan, indexed = (float(window.model.one(window.load, of).total[0]) for of in (none, bits))
    return Mix(none, (), scan, 0.0), Mix(bits, (), indexed, window.sizes.of(bits, 0))
