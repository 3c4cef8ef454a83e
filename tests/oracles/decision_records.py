"""Both sides of a recorded decision, worked out again from nothing but the record.

Written from docs/introspection.md; no decision core is asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from statistics import NormalDist
from typing import Any, Final

from storage.vocabulary.records import Decision
from tests.oracles.amri_records import RULES as EDDIES
from tests.oracles.constraint_records import RULES as CONSTRAINTS
from tests.oracles.look_records import RULES as LOOKS
from tests.oracles.look_records import is_passing
from tests.oracles.shed_records import RULES as SHEDDING

#: lhs, rhs as they follow from the record; None = infinite or unknown, as recorded.
Sides = tuple[float | None, float | None]
#: A number that is no part of a name, thousands apart.
_NUMBER: Final = re.compile(
    r"(?<![\w.])\d{1,3}(?: \d{3})+|(?<![\w.])\d+(?:\.\d+)?(?: × 10[⁻⁰-⁹¹²³]+)?(?![\w.]\d)"
)
_RAISED: Final = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
#: A share may be said in per cent, bytes in KiB or MiB.
_UNITS: Final = (1, 100, 1 / 1024, 1 / 1024**2)
_HOLDS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def faults(d: Decision) -> Iterator[str]:
    """What does not follow from the record; a sentence each."""
    rule = _RULES.get(d.kind) or _BY_ALGORITHM.get(d.algorithm)
    if rule is None:
        yield f"kind {d.kind!r} of {d.algorithm!r}: write down how its sides follow from its record"
        return
    sides = rule(d)
    for name, recorded, follows in zip(("lhs", "rhs"), (d.lhs, d.rhs), sides, strict=True):
        if not same(recorded, follows):
            yield f"{name} is recorded as {recorded}, from the record follows {follows}"
    yield from _verdict(d, holds(d))
    yield from _plans(d)
    yield from _said(d)


def _names(value: Any) -> Iterator[str]:
    """Texts of a record with a digit in them: names, whose digits are no numbers."""
    if isinstance(value, str) and any(map(str.isdigit, value)):
        yield value
    elif isinstance(value, dict):
        yield from _names([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _names(one)


def _said(d: Decision) -> Iterator[str]:
    """Numbers in the explanation that are none of the record, as they are printed."""
    known = [*_numbers(_known(d))]
    known += [a / b for a, b in [(d.predicted_new, d.predicted_old)] if a is not None and b]
    known += [1 - one for one in known]
    words = d.explanation
    for name in sorted({*_names([d.old, d.new, d.detail])}, key=len, reverse=True):
        words = words.replace(name, "")
    for text in _NUMBER.findall(words):
        plain = text.replace(" × 10", "e").translate(_RAISED).replace(" ", "")
        half = 0.51 * 10 ** -len(plain.partition(".")[2]) if "e" not in plain else 0.0
        value = abs(float(plain))
        is_rounded = "e" in plain or (len(plain) > 3 and "." not in plain)
        near = max(half, 0.0051 * value if is_rounded else half)
        if not any(abs(abs(k * unit) - value) <= near for k in known for unit in _UNITS):
            yield f"it says {text}, which the record does not have"


def _known(d: Decision) -> Any:
    left_out = {"trials", "paths", "charts", "headroom", "steps"}
    detail = {key: value for key, value in d.detail.items() if key not in left_out}
    sides = [d.lhs, d.rhs, d.n, d.n_sample, d.predicted_old, d.predicted_new]
    return [sides, detail, d.old, d.new]


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        yield float(len(value))
        for one in value:
            yield from _numbers(one)
    elif isinstance(value, int | float) and math.isfinite(value):
        yield float(value)


def same(a: float | None, b: float | None) -> bool:
    """Whether two numbers are the same but for rounding."""
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)


def holds(d: Decision) -> bool | None:
    """Whether the recorded relation holds; None: a side is unknown."""
    if d.lhs is None or d.rhs is None:
        return True if _is_unbounded(d) else None
    return _HOLDS[d.relation](d.lhs, d.rhs)


def _is_unbounded(d: Decision) -> bool:
    """A side is infinite, and the record says so."""
    if d.kind == "k of a constraint":
        return (d.rhs if d.relation == "<" else d.lhs) is None
    if d.kind == "shedding":
        return d.relation == "<=" and d.rhs is None
    pair = d.detail.get("pair")
    if pair:
        return bool(pair["violated"])
    if d.metric == "largest change of a benefit or cost":
        return True
    readings = [d.detail.get(key) for key in ("visits", "dropping_ratio")]
    return any(one and one["unbounded"] for one in readings)


def _verdict(d: Decision, is_so: bool | None) -> Iterator[str]:
    said = f"{d.verdict}, and {d.lhs} {d.relation} {d.rhs}"
    if d.verdict in ("switched", "acted") and not (is_so or d.detail.get("asked_for")):
        yield f"{said} does not hold"
    if d.verdict == "below_threshold" and is_so:
        yield f"{said} holds"
    if d.verdict in ("cooldown", "pinned") and is_so is False and d.algorithm not in _ALWAYS_TOLD:
        yield f"{said} does not hold, so that nothing was held back"
    if "least_tuples" in d.detail:
        is_thin = d.detail["window_tuples"] < d.detail["least_tuples"]
        if is_thin != (d.verdict == "thin"):
            yield f"{d.verdict} on {d.detail['window_tuples']} of {d.detail['least_tuples']} tuples"
    if d.verdict == "kept" and is_so and not _says_why(d):
        yield f"{said} holds, and nothing says why it was kept"


#: Algorithms that say 'pinned' of every look.
_ALWAYS_TOLD: Final = ("chain", "greedy", "static")


def _says_why(d: Decision) -> bool:
    """What the record gives as the reason for keeping a plan though the relation holds."""
    is_known = _is_cheapest(d) or _is_waiting(d) or is_passing(d)
    return is_known or bool(d.detail.get("assessed_already"))


def _is_cheapest(d: Decision) -> bool:
    """Plans were compared, and none was cheaper by what is asked for."""
    if "plans" not in d.detail or d.predicted_old is None:
        return False
    least = d.predicted_old * (1 - d.detail["min_gain"])
    return d.predicted_new is None or d.predicted_new >= least * (1 - 1e-9)


def _is_waiting(d: Decision) -> bool:
    """It has to last for some batches in a row."""
    needed = d.detail.get("in_a_row_needed")
    return needed is not None and d.detail["in_a_row"] < needed


def _plans(d: Decision) -> Iterator[str]:
    """Both predictions, as the plans that were compared cost."""
    plans = d.detail.get("plans") or ()
    for name, mark in (("predicted_old", "incumbent"), ("predicted_new", "chosen")):
        marked = [plan["cost"]["mean"] for plan in plans if plan[mark]]
        is_told = plans and (name == "predicted_old" or d.verdict == "switched")
        if is_told and not any(same(getattr(d, name), cost) for cost in marked):
            yield f"{name} is {getattr(d, name)}, of the plans compared {marked}"
    saving = d.detail.get("saving")
    if saving and d.verdict == "switched" and d.predicted_old is not None:
        saved = d.predicted_old - (d.predicted_new or 0.0)
        if not same(saving["mean"], saved):
            yield f"a saving of {saving['mean']}, from the predictions follows {saved}"


# ---------------------------------------------------------------------- by kind of decision


def _selection(d: Decision) -> Sides:
    """Change of the deciding quantity against μ; else cost against what is asked for."""
    known = [d.detail.get(key) for key in ("visits", "dropping_ratio")]
    if not d.metric.startswith("change of "):
        assert d.predicted_old is not None
        return d.predicted_new, d.predicted_old * (1 - d.detail["min_gain"])
    trigger = d.detail["trigger"]
    if trigger == "either":
        read = max(filter(None, known), key=_change) if all(known) else None
    else:
        read = known[0 if trigger == "visits" else 1]
    change = None if read is None else _change(read)
    return (None if change is None or math.isinf(change) else change), d.detail["mu"]


def _change(read: Mapping[str, Any]) -> float:
    now, init = read["now"], read["init"]
    if init:
        return float(abs(now - init) / init)
    return math.inf if now else 0.0


def _ranks(d: Decision) -> Sides:
    """Of a pair: the rank in place against the challenger's; of whole orders their costs."""
    pair, alpha = d.detail["pair"], d.detail["alpha"] ** d.detail.get("alpha_power", 1)
    if d.detail.get("rule") == "evidence":
        alpha = 1.0
    if d.metric == "predicted cost per tuple":
        assert d.predicted_old is not None
        new = d.predicted_old if d.predicted_new is None else d.predicted_new
        return new, alpha * d.predicted_old
    own, other = _rank(pair, ""), _rank(pair, "challenger_")
    if d.metric == "rank difference, lower bound":
        return 0.0, _lower_bound(pair)
    if d.relation == ">=":
        return _finite(other), _finite(alpha * own)
    return _finite(own), _finite(alpha * other)


