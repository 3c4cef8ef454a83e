"""The plan the trigger settles on, beside other orders and beside no early drop, in the kernels.

Uniform tuples, and tuples of which one attribute drops most; one thread, regions looked up before.
The chosen plan comes from the decision core, fed with batches, by thresholds at their defaults.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.cql import parse_query
from backend.model.events import BatchExecuted, SelectionPlan
from backend.model.knobs import KnobSettings
from backend.operators.selection.matcher import Matcher
from backend.operators.selection.worker import look_up
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import CostModel
from backend.systems.asc.hybrid import Rules
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.layouts import layout_of, search_of
from backend.systems.asc.matching import sample_regions
from backend.systems.asc.orderings import NAMES, ORDERINGS, propose
from backend.systems.asc.reoptimizer import SelectionReOptimizer
from backend.workloads.drift import DRIFT_SCHEMA, Phase, drift_table, q1_queries
from bench.adapt_run import BY_THRESHOLDS
from bench.timing import take_turns

SEED: Final = 7
N_TUPLES: Final = 300_000
BATCHES, BATCH_TUPLES = 8, 5_000
#: Of a batch, the first so many are its profile sample.
SAMPLE: Final = 500
RANDOM_ORDERS: Final = 40
ROUNDS: Final = 15
#: Queries, and the attribute that drops most.
CASES: Final[tuple[tuple[int, tuple[str, ...]], ...]] = (
    (50, ("a1",)),
    (512, ("a1",)),
    (50, ()),
    (512, ()),
)


def main() -> None:
    """Print, for each case, the chosen plan, the best one and how far apart they are."""
    for k, selective in CASES:
        tuples = drift_table(SEED, (Phase("uniform", N_TUPLES, selective=selective),), 0, N_TUPLES)
        _case(k, selective, tuples)


def _case(k: int, selective: Sequence[str], tuples: pa.Table) -> None:
    core = _core(k, selective)
    chosen, constructs = _settled(core, tuples), core.constructs
    plans = {"chosen": chosen, **_others(constructs, tuples)}
    variants = {name: _matching(constructs, plan, tuples) for name, plan in plans.items()}
    seconds, results = take_turns(variants, ROUNDS)
    if len(set(results.values())) != 1:
        raise AssertionError(f"the plans find different numbers of matches: {results}")
    best = {name: min(times) for name, times in seconds.items()}
    first, last = min(best, key=best.__getitem__), max(best, key=best.__getitem__)
    data = f"{selective[0]} drops most" if selective else "uniform"
    print(f"\nk = {k}, {data}: {len(plans) - 1} plans beside the chosen one")
    shown = dict.fromkeys(["chosen", first, last, *(NAMES[o] for o in ORDERINGS), _NO_DROP])
    for name in (name for name in shown if name in plans):
        speed = N_TUPLES / best[name] / 1e6
        plan = plans[name]
        ratio = best[name] / best[first]
        print(f"  {name:28} {speed:7.2f} M tuples/s, {ratio:6.3f} x the best's time, {plan.kind}")
        print(f"  {'':28} {' '.join(plan.order)}", flush=True)


_NO_DROP: Final = "no early drop"


def _core(k: int, selective: Sequence[str]) -> SelectionReOptimizer:
    streams = {"Drift": DRIFT_SCHEMA}
    texts = q1_queries(seed=SEED, k=k, common=tuple(selective))
    queries = tuple(parse_query(name, text, streams) for name, text in texts.items())
    settings = KnobSettings.defaults(AscKnobs.specs(), BY_THRESHOLDS)
    core = SelectionReOptimizer(queries, DRIFT_SCHEMA, settings, None)
    core.start()
    return core


def _settled(core: SelectionReOptimizer, tuples: pa.Table) -> SelectionPlan:
    """The plan in force after some batches."""
    for batch in range(BATCHES):
        part = tuples.slice(batch * BATCH_TUPLES, BATCH_TUPLES)
        plan, constructs = core.plan, core.constructs
        matcher = _matcher(constructs, plan)
        matches = matcher.match(_regions(constructs, plan, part))
        reached = matcher.counts.reached.tolist()
        core.handle(
            BatchExecuted(
                batch_id=batch,
                n_tuples=len(part),
                n_matched=int(np.count_nonzero(np.diff(matches.tuples, prepend=-1))),
                visits=sum(reached),
                plan_version=plan.version,
                reached=dict(zip(plan.order, reached, strict=True)),
                sample={a: part.column(a)[:SAMPLE].to_pylist() for a in constructs.attributes},
            )
        )
    return core.plan


def _others(constructs: ConstructSet, tuples: pa.Table) -> dict[str, SelectionPlan]:
    """Every ordering's plan on a sample, random orders, and no early drop."""
    rng, names = random.Random(SEED), list(constructs.attributes)
    sample = {a: tuples.column(a)[:2000].to_pylist() for a in names}
    regions = sample_regions(constructs, sample)
    model, rules = CostModel("resolved", 1.0), Rules("resolved", "local", 10)
    plans = {_NO_DROP: SelectionPlan(0, "no early drop", tuple(names))}
    for ordering in ORDERINGS:
        shape = propose(ordering, constructs, [regions], model, rules).shape
        plans[NAMES[ordering]] = SelectionPlan(0, shape.kind, shape.order, shape.arrows)
    for number in range(RANDOM_ORDERS):
        order = tuple(rng.sample(names, len(names)))
        plans[f"random order {number + 1}"] = SelectionPlan(0, "early drop", order)
    return plans


def _matcher(constructs: ConstructSet, plan: SelectionPlan) -> Matcher:
    return Matcher(layout_of(constructs, plan.order, plan.arrows), plan.kind, True, 100, SEED)


def _regions(constructs: ConstructSet, plan: SelectionPlan, tuples: pa.Table) -> NDArray[np.int32]:
    regions = np.empty((len(plan.order), len(tuples)), dtype=np.int32)
    for place, attribute in enumerate(plan.order):
        construct = constructs.constructs[attribute]
        column = tuples.column(attribute).combine_chunks()
        look_up(column, construct.type, search_of(construct), regions[place])
    return regions


def _matching(constructs: ConstructSet, plan: SelectionPlan, tuples: pa.Table) -> Callable[[], int]:
    regions, matcher = _regions(constructs, plan, tuples), _matcher(constructs, plan)
    return lambda: len(matcher.match(regions).slots)
