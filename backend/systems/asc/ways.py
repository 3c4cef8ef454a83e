"""Which constructs sampled tuples of a batch passed, where all take the same way. [L07] Alg. 1"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from backend.model.events import SelectionPlan
from backend.model.ids import entity_id, output_id, output_queue, source_id, source_queue
from backend.systems.asc.constructs import ConstructSet, Words
from backend.systems.asc.matching import sample_regions
from storage.vocabulary.taps import TapSample

#: Tuples that are told of, at most.
MOST_TUPLES: Final = 20
#: Kinds of plans under which all tuples meet the constructs in one order.
ONE_WAY: Final = ("early drop", "no early drop")


def is_on_the_way(entity: str, unit_id: str, input: str, plan: SelectionPlan) -> bool:
    """Whether an entity is an edge or an operator of a plan in which all tuples go one way."""
    own = [source_id(input), source_queue(input), output_id(input), output_queue(unit_id)]
    own += [entity_id(unit_id, role, a) for a in plan.order for role in ("selection", "queue")]
    return plan.kind in ONE_WAY and entity in own


def passed(
    unit_id: str,
    input: str,
    n_tuples: int,
    plan: SelectionPlan,
    constructs: ConstructSet,
    sample: Mapping[str, Sequence[Any]],
) -> list[TapSample]:
    """Some sampled tuples, at the source and behind each construct of the plan. n_tuples: in the
    batch. sample: attribute -> raw values. Without early drop none is dropped before the last."""
    n = max(map(len, sample.values()), default=0)
    spread = np.linspace(0, n - 1, min(n, MOST_TUPLES)) if n else np.zeros(0)
    places = np.unique(spread.astype(np.intp))
    chosen = {name: [values[place] for place in places] for name, values in sample.items()}
    rows = [
        [number, 1, 1, *(chosen[name][number] for name in plan.order)]
        for number in range(len(places))
    ]
    samples = [TapSample(unit_id, source_id(input), n_tuples, plan.order, rows)]
    if not rows or plan.kind not in ONE_WAY:
        return samples
    regions = sample_regions(constructs, chosen)
    columns = {attribute: k for k, attribute in enumerate(constructs.constructs)}
    grb: Words = np.repeat(constructs.initial[None, :], len(rows), axis=0)
    for attribute in plan.order:
        grb &= constructs.constructs[attribute].qrb[regions[:, columns[attribute]]]
        drops = plan.kind == "early drop" or attribute == plan.order[-1]
        left = [row for row, own in zip(rows, grb, strict=True) if own.any() or not drops]
        id = entity_id(unit_id, "selection", attribute)
        samples.append(TapSample(unit_id, id, None, plan.order, left))
    return samples
