"""Which k-constraints to use: a set of them, by what they keep out of memory and what they cost.

"Constraint selection", which the text leaves open ([B05] §6.11). What a constraint saves depends on
the others: No of a child is needless once every join into it is bounded, and a child goes once all
its parents are covered. Such an effect needs a constraint of each of its groups, the best of each
counts, and the worst group bounds what it saves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

#: Constraints that all sets are tried of.
MOST_TRIED: Final = 12


class Effect(NamedTuple):
    """Something that constraints save. what: in words; groups: constraint -> bytes it saves when it
    is the one of its group that counts; one of each group is needed."""

    what: str
    groups: tuple[Mapping[str, float], ...]

    def value(self, used: Collection[str]) -> float:
        """Bytes that a set saves by it."""
        best = (max((g[c] for c in g if c in used), default=0.0) for g in self.groups)
        return min(best, default=0.0)


@dataclass(frozen=True)
class ConstraintProblem:
    """What there is to choose from. costs: of each constraint, bytes that its use takes or is
    worth; effects: what they save; pinned: those that are used whatever they bring."""

    costs: Mapping[str, float]
    effects: tuple[Effect, ...]
    pinned: frozenset[str] = field(default_factory=frozenset)

    def saved(self, used: Collection[str]) -> float:
        """Bytes that a set keeps out of memory."""
        return sum(effect.value(used) for effect in self.effects)

    def cost(self, used: Collection[str]) -> float:
        """Bytes that its use takes or is worth."""
        return sum(self.costs[key] for key in self.costs if key in used)

    @cached_property
    def most(self) -> float:
        """Bytes that all of them would save."""
        return self.saved(self.costs)

    @cached_property
    def helpful(self) -> tuple[str, ...]:
        """Those that can save anything, and those that are pinned, in order."""
        saving = {key for effect in self.effects for group in effect.groups for key in group}
        return tuple(key for key in sorted(self.costs) if key in saving or key in self.pinned)

    def burden(self, used: Collection[str]) -> float:
        """Bytes that are kept although some set would not, and what the set costs: what is to be
        small."""
        return self.most - self.saved(used) + self.cost(used)

    def weighed(self, weights: Mapping[str, float]) -> ConstraintProblem:
        """With costs times a weight each."""
        costs = {key: cost * weights.get(key, 1.0) for key, cost in self.costs.items()}
        return ConstraintProblem(costs, self.effects, self.pinned)

    @property
    def bound(self) -> int:
        """The burden of ``greedy`` is at most so many times the least: the most groups of effects
        that one constraint is in.

        Each effect that the best set has is had for no more than its constraints there cost, each
        of which is counted once for every group it is in; what the best set forgoes may be forgone.
        """
        groups = [group for effect in self.effects for group in effect.groups]
        return max((sum(key in group for group in groups) for key in self.costs), default=1) or 1

    def to_json(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {
            "costs": dict(self.costs),
            "effects": [
                {"what": effect.what, "groups": [dict(g) for g in effect.groups]}
                for effect in self.effects
            ],
            "pinned": sorted(self.pinned),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The problem of ``to_json``."""
        effects = (Effect(effect["what"], tuple(effect["groups"])) for effect in data["effects"])
        return cls(data["costs"], tuple(effects), frozenset(data["pinned"]))


class Margin(NamedTuple):
    """What a constraint adds to a set, bytes."""

    saved: float
    cost: float


def margin(problem: ConstraintProblem, used: Collection[str], key: str) -> Margin:
    """What a constraint adds to the others of a set, whether it is in it or not."""
    without = {other for other in used if other != key}
    with_it = without | {key}
    return Margin(problem.saved(with_it) - problem.saved(without), problem.costs[key])


def exhaustive(problem: ConstraintProblem) -> frozenset[str]:
    """The best of all sets; of equally good ones the smallest, then the first. Of more than
    ``MOST_TRIED`` constraints as ``greedy``."""
    names = problem.helpful
    if len(names) > MOST_TRIED:
        return greedy(problem)
    sets = np.arange(1 << len(names))
    has = {key: (sets >> place) & 1 == 1 for place, key in enumerate(names)}
    burden = np.full(len(sets), float(problem.most))
    for key in names:
        burden += np.where(has[key], problem.costs[key], 0.0)
    for effect in problem.effects:
        burden -= _values(effect, has, len(sets))
    for key in problem.pinned:
        burden[~has[key]] = np.inf
    size = np.sum([*has.values()], axis=0) if names else np.zeros(1)
    best = np.lexsort((sets, size, np.round(burden, 6)))[0]
    return frozenset(key for key in names if has[key][best])


def _values(effect: Effect, has: Mapping[str, NDArray[np.bool_]], n: int) -> NDArray[np.float64]:
    """What each set saves by an effect."""
    saved = np.full(n, np.inf)
    for group in effect.groups:
        best = np.zeros(n)
        for key, value in group.items():
            if key in has:
                best = np.maximum(best, np.where(has[key], value, 0.0))
        saved = np.minimum(saved, best)
    return saved if effect.groups else np.zeros(n)


def greedy(problem: ConstraintProblem) -> frozenset[str]:
    """For each effect by itself its cheapest constraints, unless they cost more than they save;
    then one by one what makes the set better is added or taken out. See the problem's bound."""
    used = set(problem.pinned)
    for effect in problem.effects:
        used |= _cheapest(problem, effect)
    while (better := _improved(problem, used)) is not None:
        used = better
    return frozenset(used)


def _cheapest(problem: ConstraintProblem, effect: Effect) -> set[str]:
    """The constraints that make an effect least burdensome, none among them. Of each group one is
    enough, and of those that save at least as much as another group's best the cheapest."""
    most = effect.value(problem.costs)
    best, least = set[str](), most
    for level in sorted({value for g in effect.groups for value in g.values()}):
        picks = [_cheapest_of(problem, group, level) for group in effect.groups]
        if None in picks:
            break
        chosen = {key for key in picks if key is not None}
        burden = most - effect.value(chosen) + problem.cost(chosen - problem.pinned)
        if burden < least:
            best, least = chosen, burden
    return best


def _cheapest_of(
    problem: ConstraintProblem, group: Mapping[str, float], level: float
) -> str | None:
    """Of those in a group that save so much the cheapest, pinned ones being free."""
    fit = [key for key, value in group.items() if value >= level and key in problem.costs]
    free = problem.pinned
    return min(fit, key=lambda key: (key not in free and problem.costs[key], key), default=None)


def _improved(problem: ConstraintProblem, used: set[str]) -> set[str] | None:
    """The set with the one constraint more or less that makes it best; None: none does."""
    others = [used ^ {key} for key in problem.helpful if key not in problem.pinned]
    best = min(others, key=lambda key: (problem.burden(key), len(key)), default=used)
    gain = problem.burden(used) - problem.burden(best)
    return best if gain > 1e-6 or (gain > -1e-9 and len(best) < len(used)) else None


def all_allowed(problem: ConstraintProblem) -> frozenset[str]:
    """Every constraint, as in the text, where k alone counts."""
    return frozenset(problem.costs)


#: How a set is found, by the value of the knob.
CHOOSERS: Final[Mapping[str, Callable[[ConstraintProblem], frozenset[str]]]] = {
    "cost": greedy,
    "exhaustive": exhaustive,
    "threshold": all_allowed,
}
