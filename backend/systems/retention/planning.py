"""Which joins of a network may keep less, by which key, and which of their windows do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.retention import Keyed, RetainedKey, RetainedOp, retained_key
from backend.operators.network.kinds.windows import WindowOp


class WholeJoin(NamedTuple):
    """A join, by operator, that cannot keep less. why: goes on 'it …'."""

    query: str
    id: str
    why: str


class RetainedJoin(NamedTuple):
    """A join, by operator, that keeps less. windows: those that drop tuples, if any may."""

    id: str
    key: RetainedKey
    windows: tuple[Keyed, ...]


def retained_joins(
    plan: NetworkPlan, queries: Iterable[str]
) -> tuple[list[RetainedJoin], list[WholeJoin]]:
    """Of some queries. A window drops tuples if all that read it want it by one key: it is kept
    whole for others, and where it stands in a join twice."""
    keys, whole = dict[str, RetainedKey](), list[WholeJoin]()
    for query in queries:
        for id in _joins_below(plan, plan.answers[query].operator):
            key = retained_key(plan, id)
            if key is not None:
                keys[id] = key
            else:
                whole.append(WholeJoin(query, id, _why(plan, id)))
    above, joins = _above(plan), list[RetainedJoin]()
    for id, key in keys.items():
        free = tuple(own for own in key.windows if _is_free(own, own.window, above, keys))
        joins.append(RetainedJoin(id, key, free))
    return joins, whole


def spans(plan: NetworkPlan, join: RetainedJoin) -> dict[str, int]:
    """How far its windows reach back, ticks or rows."""
    works = {own.window: plan.operator(own.window).doing(WindowOp) for own in join.windows}
    return {id: RetainedOp(work.kind, work.size).span for id, work in works.items()}


def _joins_below(plan: NetworkPlan, id: str) -> Iterator[str]:
    """The joins of an answer; where one has a key of windows, not those below it."""
    planned = plan.operator(id)
    is_join = isinstance(planned.work, JoinOp)
    below = list(
        dict.fromkeys(join for input in planned.inputs for join in _joins_below(plan, input))
    )
    if is_join and (retained_key(plan, id) is not None or not below):
        below = [id]
    yield from below


def _why(plan: NetworkPlan, id: str) -> str:
    if not plan.operator(id).doing(JoinOp).equal:
        return "has no equal attributes"
    return "has no window [Range …] or [Rows n] of a stream with an equal attribute"


def _above(plan: NetworkPlan) -> dict[str, list[str]]:
    """Who reads an operator; '': an answer does."""
    above: dict[str, list[str]] = {}
    for planned in plan.operators:
        for input in planned.inputs:
            above.setdefault(input, []).append(planned.id)
    for answer in plan.answers.values():
        above.setdefault(answer.operator, []).append("")
    return above


def _is_free(
    window: Keyed, id: str, above: Mapping[str, list[str]], keys: Mapping[str, RetainedKey]
) -> bool:
    """Whether all that read an operator are joins that want the window by this key, or only they
    read those."""
    return all(
        window in keys[reader].windows
        and sum(own.window == window.window for own in keys[reader].windows) == 1
        if reader in keys
        else bool(reader) and _is_free(window, reader, above, keys)
        for reader in above.get(id, [""])
    )
