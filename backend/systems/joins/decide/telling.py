"""Decisions on a join as records, with the words and numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from backend.adaptive.evidence import choices_detail, finite, plan_detail
from backend.adaptive.headroom import recorded
from backend.adaptive.ordering.findings import pair_detail
from backend.adaptive.planlog.logged import Ran, Weighed
from backend.adaptive.words import arrows, count, numbers, percent, significant, why_kept
from backend.operators.network.joins.join_tuning import JoinTuning, Segment
from backend.systems.joins.decide.changes import CacheChange, PricedCandidate
from backend.systems.joins.decide.headroom import cache_headroom, tree_headroom
from backend.systems.joins.decide.joint_orders import TreeCheck
from backend.systems.joins.decide.ordering import OrderCheck
from backend.systems.joins.decide.selecting import SELECTORS
from backend.systems.joins.decide.selection import LEAST_SHARE, worthwhile
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape, Orders
from storage.vocabulary.records import Decision, DecisionOutcome

#: Candidates that every way of choosing is tried on.
MOST_PRICED: Final = 12
#: Kinds of decisions.
SELECTION, MONITOR, ORDER = "cache selection", "cache monitor", "probe order"
TREE = "join tree"


class Told(NamedTuple):
    """What a batch led to. tuning: from the next batch on; None: as it was. ran, weighed: for the
    plan log."""

    decisions: tuple[Decision, ...] = ()
    outcomes: tuple[DecisionOutcome, ...] = ()
    tuning: JoinTuning | None = None
    ran: Ran = MappingProxyType({})
    weighed: tuple[Weighed, ...] = ()


class JoinLook(NamedTuple):
    """When something is looked at. seq: its number; n_sample: profiled elements behind it."""

    seq: int
    batch_id: int
    n_sample: int
    shape: JoinShape
    settings: JoinSettings


def cache_decision(look: JoinLook, change: CacheChange) -> Decision:
    """A selection of caches, or a cache that is dropped because it does not pay."""
    old, new = change.problem.cost(change.old), change.problem.cost(change.new)
    is_monitor = change.cause == "monitor"
    lhs, relation, rhs, metric = _tested(change, old, new, look.settings)
    return Decision(
        seq=look.seq,
        batch=look.batch_id,
        algorithm=f"a-caching, {look.settings.caching}",
        kind=MONITOR if is_monitor else SELECTION,
        verdict=change.verdict,
        metric=metric,
        lhs=lhs,
        relation=relation,
        rhs=rhs,
        n=change.n_elements,
        n_sample=look.n_sample,
        knob_version=look.settings.version,
        explanation=_explained(look, change, old, new),
        old=plan_detail(None, "caches", sorted(change.old)),
        new=plan_detail(None, "caches", sorted(change.new)),
        predicted_old=old,
        predicted_new=new,
        detail={
            "cost_unit": look.settings.cost_unit,
            "caches": [_cache_detail(cache, change, look.shape) for cache in change.caches],
            "transitions": [step._asdict() for step in change.transitions],
            "moved": None if change.moved is None else finite(change.moved),
            "change_share": look.settings.change_share,
            "pinned": sorted(change.problem.pinned),
            "least_share": LEAST_SHARE,
            "n_worthless": _n_worthless(change),
            **_other_choices(change, old),
            **recorded(cache_headroom(change, look.settings, look.shape)),
        },
    )


def _other_choices(change: CacheChange, now: float) -> dict[str, Any]:
    """What the join would cost with the caches that each way of choosing finds, and without."""
    problem, is_small = change.problem, len(change.caches) <= MOST_PRICED
    ways = {name: selector for name, selector in SELECTORS.items() if is_small or name == "greedy"}
    costs = {
        name: problem.cost(worthwhile(problem, selector(problem)))
        for name, selector in ways.items()
    }
    return choices_detail("caching", now, costs | {"off": problem.cost({})})


_FOR_CACHES: Final = "; about as good, and what rarely comes goes first, where caches can keep it"


def order_decision(look: JoinLook, check: OrderCheck, pipeline_cost: float | None) -> Decision:
    """A look at the order of a pipeline. pipeline_cost: what its elements cost at the moment."""
    names, shape = look.shape.names, look.shape
    old, new = (_names(shape, filters) for filters in (check.before, check.filters))
    return Decision(
        seq=look.seq,
        batch=look.batch_id,
        algorithm=check.policy.name,
        kind=ORDER,
        verdict=check.verdict,
        metric=check.metric,
        lhs=check.lhs,
        relation=">=" if check.for_caches else "<",
        rhs=check.rhs,
        n=check.n_tuples,
        n_sample=check.n_window,
        knob_version=look.settings.version,
        explanation=_order_explained(look, check, old, new) + _FOR_CACHES * check.for_caches,
        old=plan_detail(None, "filters", old, pipeline=names[check.input]),
        new=plan_detail(None, "filters", new, pipeline=names[check.input]),
        predicted_old=check.old_cost,
        predicted_new=check.new_cost,
        detail={
            "cost_unit": look.settings.cost_unit,
            "pipeline": check.input,
            "operators": list(_names(shape, shape.operators(check.input, check.filters))),
            "pipeline_cost": pipeline_cost,
            "pair": pair_detail(check.finding, check.names),
            "alpha": look.settings.alpha,
            "alpha_power": check.alpha_power,
            "window_tuples": check.n_window,
            "least_tuples": check.policy.least_window(look.settings),
            "cooldown_tuples": look.settings.cooldown_tuples,
            **_other_orders(check),
            **recorded(check.headroom),
        },
    )


def _other_orders(check: OrderCheck) -> dict[str, Any]:
    """What looking for partners would cost in the order of each algorithm that sees all of the
    profile."""
    if check.old_cost is None or not check.by_algorithm:
        return {}
    return choices_detail("join_order", check.old_cost, check.by_algorithm)


def tree_decision(look: JoinLook, check: TreeCheck, n_elements: int) -> Decision:
    """A look at all orders together. n_elements: since the last one."""
    shape, names = look.shape, look.shape.names
    kept = [" ⋈ ".join(names[i] for i in sorted(inside)) for inside, _ in check.kept]
    bound = (1 - check.gain) * check.old_cost
    return Decision(
        seq=look.seq,
        batch=look.batch_id,
        algorithm="joint search",
        kind=TREE,
        verdict=check.verdict,
        metric="cost of the join",
        lhs=check.new_cost,
        relation="<",
        rhs=bound,
        n=n_elements,
        n_sample=look.n_sample,
        knob_version=look.settings.version,
        explanation=_tree_explained(look, check, kept),
        old=plan_detail(None, "pipelines", _all_pipelines(shape, check.before)),
        new=plan_detail(None, "pipelines", _all_pipelines(shape, check.after)),
        predicted_old=check.old_cost,
        predicted_new=check.new_cost,
        detail={
            "cost_unit": look.settings.cost_unit,
            "kept": kept,
            "measured": check.is_measured,
            "gain": check.gain,
            **recorded(tree_headroom(check, look.settings.cost_unit)),
        },
    )


def _tree_explained(look: JoinLook, check: TreeCheck, kept: Sequence[str]) -> str:
    unit = look.settings.cost_unit
    if check.before == check.after:
        return f"no other orders are known to be better than {significant(check.old_cost)} {unit}"
    how = "measured before" if check.is_measured else "predicted"
    which = f"the tree that keeps {', '.join(kept)}" if kept else "other orders"
    text = f"{which}: {significant(check.new_cost)} {unit} {how}, now {significant(check.old_cost)}"
    return text if check.verdict == "switched" else f"{text}; {percent(check.gain)} less is needed"


def _all_pipelines(shape: JoinShape, orders: Orders) -> list[str]:
    return [f"{shape.names[i]}: {arrows(_names(shape, order))}" for i, order in enumerate(orders)]


def reader_said(shape: JoinShape, reader: Segment) -> str:
    """``pipeline of R, steps 2 to 3``."""
    steps = f"{reader.first + 1} to {reader.last + 1}"
    return f"pipeline of {shape.names[reader.pipeline]}, steps {steps}"


def _tested(
    change: CacheChange, old: float, new: float, settings: JoinSettings
) -> tuple[float | None, str, float | None, str]:
    """The inequality: lhs, relation, rhs, of what."""
    if change.cause == "monitor":
        gone = next(cache for cache in change.caches if cache.candidate.id == change.dropped)
        benefit = sum(gone.estimate.readers[place].benefit for place in gone.places)
        return benefit, "<", gone.estimate.cost, "benefit of a cache against its cost"
    if not change.is_chosen:
        moved = 0.0 if change.moved is None else change.moved
        return finite(moved), ">", settings.change_share, "largest change of a benefit or cost"
    if change.verdict != "switched" or new < old:
        return new, "<", old, "cost of the join"
    pins = [len(change.problem.pinned & choice.keys()) for choice in (change.new, change.old)]
    if pins[0] > pins[1]:
        return pins[0], ">", pins[1], "pinned caches in use"
    least = _n_worthless(change) * LEAST_SHARE * change.problem.cost({})
    return new - old, "<", least, "cost without what is not worth its memory"


def _n_worthless(change: CacheChange) -> int:
    """Caches in use before that save less than their memory is worth."""
    return len(change.old) - len(worthwhile(change.problem, change.old))


def _explained(look: JoinLook, change: CacheChange, old: float, new: float) -> str:
    unit, shape = look.settings.cost_unit, look.shape
    by_id = {cache.candidate.id: cache.candidate.said(shape) for cache in change.caches}
    if change.cause == "monitor":
        lhs, _, rhs, _ = _tested(change, old, new, look.settings)
        assert lhs is not None
        assert rhs is not None
        return (
            f"cache {by_id[change.dropped]} is dropped: it saves {significant(lhs)} {unit} and "
            f"costs {significant(rhs)}"
        )
    if not change.is_chosen:
        return (
            f"caches kept: no benefit or cost moved more than "
            f"{percent(look.settings.change_share)} since the last selection"
        )
    using = ", ".join(by_id[id] for id in sorted(change.new)) or "none"
    saved = change.problem.cost({}) - new
    if change.verdict == "kept":
        costs = " against {}".join(numbers(new, old)) + f" {unit}"
        return f"caches kept: those that {look.settings.caching} finds ({using}) cost more, {costs}"
    sentence = f"of {count(len(change.caches))} candidates used: {using}"
    sentence += f"; {significant(new)} {unit}, without caches {significant(new + saved)}"
    return sentence if change.verdict == "switched" else f"{sentence}; as before"


def _cache_detail(
    priced_candidate: PricedCandidate, change: CacheChange, shape: JoinShape
) -> dict[str, Any]:
    """All of a candidate that a decision rests on. low, high: of benefit - cost, 95 %."""
    candidate, estimate = priced_candidate.candidate, priced_candidate.estimate
    readers = [
        _reader_detail(priced_candidate, change, place, shape)
        for place in range(len(estimate.readers))
    ]
    low, high = estimate.interval(priced_candidate.places)
    return {
        "cache": candidate.id,
        "name": candidate.said(shape),
        "windows": list(candidate.windows),
        "witnesses": list(candidate.witnesses),
        "key": list(candidate.key),
        "keyed": candidate.keyed,
        "readers": readers,
        "benefit": sum(estimate.readers[place].benefit for place in priced_candidate.places),
        "cost": estimate.cost,
        "low": low,
        "high": high,
        "n": sum(estimate.readers[place].n_probes for place in priced_candidate.places),
        "n_keys": estimate.n_keys,
        "n_bytes": estimate.n_bytes,
        "pages": priced_candidate.n_pages,
        "state_before": priced_candidate.state_before,
        "state": priced_candidate.state,
    }


def _reader_detail(
    candidate: PricedCandidate, change: CacheChange, place: int, shape: JoinShape
) -> dict[str, Any]:
    reader, costs = candidate.candidate.readers[place], candidate.estimate.readers[place]
    return {
        **reader._asdict(),
        "said": reader_said(shape, reader),
        "lookups": costs.lookups,
        "segment_cost": costs.segment,
        "miss_prob": costs.miss_prob if costs.n_probes else None,
        "n_probes": costs.n_probes,
        "benefit": costs.benefit,
        "used_before": reader in candidate.before,
        "chosen": reader in change.new.get(candidate.candidate.id, ()),
        "used": reader in candidate.after,
    }


def _order_explained(
    look: JoinLook, check: OrderCheck, old: Sequence[str], new: Sequence[str]
) -> str:
    finding, sentence = check.finding, f"pipeline of {look.shape.names[check.input]}: "
    own, other = (check.names[x] for x in (finding.own, finding.other))
    passed = (
        f"of {count(finding.n_row)} elements that get so far {other} drops {count(finding.v_other)}"
    )
    sentence += f"{passed}, {own} {count(finding.v_own)}"
    settings = look.settings
    needed, spell = check.policy.least_window(settings), settings.cooldown_tuples
    kept = why_kept(check.verdict, check.n_window, needed, spell)
    return f"{sentence}; {kept or f'order {arrows(old)} becomes {arrows(new)}'}"


def _names(shape: JoinShape, inputs: Sequence[int]) -> tuple[str, ...]:
    return tuple(shape.names[i] for i in inputs)
