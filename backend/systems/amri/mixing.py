"""Which bits and hash modules a state has, together: chosen, priced, cut to what memory allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from backend.systems.amri.entries import AssessmentReport
from backend.systems.amri.migration import SliceChoice, moving_cost
from backend.systems.amri.portfolio import (
    IndexBytes,
    Mix,
    PortfolioProblem,
    best_portfolio,
)
from backend.systems.amri.pricing import PatternCosts, PricedWindow
from backend.systems.amri.sides import Sides
from backend.systems.amri.switching import by_window
from storage.vocabulary.amri_costs import Bits, IndexCosts, SearchLoad
from storage.vocabulary.amri_patterns import Pattern


class AccessMethods(NamedTuple):
    """Of a state. bits: of its bit-address index, all 0 = none; modules: its hash indexes; serves:
    the module of each pattern that one serves for less than the bits."""

    bits: Bits
    modules: tuple[Pattern, ...] = ()
    serves: Mapping[Pattern, Pattern | None] = {}

    def within(self, sizes: IndexBytes, n_bytes: float) -> AccessMethods:
        """Those that fit so many bytes: modules go first, the last one before the others."""
        modules, bits = self.modules, self.bits
        while modules and sizes.of(bits, len(modules)) > n_bytes:
            modules = modules[:-1]
        if sizes.of(bits, len(modules)) > n_bytes:
            bits = (0,) * len(bits)
        serves = {p: m for p, m in self.serves.items() if m in modules}
        return AccessMethods(bits, modules, serves)

    def by_bits(self, load: SearchLoad) -> SearchLoad:
        """What of a load comes to the bits: all that no module serves."""
        left = {p: f for p, f in load.frequencies.items() if self.serves.get(p) is None}
        return replace(load, frequencies=left)


class ChosenMix(NamedTuple):
    """What an assessment led to. sides: of the change; old, new: access methods; costs: of a
    request with both, by_pattern: what they follow from; report: what was assessed; moved: the
    choice for each partition; basis: what costs were worked out from, as JSON-typed data;
    is_greedy: not all mixes were tried."""

    sides: Sides
    old: AccessMethods
    new: AccessMethods
    costs: tuple[float, float]
    by_pattern: tuple[PatternCosts, ...]
    report: AssessmentReport
    moved: tuple[SliceChoice, ...]
    basis: Mapping[str, Any]
    is_greedy: bool


def building_cost(model: IndexCosts, n_tuples: float, old: AccessMethods, new: Mix) -> float:
    """Of the access methods that are not there yet, in counted work."""
    costs = model.costs
    modules = sum(
        n_tuples * (module.bit_count() * costs.hash + costs.link)
        for module in new.modules
        if module not in old.modules
    )
    return modules + (moving_cost(costs, int(n_tuples), old.bits, new.bits) if any(new.bits) else 0)


def mix_sides(
    problem: PortfolioProblem,
    now: AccessMethods,
    best: Mix,
    window: PricedWindow,
    min_gain: float,
) -> Sides:
    """Whether to change to a mix: what it saves in a window like the last one, less what building
    it costs, against the least share of what the one in force costs."""
    load, names = problem.load, window.pattern_names
    total, slack = window.assessed.total, window.slack(sum(best.bits))
    gain = problem.difference(now.bits, now.modules, best, total, slack)
    cost = problem.request_cost(now.bits, now.modules)
    price = building_cost(problem.model, problem.n_tuples, now, best)
    sides = by_window(gain, cost, load.requests, price, min_gain, names)
    same = (best.bits, set(best.modules)) == (now.bits, set(now.modules))
    return sides._replace(verdict="kept") if same else sides


def best_mix(problem: PortfolioProblem, n_bytes: float) -> tuple[Mix, AccessMethods]:
    """The cheapest one within so many bytes, with what serves each pattern."""
    best = best_portfolio(problem, n_bytes)
    return best, AccessMethods(best.bits, best.modules, problem.serves(best))
