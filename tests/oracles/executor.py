"""An executor without Spark: the scalar matcher, tuple by tuple. Slow, obvious, exact."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from backend.adaptive.selection.matching import StopRule, match_tuple
from backend.engine.execution import BatchResult, Match, PlanSnapshot

Row = Mapping[str, Any]


def execute(
    rows: Sequence[Row], snapshot: PlanSnapshot, seed: int = 1, stop_rule: StopRule = "resolved"
) -> BatchResult:
    """What a batch of ``rows`` comes to under the snapshot's plan; all tuples fit the schema."""
    constructs, order = snapshot.constructs, snapshot.plan.order
    reached, dropped, by_query = Counter[str](), Counter[str](), Counter[str]()
    matches: list[Match] = []
    for row in rows:
        grb, visited = match_tuple(constructs, order, row, stop_rule)
        reached.update(order if snapshot.plan.kind == "no early drop" else visited)
        names = constructs.names_of(grb)
        if grb.any():
            by_query.update(names)
            matches.append(Match(row, names))
        elif visited:
            dropped[visited[-1]] += 1
    drops = snapshot.plan.kind == "early drop"
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
