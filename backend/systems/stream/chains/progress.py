"""Chain: which operators run together, and which first (thesis, section 2.3.3; card A8).

A path of operators releases memory as it works: its progress chart goes from (0, 1), an element of
the first queue, down to what is left of it. Chain cuts a path where its lower envelope turns: from
an operator on, the run of operators with the steepest descent is one chain, and the next begins
behind it. The steepest chain runs first.

Reading of the text's silences: of equally steep runs the longest is taken; elements that go to
queues of other paths too stay in memory, so they count as not released.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from backend.operators.network.core.plan import NetworkPlan

#: Slopes that differ by less are equal.
EQUAL: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Step:
    """An operator on its path, for each element it takes. passed: elements to the next queue of the
    path, beside: to queues of other paths, >= 0; cost: time it takes, > 0, in any unit."""

    id: str
    passed: float
    beside: float = 0.0
    cost: float = 1.0

    @property
    def slope(self) -> float:
        """Elements released in a unit of time."""
        return (1.0 - self.passed - self.beside) / self.cost


#: All paths of a plan, each from its first operator on.
Paths: TypeAlias = tuple[tuple[Step, ...], ...]


class Chain(NamedTuple):
    """Operators that run one behind the other. slope: elements released in a unit of time."""

    operators: tuple[str, ...]
    slope: float


class ChartPoint(NamedTuple):
    """On a progress chart: time spent on an element of the path's first queue, and how much of it
    is in queues then."""

    time: float
    size: float


def progress(path: Sequence[Step]) -> tuple[ChartPoint, ...]:
    """The chart of a path: (0, 1), then a point behind each operator."""
    points = [ChartPoint(0.0, 1.0)]
    time, size, beside = 0.0, 1.0, 0.0
    for step in path:
        time += size * step.cost
        beside += size * step.beside
        size *= step.passed
        points.append(ChartPoint(time, size + beside))
    return tuple(points)


def partition(path: Sequence[Step]) -> tuple[Chain, ...]:
    """The chains of a path, in its order.

    With selectivities 0.9, 1 and 0, a unit of time each, the third operator pulls all others into
    one chain, where Greedy would run the first alone:

    >>> path = [Step("a", 0.9), Step("b", 1.0), Step("c", 0.0)]
    >>> [(chain.operators, round(chain.slope, 3)) for chain in partition(path)]
    [(('a', 'b', 'c'), 0.357)]
    """
    chains: list[Chain] = []
    at = 0
    while at < len(path):
        chain = _steepest(path[at:])
        chains.append(chain)
        at += len(chain.operators)
    return tuple(chains)


def _steepest(path: Sequence[Step]) -> Chain:
    """The first operators of a path, as many as descend most steeply together."""
    chart = progress(path)[1:]
    slopes = [(1.0 - point.size) / point.time for point in chart if point.time > 0]
    best = max(slopes)
    length = max(n for n, slope in enumerate(slopes, start=1) if slope >= best - EQUAL)
    return Chain(tuple(step.id for step in path[:length]), slopes[length - 1])


def slopes_of(policy: str, steps: Sequence[Sequence[Step]]) -> dict[str, tuple[float, int]]:
    """Operator -> slope and chain number, as a Schedule takes them. Greedy's chains are single
    operators; chains are numbered from 0, the steepest first, equal ones as the paths stand."""
    chains = [chain for path in steps for chain in chains_of(policy, path)]
    chains.sort(key=lambda chain: -chain.slope)
    return {id: (c.slope, n) for n, c in enumerate(chains) for id in c.operators}


def chains_of(policy: str, path: Sequence[Step]) -> tuple[Chain, ...]:
    """The chains of a path under Chain; for Greedy each operator by itself."""
    if policy == "greedy":
        return tuple(Chain((step.id,), step.slope) for step in path)
    return partition(path)


def paths_of(plan: NetworkPlan) -> tuple[tuple[str, ...], ...]:
    """The operators of a plan but its inputs, each on one path.

    A path goes on with the first consumer of its last operator's elements, unless that is on
    another path already; a join is on the path of its first input.
    """
    scheduled = [operator for operator in plan.operators if operator.inputs]
    after: dict[str, str] = {}
    heads = []
    for operator in scheduled:
        free = [i for i in operator.inputs if i not in after and plan.operator(i).inputs]
        if free:
            after[free[0]] = operator.id
        else:
            heads.append(operator.id)
    return tuple(tuple(_along(head, after)) for head in heads)


def _along(head: str, after: Mapping[str, str]) -> Iterable[str]:
    at: str | None = head
    while at is not None:
        yield at
        at = after.get(at)


def steps_of(
    plan: NetworkPlan,
    selectivities: Mapping[str, float],
    costs: Mapping[str, float],
) -> Paths:
    """The paths of a plan with what was measured. selectivities: operator -> elements out for each
    taken in; costs: time for each taken in; absent: 1."""
    consumers = plan.consumers()
    paths = []
    for path in paths_of(plan):
        steps = []
        for place, id in enumerate(path):
            out = selectivities.get(id, 1.0)
            n_queues = len(consumers[id])
            goes_on = place + 1 < len(path)
            beside = out * (n_queues - goes_on)
            steps.append(Step(id, out if goes_on else 0.0, beside, costs.get(id, 1.0)))
        paths.append(tuple(steps))
    return tuple(paths)
