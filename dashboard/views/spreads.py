"""Steps and operators of a plan while it has been in force: smoothed, and at their largest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from dashboard.base.face import prices
from dashboard.components.kinds import node_kind
from dashboard.views.numbers import known, rounded
from dashboard.views.plan import Node, PlanStep, steps
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Entity, PlanVersion

#: Batches looked back on, at most.
WINDOW: Final = 24
#: Weight of the newest batch in what is smoothed; assets/modules/graph_values.js has the same.
EWMA_WEIGHT: Final = 0.2
#: What the numbers of a step are made of.
READ: Final = ("reached_tuples", "survival_prob", "drop_prob")
Series: TypeAlias = Mapping[tuple[str, str], SeriesData]
#: Node -> number -> [smoothed, largest]; a number that was never known is left out.
Spreads: TypeAlias = dict[str, dict[str, list[float]]]


def since_of(plan: PlanVersion, at: int) -> int:
    """First batch of a window that ends with one: none under another plan."""
    return max(plan.batch, at - WINDOW + 1, 0)


def keys_of(nodes: Sequence[Node]) -> list[tuple[str, str]]:
    """The series to read."""
    steps = [
        (node.id, name)
        for node in nodes
        if node.position
        for name in (*READ, node_kind(node.kind).cost)
        if name
    ]
    names = (READ[0], *prices())
    return steps + [(node.entity, name) for node in _operators(nodes) for name in names]


def _operators(nodes: Sequence[Node]) -> list[Node]:
    return [node for node in nodes if node.role == "operator"]


def build_spreads(
    plan: PlanVersion, nodes: Sequence[Node], series: Series, entities: Mapping[str, Entity]
) -> Spreads:
    """drop, drops and visits of each step over the batches of ``series``, see
    :class:`dashboard.views.plan.PlanStep`; visits of an operator: its share of the time."""
    values: dict[int, dict[str, dict[str, float | None]]] = {}
    for (entity, name), data in series.items():
        for batch, value in zip(data.batch.tolist(), data.value.tolist(), strict=True):
            number = value if known(value) else None
            values.setdefault(int(batch), {}).setdefault(entity, {})[name] = number
    spreads: Spreads = {}
    for batch in sorted(values):
        measured = [(s.entity, _numbers(s)) for s in steps(plan, nodes, values[batch], entities)]
        measured += _works(_operators(nodes), values[batch])
        for node, numbers in measured:
            own = spreads.setdefault(node, {})
            for name, number in numbers.items():
                if number is not None:
                    own[name] = _further(own.get(name), number)
    return {
        step: {name: [rounded(bound) or 0 for bound in pair] for name, pair in own.items()}
        for step, own in spreads.items()
    }


def _numbers(step: PlanStep) -> dict[str, float | None]:
    return {"drop": step.drop, "drops": step.dropped, "visits": step.visits}


def _works(
    operators: Sequence[Node], values: Mapping[str, Mapping[str, float | None]]
) -> list[tuple[str, dict[str, float | None]]]:
    """Operators with their shares of the time of all of them."""
    times: dict[str, float] = {}
    for node in operators:
        own = values.get(node.entity, {})
        price = next((own[name] for name in prices() if own.get(name) is not None), None)
        reached = own.get(READ[0])
        if price is not None and reached is not None:
            times[node.id] = price * reached
    total = sum(times.values())
    return [(id, {"visits": time / total}) for id, time in times.items() if total]


def _further(last: list[float] | None, value: float) -> list[float]:
    if last is None:
        return [value, value]
    smoothed, largest = last
    return [smoothed + EWMA_WEIGHT * (value - smoothed), max(largest, value)]
