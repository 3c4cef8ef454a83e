"""Both sides of recorded decisions on eddies, worked out again from the record.

Written from docs/introspection.md and the card; no decision core is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, Final

from storage.vocabulary.records import Decision

#: lhs, rhs; None = infinite.
Sides = tuple[float | None, float | None]


def _route(d: Decision) -> Sides:
    """The price of the route in force, less the hysteresis, against the cheapest."""
    prices = dict(d.detail["prices"])
    return (1 - d.detail["hysteresis"]) * prices[d.detail["current"]], min(prices.values())


def _slot(d: Decision) -> Sides:
    before, now = d.detail["before"], d.detail["now"]
    return abs(now - before) / max(1, before), 0.0


def _bits(d: Decision) -> Sides:
    basis, old, new = d.detail["basis"], d.old["bits"], d.new["bits"]
    for bits, predicted in ((old, d.predicted_old), (new, d.predicted_new)):
        follows = request_cost(basis, bits)
        assert predicted is not None
        assert abs(predicted - follows) <= 1e-6 * max(1.0, follows), f"{predicted} of {bits}"
    _check_counted(d, old, new)
    if d.metric.startswith("accumulated"):
        return basis["advantage"], 2 * _price(basis, new)
    if d.metric.startswith("measured"):
        searched, hashed, requests, estimate = basis["measured"]
        return (searched + hashed) / requests, estimate * d.detail["tolerance"]
    upkeep = (_indexed(old) - _indexed(new)) * basis["arrivals"] / basis["requests"]
    saved = request_cost(basis, old) - request_cost(basis, new) + upkeep
    least = d.detail["min_gain"] * request_cost(basis, old)
    return basis["requests"] * saved, basis["requests"] * least


def _check_counted(d: Decision, old: Sequence[int], new: Sequence[int]) -> None:
    """What is on its card comes to its costs, and adds up by attribute."""
    attributes, patterns = (table["rows"] for table in d.detail["counted"])
    names = d.detail["attributes"]
    asking = dict.fromkeys(names, 0)
    for pattern, requests, *_ in patterns if len({*names}) == len(names) else ():
        for name in asking.keys() & {*pattern.strip("<>").split(",")}:
            asking[name] += requests
    assert [row[:3] for row in attributes] == [list(of) for of in zip(names, old, new, strict=True)]
    if len({*names}) == len(names):
        assert [row[3] for row in attributes] == [*asking.values()]
    for place, predicted in ((4, d.predicted_old), (5, d.predicted_new)):
        follows = sum(row[3] * row[place] for row in patterns)
        assert abs((predicted or 0.0) - follows) <= 1e-6 * max(1.0, follows)


def request_cost(
    basis: Mapping[str, Any],
    bits: Sequence[int],
    modules: Sequence[int] = (),
) -> float:
    """Of one request, over all patterns: attributes hashed, tuples compared, buckets visited; by
    the hash index that costs less, where there is one."""
    costs = _pattern_costs(basis, bits)
    chains = dict(basis.get("chains", ()))
    for module in modules:
        by_module = module.bit_count() + chains.get(module, basis["stored"])
        for pattern in costs:
            if pattern & module == module:
                costs[pattern] = min(costs[pattern], by_module)
    total: float = sum(share * costs[pattern] for pattern, share in basis["shares"])
    return total


def _pattern_costs(basis: Mapping[str, Any], bits: Sequence[int]) -> dict[int, float]:
    """By the bits."""
    n, costs = len(bits), dict[int, float]()
    corrections, segments = dict(basis["corrections"]), basis["segments"]
    left = [_left(basis, k, b) for k, b in enumerate(bits)]
    for pattern, _ in basis["shares"]:
        own = [k for k in range(n) if pattern >> (n - 1 - k) & 1]
        compared = basis["stored"] * math.prod(left[k] for k in own) * corrections.get(pattern, 1.0)
        hashed = sum(1 for k in own if bits[k])
        got_at = segments * _got_at(basis, bits, own, compared / segments)
        costs[pattern] = hashed + compared + got_at * basis["visits"]
    return costs


def _by_order(basis: Mapping[str, Any], k: int) -> bool:
    """Whether an attribute is asked for by order alone; Eq. 1 makes no difference."""
    n = len(basis["distinct"])
    return bool(basis["visits"] and basis["ordered"] >> (n - 1 - k) & 1)


def _left(basis: Mapping[str, Any], k: int, b: int) -> float:
    """The share of the tuples that b bits of an attribute leave."""
    distinct = basis["distinct"][k]
    least: float = 0.0 if distinct is None else 1 / max(1.0, distinct)
    if _by_order(basis, k):
        in_range = 0.5 if distinct is None else least
        return in_range + (1 - in_range) * 0.5 ** min(b, 8)
    return max(0.5**b, least)


def _got_at(
    basis: Mapping[str, Any], bits: Sequence[int], own: Sequence[int], compared: float
) -> float:
    """In a segment: buckets visited, those of wild cards behind all that is known at once, and of a
    range that ends it, or all codes read, whatever is less."""
    bucket, code = basis["prices"]
    codes: float = bucket + max(0.0, basis["stored"] / basis["segments"] - compared) * code
    known = [k for k in own if bits[k]]
    buckets = bucket if known else math.inf
    for k, b in enumerate(bits[: known[-1]] if known else ()):
        if k not in own:
            buckets *= 2.0**b
        elif _by_order(basis, k):
            buckets *= 2.0 ** min(b, 8) * _left(basis, k, b)
    least: float = min(buckets, codes)
    return least


def _indexed(bits: Sequence[int]) -> int:
    return sum(1 for b in bits if b)


def _price(basis: Mapping[str, Any], new: Sequence[int]) -> float:
    """Of moving all that is stored."""
    moved: list[float] = [n * _move(basis, bits, new) for n, bits in basis["partitions"]]
    return sum(moved)


def _move(basis: Mapping[str, Any], old: Sequence[int], new: Sequence[int]) -> float:
    """Of a tuple, as it was measured or in counted work."""
    if list(old) == list(new):
        return 0.0
    measured = basis.get("move")
    return float(_indexed(new) + _indexed(old) + 2 if measured is None else measured)


def _mix(d: Decision) -> Sides:
    """A mix of bits and hash indexes against the one in force, with what building it costs."""
    basis, before, after = d.detail["basis"], d.old, d.new
    _check_counted(d, before["bits"], after["bits"])
    costs = [request_cost(basis, of["bits"], of["modules"]) for of in (before, after)]
    for predicted, cost in zip((d.predicted_old, d.predicted_new), costs, strict=True):
        assert predicted is not None
        assert abs(predicted - cost) <= 1e-6 * max(1.0, cost), f"{predicted} instead of {cost}"
    upkeep = [
        basis["arrivals"] * (_indexed(of["bits"]) + sum(m.bit_count() + 1 for m in of["modules"]))
        for of in (before, after)
    ]
    saved = basis["requests"] * (costs[0] - costs[1]) + upkeep[0] - upkeep[1]
    built = [m for m in after["modules"] if m not in before["modules"]]
    price = basis["stored"] * sum(m.bit_count() + 1 for m in built)
    if any(after["bits"]):
        price += int(basis["stored"]) * _move(basis, before["bits"], after["bits"])
    return saved - price, d.detail["min_gain"] * basis["requests"] * costs[0]


def _division(d: Decision) -> Sides:
    """All states with their bits, against the cheapest division of as many."""
    curves, old, new = d.detail["curves"], d.old["bits"], d.new["bits"]
    most = len(curves[0]) - 1
    now, then = (
        sum(curve[min(bits, most)] for curve, bits in zip(curves, of, strict=True))
        for of in (old, new)
    )
    every = [of for of in product(range(most + 1), repeat=len(curves)) if sum(of) <= sum(old)]
    if len(every) <= 50_000:
        best = min(sum(c[b] for c, b in zip(curves, of, strict=True)) for of in every)
        assert then <= best + 1e-9 * max(1.0, best)
    return now - then, d.detail["min_gain"] * now


def _slices(d: Decision) -> Sides:
    best = max(d.detail["slices"], key=lambda slice: slice["saved"] - slice["cost"])
    return best["saved"], best["cost"]


#: By kind of decision.
RULES: Final[Mapping[str, Callable[[Decision], Sides]]] = {
    "route": _route,
    "schedule slot": _slot,
    "index bits": _bits,
    "migration": _slices,
    "access methods": _mix,
    "bit division": _division,
}
