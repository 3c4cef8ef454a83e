"""Table 6.3: queries of Linear Road with and without k-constraints. [B05] §6.10

Keys follow from the texts: the last report of each car, distinct cars, groups. Joins are measured
in the network of their query, in one process without a host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from backend.cql import parse_query
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.kinds.kmon import KMonOp
from backend.operators.network.kmon.tuning import ConstraintTuning, KMonTuning, constraint_ids
from backend.operators.network.shards.homes import MemoryShard
from backend.operators.network.shards.shard import NetworkTask, run_shard
from backend.operators.network.shards.timed import Arrived
from backend.systems.kmon.core import KMON
from backend.systems.stream.compiling import compile_queries
from backend.workloads.linear_road import CAR_SCHEMA, CarSource
from backend.workloads.shipped import shipped_workloads
from backend.workloads.spec import load_workload
from bench.experiments.kmon_sizes import KMonSizes
from bench.experiments.results import FigureResult, PaperClaim, Plot, Series, verdict

#: Joins of windows; many-one joins without constraints; with RIDS(0) on all.
Way: TypeAlias = Literal["stream", "many-one", "RIDS(0)"]
WAYS: Final[tuple[Way, ...]] = ("stream", "many-one", "RIDS(0)")
#: Queries of the text's table that are joins here: its ratios of memory and of time.
RATIOS: Final[Mapping[str, tuple[float, float]]] = {
    "CurCarSeg": (0.09, 0.65),
    "AccSeg": (0.13, 0.99),
    "NegTollStr": (0.13, 0.62),
}
_TUPLES: Final = 500_000
_BATCHES: Final = 50
_TICK_US: Final = 1_000_000
_ACCIDENTS: Final = 0.01


class RoadRun(NamedTuple):
    """The joins of a query in the second half of a run. held, n_bytes: in their synopses, means
    over the batches; ns: of their time, a report."""

    held: float
    n_bytes: float
    ns: float


def table_3(sizes: KMonSizes) -> FigureResult:
    """Table 6.3: each query under the system stream, many-one, and with RIDS."""
    runs = {name: {way: _mean(sizes, name, way) for way in WAYS} for name in RATIOS}
    shares = [RoadRun(*np.divide(own["RIDS(0)"], own["stream"])) for own in runs.values()]
    tuples, n_bytes, times = zip(*shares, strict=True)
    many_one = [own["many-one"].n_bytes / own["stream"].n_bytes for own in runs.values()]
    claims = (
        PaperClaim(
            "Memory falls to at most 0.2",
            verdict([share <= 0.2 for share in n_bytes]),
            f"bytes {_listed(n_bytes)} (many-one alone {_listed(many_one)}), tuples "
            f"{_listed(tuples)}; in the text {_listed([memory for memory, _ in RATIOS.values()])}",
        ),
        PaperClaim(
            "A report takes less time",
            verdict([share < 1 for share in times]),
            f"{_listed(times)}; in the text {_listed([took for _, took in RATIOS.values()])}",
        ),
    )
    series = tuple(
        Series(name, tuple(RATIOS), tuple(own))
        for name, own in (("tuples", tuples), ("bytes", n_bytes), ("time", times))
    )
    plot = Plot("With RIDS(0), of the system stream", "query", "share", "bars", series)
    setup = sizes.setup(
        ("data", f"{sizes.tuples(_TUPLES):,} reports of a stream of the kind; the text's is lost"),
        ("measured", "all joins of a query, their own synopses; what lies aside with its keys"),
    )
    return FigureResult("table-6.3", "Table 6.3: Linear Road", setup, (plot,), claims)


def _listed(shares: Iterable[float]) -> str:
    return ", ".join(f"{name} {share:.2f}" for name, share in zip(RATIOS, shares, strict=True))


def _mean(sizes: KMonSizes, name: str, way: Way) -> RoadRun:
    """Over the seeds."""
    seeds = range(sizes.seed, sizes.seed + sizes.repeats)
    runs = [_run(road_job(name, way), sizes.tuples(_TUPLES), seed) for seed in seeds]
    return RoadRun(*(float(np.mean(part)) for part in zip(*runs, strict=True)))


def _run(job: NetworkJob, n: int, seed: int) -> RoadRun:
    reports = CarSource(seed, n, _ACCIDENTS).slice(0, n).select(CAR_SCHEMA.names)
    joins = [planned.id for planned in job.plan.operators if planned.work.role == "join"]
    home, length, seen = MemoryShard(lambda version: job), -(-n // _BATCHES), []
    for batch in range(_BATCHES):
        part = reports.slice(batch * length, length)
        arrived = {"CarStr": [Arrived(part, batch * length + np.arange(len(part)))]}
        task = NetworkTask("u", batch, job, "v", frozenset(), "", "parquet")
        operators = run_shard(task, 0, home, arrived, frozenset()).network.operators
        own = [operators[id] for id in joins]
        numbers = [(join.n_tuples, join.n_bytes, join.busy_ns / max(len(part), 1)) for join in own]
        seen.append(np.sum(numbers, axis=0))
    return RoadRun(*np.mean(seen[_BATCHES // 2 :], axis=0).tolist())


def road_job(name: str, way: Way) -> NetworkJob:
    """A query of the demo, with the queries it reads."""
    texts = {
        query.name: query for query in load_workload(shipped_workloads()["linear_road"]).queries
    }
    query = parse_query(name, texts[name].text, {"CarStr": CAR_SCHEMA}, queries=texts)
    kinds = () if way == "stream" else (KMON,)
    plan = compile_queries([query], since={name: 0}, tick_us=_TICK_US, kinds=kinds)
    tunings = {
        planned.id: KMonTuning(
            tuple(
                ConstraintTuning(id, declared=0) for id in constraint_ids(work) if way == "RIDS(0)"
            )
        )
        for planned, work in plan.working(KMonOp)
    }
    job = NetworkJob(plan, {"CarStr": CAR_SCHEMA}, {"CarStr": StreamTime("t", _TICK_US)})
    return job.executed(tunings)
