"""Orders and their prices from composites written out, and mixes of access methods one by one: slow
twins of AMRI's. Card A2b, A9, C1, A14.16."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, permutations

from tests.oracles.amri_patterns import Predicate, join_attributes, partners, pattern

FanOuts = Mapping[tuple[int, int], float]


def allowed(
    predicates: Sequence[Predicate], n: int, origin: int, values_first: bool = False
) -> list[tuple[int, ...]]:
    """Orders in which a Cartesian step is taken only when nothing else is joined, and, if values go
    first, one by order alone only when nothing else is joined by a value."""
    found = []
    for order in permutations([s for s in range(n) if s != origin]):
        here, good = [origin], True
        for state in order:
            rest = [s for s in range(n) if s not in here]
            if not pattern(predicates, here, state):
                good &= not any(pattern(predicates, here, other) for other in rest)
            if values_first and not by_value(predicates, here, state):
                good &= not any(by_value(predicates, here, other) for other in rest)
            here.append(state)
        if good:
            found.append(order)
    return found


def by_value(predicates: Sequence[Predicate], here: Sequence[int], state: int) -> bool:
    """Whether a composite has a value that an attribute of the state is equal to."""
    return any(
        partners(predicates, (state, place), "=") & set(here)
        for place in join_attributes(predicates, state)
    )


def price(
    predicates: Sequence[Predicate],
    fan_outs: FanOuts,
    origin: int,
    order: Sequence[int],
    probe: Callable[[int, int], float],
) -> float:
    """Σ of (Π of the fan-outs before) times what a request costs."""
    total, composites, here = 0.0, 1.0, [origin]
    for state in order:
        asked = pattern(predicates, here, state)
        total += composites * probe(state, asked)
        composites *= fan_outs[state, asked]
        here.append(state)
    return total


def greedy(predicates: Sequence[Predicate], fan_outs: FanOuts, n: int, origin: int) -> list[int]:
    """Each time the state of the lowest fan-out."""
    here: list[int] = [origin]
    while len(here) < n:
        rest = [s for s in range(n) if s not in here]
        joined = [s for s in rest if pattern(predicates, here, s)] or rest
        here.append(min(joined, key=lambda s: (fan_outs[s, pattern(predicates, here, s)], s)))
    return here[1:]


def module_for(asked: Sequence[bool], modules: Sequence[Sequence[bool]]) -> Sequence[bool] | None:
    """Of the modules all of whose attributes are asked for one with most, of these the largest."""
    fitting = [
        m for m in modules if any(m) and all(a or not b for a, b in zip(asked, m, strict=True))
    ]
    return max(fitting, key=lambda m: (sum(m), list(m)), default=None)


def cheapest_mix(
    bit_costs: Mapping[str, Mapping[str, float]],
    module_costs: Mapping[str, Mapping[str, float]],
    frequencies: Mapping[str, float],
    upkeep: Mapping[str, float],
    sizes: Mapping[str, float],
    n_bytes: float,
) -> float:
    """The least cost of one configuration beside any set of modules that fits. bit_costs,
    module_costs: of a request by access method and pattern; upkeep, sizes: by access method."""
    found = float("inf")
    for config, of_bits in bit_costs.items():
        for k in range(len(module_costs) + 1):
            for modules in combinations(module_costs, k):
                if sizes[config] + sum(sizes[m] for m in modules) > n_bytes:
                    continue
                spent = upkeep[config] + sum(upkeep[m] for m in modules)
                for p, f in frequencies.items():
                    ways = [module_costs[m][p] for m in modules if p in module_costs[m]]
                    spent += f * min([of_bits[p], *ways])
                found = min(found, spent)
    return found
