"""An executor without Spark: the scalar matcher, tuple by tuple. Slow, obvious, exact.

Hybrid plans and lotteries run as the decision core simulates them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backend.engine.execution import BatchResult, Match, PlanSnapshot

from backend.systems.asc.constructs import Words
from backend.systems.asc.cost import PlanShape, route
from backend.systems.asc.matching import StopRule, match_tuple, sample_regions
from backend.systems.asc.walk import Routed

Row = Mapping[str, Any]


def execute(
    rows: Sequence[Row], snapshot: PlanSnapshot, seed: int = 1, stop_rule: StopRule = "resolved"
) -> BatchResult:
    """What a batch of ``rows`` comes to under the snapshot's plan; all tuples fit the schema."""
    constructs, order = snapshot.constructs, snapshot.plan.order
    reached, dropped, by_query = Counter[str](), Counter[str](), Counter[str]()
    matches: list[Match] = []
    for row, (grb, visited) in zip(rows, _routes(rows, snapshot, stop_rule), strict=True):
        reached.update(order if snapshot.plan.kind == "no early drop" else visited)
        names = constructs.names_of(grb)
        if grb.any():
            by_query.update(names)
            matches.append(Match(row, names))
        elif visited:
            dropped[visited[-1]] += 1
    drops = snapshot.plan.kind != "no early drop"
    rng = random.Random(seed * 1_000_003 + snapshot.batch_id)
    profiled = [row for row in rows if rng.random() < snapshot.profile_prob]
    return BatchResult(
        batch_id=snapshot.batch_id,
        n_tuples=len(rows),
        n_matched=len(matches),
        n_misfits=0,
        visits=sum(reached.values()),
        reached={a: reached[a] for a in order},
        dropped={a: dropped[a] for a in order} if drops else {},
        sample={a: [row[a] for row in profiled] for a in order},
        matched_by_query=dict(by_query),
        recent=tuple(matches),
        duration_ms=100.0,
    )


def _routes(
    rows: Sequence[Row], snapshot: PlanSnapshot, stop_rule: StopRule
) -> Iterator[tuple[Words, list[str]]]:
    """The final GRB of each tuple and the constructs it visited, the one that dropped it last."""
    constructs, plan = snapshot.constructs, snapshot.plan
    if plan.kind not in ("hybrid", "ticket"):
        for row in rows:
            yield match_tuple(constructs, plan.order, row, stop_rule)
        return
    for row in rows:
        regions = sample_regions(constructs, {a: [row.get(a)] for a in constructs.attributes})
        found = route(constructs, regions, PlanShape.of(plan), stop_rule)
        assert isinstance(found, Routed)
        died = [a for a, n in zip(plan.order, found.dropped, strict=True) if n]
        ways = [a for a, v in zip(plan.order, found.visited[0], strict=True) if v and a not in died]
        yield found.grb[0], [*ways, *died]
