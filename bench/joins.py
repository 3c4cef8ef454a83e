"""Adaptive joins beside every fixed plan, in one run and in turns over the same elements.

A chain of three streams goes through phases: each is the best time of another plan. Fixed plans are
all orders without Cartesian products with all sets of caches that go together, and all trees of
binary joins. The adaptive join knows nothing of phases; one prices by measured time and is judged
by processor time, two price and are judged by counted operations, of which one searches orders and
caches together. Then single workloads, where a cache pays by count, by time, or not at all; what
watching and deciding take; drop probing apart from output generation; and Spark's own join of three
streams. All lanes must find the same results in each stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import numpy as np

from backend.hosts.spark.session.session import build_session
from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape
from bench import stream
from bench.experiments.join_running import Arrivals
from bench.experiments.join_trees import is_connected, trees
from bench.joins_data import ChainPhase, JoinCase, chained, fixed_plans, join_cases, phased
from bench.joins_lanes import AdaptiveLane, FixedLane, JoinLane, JoinStretch, TreeLane, join_turns
from bench.joins_told import (
    caught_up,
    counted_cost,
    ns_per_tuple,
    settled,
    tell_case,
    tell_lanes,
    tell_overhead,
    tell_two_phases,
)
from bench.stream_data import join

#: By measured time, and by counted operations; a fixed MJoin, whose orders are those to begin with.
TIMED, COUNTED, MJOIN = "adaptive, by time", "adaptive, by count", "MJoin"
#: By counted operations, all orders and caches searched together.
JOINT = "joint, by count"
ADAPTIVE: Final = (TIMED, COUNTED, JOINT)
WATCHED, TWO_PHASES = "watched, no cache ever pays", "two phases"
#: Of a cache operation, in index probes, where cost is counted: the card's; and one that makes
#: every cache lose.
W, PROHIBITIVE_W = 0.25, 1e6
PHASES: Final = (
    ChainPhase("T often", (1, 1, 5), (1000, 1000)),
    ChainPhase("a burst of R", (20, 1, 5), (1000, 1000)),
    ChainPhase("fan-out, few results", (1, 1, 5), (20_000, 50)),
    ChainPhase("all alike", (1, 1, 1), (1000, 1000)),
)
CHANGING: Final = chained(3)
#: m, candidates that are looked at; tuples in each window.
QUOTA, WINDOW = 6, 1000


class BenchSize(NamedTuple):
    """phase_tuples: of each phase; stretch_tuples: of a batch; interval_tuples: I; case_tuples: of
    a single workload; beyond: tuples in the windows of the one that no processor's cache holds."""

    phase_tuples: int = 2_000_000
    stretch_tuples: int = 200_000
    interval_tuples: int = 400_000
    case_tuples: int = 2_000_000
    beyond: int = 400_000


FULL: Final = BenchSize()
SMALL: Final = BenchSize(4_000, 1_000, 2_000, 4_000, 1_000)


def main(size: BenchSize = FULL, beside_spark: bool = True) -> None:
    """Print all tables."""
    changing(size)
    for case in join_cases(size.case_tuples, size.beyond):
        single(case, size)
    watching(size)
    two_phases(size)
    if beside_spark:
        spark()


def small() -> None:
    """The same in seconds, without Spark: results are compared, times mean nothing."""
    main(SMALL, beside_spark=False)