def _rank(pair: Mapping[str, Any], who: str) -> float:
    dropped, cost, n = pair[f"{who}dropped"], pair[f"{who}cost_us"], pair["n_reached"]
    if not dropped or not n:
        return 0.0
    return float(dropped / cost / n) if cost else math.inf


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _lower_bound(pair: Mapping[str, Any]) -> float:
    """By normal theory, of [challenger drops]/t - [own drops]/t over the tuples of the row."""
    n = pair["n_reached"]
    own, other = 1 / pair["cost_us"], 1 / pair["challenger_cost_us"]
    both = pair["both_dropped"]
    values = [(other - own, both), (other, pair["challenger_dropped"] - both)]
    values += [(-own, pair["dropped"] - both)]
    mean = sum(value * times for value, times in values) / n
    square = sum(value**2 * times for value, times in values) / n
    half = NormalDist().inv_cdf(0.5 + pair["interval"]["confidence"] / 2)
    return float(mean - half * math.sqrt(max(0.0, square - mean**2) / n))


def _caches(d: Decision) -> Sides:
    """Costs of two choices of caches, or what else was tested of them."""
    table = {cache["cache"]: cache for cache in d.detail["caches"]}
    costs = d.detail["choices"]["costs"]
    old, new = (_cost(d, costs["off"], which) for which in ("used_before", "chosen"))
    assert same(d.predicted_old, old), f"predicted_old {d.predicted_old}, by the table {old}"
    assert same(d.predicted_new, new), f"predicted_new {d.predicted_new}, by the table {new}"
    if d.kind == "cache monitor":
        gone = table[d.detail["transitions"][0]["cache"]]
        return sum(r["benefit"] for r in gone["readers"] if r["used_before"]), gone["cost"]
    if d.metric == "largest change of a benefit or cost":
        return d.detail["moved"], d.detail["change_share"]
    if d.metric == "pinned caches in use":
        pinned = d.detail["pinned"]
        return tuple(  # type: ignore[return-value]
            len({*pinned} & {*plan["order"]}) for plan in (d.new, d.old)
        )
    if d.metric == "cost of the join":
        return new, old
    return new - old, d.detail["n_worthless"] * d.detail["least_share"] * costs["off"]


def _cost(d: Decision, bare: float, which: str) -> float:
    for cache in d.detail["caches"]:
        benefits = [reader["benefit"] for reader in cache["readers"] if reader[which]]
        bare -= sum(benefits) - cache["cost"] * bool(benefits)
    return bare


def _tree(d: Decision) -> Sides:
    assert d.predicted_old is not None
    return d.predicted_new, (1 - d.detail["gain"]) * d.predicted_old


def _chains(d: Decision) -> Sides:
    """Chains from the steps of each path, predictions by moving blocks of a burst one by one."""
    charts, detail = d.detail["charts"], d.detail
    told = [(chain["operators"], chain["slope"]) for chain in detail["chains"]]
    fresh = [chain for chart in charts for chain in _partition(chart, d.algorithm)]
    for (own, slope), (known, steep) in zip(sorted(told), sorted(fresh), strict=True):
        assert own == known, f"chain {own}, by the steps {known}"
        assert same(slope, steep), f"slope {slope} of {own}, by the steps {steep}"
    steepness = [slope for _, slope in told]
    assert steepness == sorted(steepness, reverse=True), f"chains not steepest first: {steepness}"
    before = [(chain["operators"], chain["slope"]) for chain in detail["chains_before"]]
    is_same = [own for own, _ in before] == [own for own, _ in told]
    new = _waits(charts, told)
    old = new if is_same else _waits(charts, before)
    assert same(d.predicted_new, new), f"predicted_new {d.predicted_new}, by the steps {new}"
    assert same(d.predicted_old, old), f"predicted_old {d.predicted_old}, by the steps {old}"
    by_policy = detail.get("choices", {}).get("costs", {})
    for policy, cost in by_policy.items():
        chains = [] if policy == "fifo" else [c for h in charts for c in _partition(h, policy)]
        assert same(cost, _waits(charts, chains)), f"choice {policy}"
    if d.metric == "n_chains":
        return float(len(detail["chains"])), 0.0
    return (1 - new / old if old else 0.0), detail["min_gain"]