def changing(size: BenchSize) -> None:
    """Every phase: all plans, and the adaptive ones beside the best."""
    arrivals = phased(PHASES, size.phase_tuples, (WINDOW,) * 3, np.random.default_rng(1))
    took = join_turns(_changing_lanes(arrivals, size), arrivals, size.stretch_tuples)
    n = size.phase_tuples // size.stretch_tuples
    for k, phase in enumerate(PHASES):
        part = {name: of[k * n : (k + 1) * n] for name, of in took.items()}
        fixed = [name for name in part if name not in ADAPTIVE]
        if not k:
            part = {name: of[n // 4 :] for name, of in part.items()}  # windows fill
        tell_lanes(phase.name, part, fixed, W)
        if k:
            _tell_answered(part, fixed, size)


def _tell_answered(
    part: Mapping[str, list[JoinStretch]], fixed: Sequence[str], size: BenchSize
) -> None:
    """How soon a change is answered, and what holds from then on: two intervals are given. A phase
    as a whole says neither, as a stretch without the right cache may cost as much as twenty."""
    others = [part[plan] for plan in fixed]
    given = 2 * size.interval_tuples // size.stretch_tuples
    by_count: Callable[[Sequence[JoinStretch]], float] = partial(counted_cost, w=W)
    for name in ADAPTIVE:
        cost = ns_per_tuple if name == TIMED else by_count
        n_stretches = caught_up(part[name], others, cost)
        intervals = n_stretches * size.stretch_tuples / size.interval_tuples
        print(f"  {name}: at the level of the best after {intervals:.1f} intervals;", end="")
        later = [stretches[given:] for stretches in others]
        if part[name][given:]:
            print(
                f" best / it from two intervals on: {settled(part[name][given:], later, cost):.2f}"
            )
        else:
            print(" the phase is no longer than two intervals")


def _changing_lanes(arrivals: Arrivals, size: BenchSize) -> dict[str, JoinLane]:
    shape, widths = JoinShape.of(CHANGING, 3, "RST"), arrivals.widths
    lanes: dict[str, JoinLane] = adaptive_lanes(CHANGING, widths, size)
    for name, tuning in fixed_plans(shape, QUOTA).items():
        lanes[name] = FixedLane(CHANGING, widths, tuning)
    for tree in trees((0, 1, 2)):
        if is_connected(tree, CHANGING):
            lanes[f"tree {tree}"] = TreeLane(CHANGING, widths, tree)
    return lanes


def adaptive_lanes(
    work: JoinOp, widths: Sequence[int], size: BenchSize, begin: JoinSettings | None = None
) -> dict[str, JoinLane]:
    """One by time, two by count. begin: settings besides those of the bench."""
    settings = replace(begin or JoinSettings(), interval_tuples=size.interval_tuples, w=W)
    counted = replace(settings, join_costs="counted")
    return {
        TIMED: AdaptiveLane(work, widths, settings),
        COUNTED: AdaptiveLane(work, widths, counted),
        JOINT: AdaptiveLane(work, widths, replace(counted, join_order="joint")),
    }


def single(case: JoinCase, size: BenchSize) -> None:
    """A workload: the adaptive joins beside the MJoin they begin as."""
    widths = case.arrivals.widths
    begin = JoinSettings(orders=case.orders, join_order="fixed", pool_bytes=case.pool_bytes)
    lanes: dict[str, JoinLane] = {
        MJOIN: FixedLane(case.work, widths, JoinTuning(orders=case.orders)),
        **adaptive_lanes(case.work, widths, size, begin),
    }
    tell_case(case, _after_a_third(join_turns(lanes, case.arrivals, size.stretch_tuples)), W)


def watching(size: BenchSize) -> None:
    """What profiles, shadow look-ups and decisions take: of a join in which they lead to nothing,
    beside one without."""
    arrivals = phased(PHASES[:1], size.case_tuples, (WINDOW,) * 3, np.random.default_rng(2))
    settings = JoinSettings(
        join_costs="counted", w=PROHIBITIVE_W, interval_tuples=size.interval_tuples
    )
    watched = AdaptiveLane(CHANGING, arrivals.widths, settings)
    orders = watched.controller.orders
    lanes: dict[str, JoinLane] = {
        MJOIN: FixedLane(CHANGING, arrivals.widths, JoinTuning(orders=orders)),
        WATCHED: watched,
    }
    took = _after_a_third(join_turns(lanes, arrivals, size.stretch_tuples))
    tell_overhead(took[MJOIN], took[WATCHED])


def two_phases(size: BenchSize) -> None:
    """Drop probing and output generation where most elements have no partner somewhere."""
    phase = ChainPhase("few partners", (1, 1, 5), (4000, 500))
    arrivals = phased([phase], size.case_tuples, (WINDOW,) * 3, np.random.default_rng(3))
    orders = next(iter(fixed_plans(JoinShape.of(CHANGING, 3), 0).values())).orders
    lanes: dict[str, JoinLane] = {
        MJOIN: FixedLane(CHANGING, arrivals.widths, JoinTuning(orders=orders)),
        TWO_PHASES: FixedLane(CHANGING, arrivals.widths, JoinTuning(orders=orders, two_phase=True)),
    }
    took = _after_a_third(join_turns(lanes, arrivals, size.stretch_tuples))
    tell_two_phases(took[MJOIN], took[TWO_PHASES])


def _after_a_third(took: Mapping[str, list[JoinStretch]]) -> dict[str, list[JoinStretch]]:
    """Without the stretches in which windows fill and caches are chosen first."""
    return {name: of[len(of) // 3 :] for name, of in took.items()}


def spark() -> None:
    """The product's join of three streams beside Spark's, as ``bench stream`` has it."""
    question = join(3, n_tuples=stream.SMALL, ticks=stream.SMALL_TICKS)
    with TemporaryDirectory() as name:
        session = build_session("local[2]", "planwatch bench", Path(name))
        try:
            place = Path(name) / "joins"
            stream.beside_spark(session, place, question, stream.PEER, 1, stream.SMALL_BATCHES)
        finally:
            session.stop()