_Named = list[tuple[list[str], float]]


def _partition(chart: Mapping[str, Any], policy: str) -> _Named:
    """Chains of a path, each with its slope: under Greedy its operators, else the steepest run
    from where the last ended, of equal ones the longest."""
    names, steps = chart["operators"], chart["steps"]
    found: _Named = []
    while len(at := names[sum(len(own) for own, _ in found) :]):
        first = len(names) - len(at)
        runs = []
        for end in range(first + 1, len(names) + 1):
            size, time, beside = 1.0, 0.0, 0.0
            for cost, passed, aside in steps[first:end]:
                time, beside, size = time + size * cost, beside + size * aside, size * passed
            if time > 0:
                runs.append(((1 - size - beside) / time, end))
        steepest = max(slope for slope, _ in runs)
        end = max(end for slope, end in runs if slope >= steepest - 1e-9)
        if policy == "greedy":
            end = first + 1
        found.append((names[first:end], dict((end, slope) for slope, end in runs)[end]))
    return found


def _waits(charts: list[Mapping[str, Any]], chains: _Named) -> float:
    """Elements in queues for each of a burst, on average over the time it takes."""
    slopes = {name: slope for own, slope in chains for name in own}
    places, blocks = list[tuple[float, float, float, bool]](), list[tuple[int, int, float]]()
    for chart in charts:
        if chart["share"] > 0:
            blocks += [(age, len(places), chart["share"] / 8) for age in range(8)]
        steps, names = chart["steps"], chart["operators"]
        for n, ((cost, passed, _), name) in enumerate(zip(steps, names, strict=True)):
            places.append((slopes.get(name, 0.0), cost, passed, n + 1 == len(names)))
    begun, spent, area = sum(size for _, _, size in blocks), 0.0, 0.0
    while blocks:
        blocks.sort(key=lambda block: (-places[block[1]][0], block[0], -block[1]))
        age, place, size = blocks.pop(0)
        _, cost, passed, is_last = places[place]
        others = sum(other for _, _, other in blocks)
        area += size * cost * (others + size * (1 + passed) / 2)
        spent += size * cost
        if size * passed > 0 and not is_last:
            blocks.append((age, place + 1, size * passed))
    return area / spent / begun if spent and begun else 0.0


_RULES: Final[Mapping[str, Callable[[Decision], Sides]]] = {
    "chains": _chains,
    "probe order": _ranks,
    "cache selection": _caches,
    "cache monitor": _caches,
    "join tree": _tree,
    **CONSTRAINTS,
    **EDDIES,
    **LOOKS,
    **SHEDDING,
    "bound": lambda d: (float(d.n_sample), 200.0),  # the toy: tuples that passed, its bound
}
_BY_ALGORITHM: Final[Mapping[str, Callable[[Decision], Sides]]] = {
    "asc": _selection,
    **dict.fromkeys(
        ("a-greedy", "sweep", "independent", "local swaps", "optimal", "static"), _ranks
    ),
}
