"""Limits are a part of the job: after a kill state is brought back under those it was made under.

[Rows 50] of a stream, 10 tuples a batch, the limit and the algorithm turned meanwhile: what a
window keeps, its receipts, totals and answers are those of a run that nobody killed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from backend.model.schema import Schema
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.tuning import Limit, Tuning
from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.eddy import EddyOp
from backend.operators.network.kinds.kmon import KMonOp
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.kmon.tuning import (
    ConstraintTuning,
    KMonProfile,
    KMonTuning,
    constraint_ids,
)
from backend.operators.network.shards import homes
from backend.operators.network.shards.shard import NetworkTask, Places, run_shard
from backend.operators.network.shards.shard_reports import ShardReport
from backend.operators.network.shards.timed import Arrived
from backend.operators.network.shedding.options import ShedAlgorithm, ShedOptions
from backend.operators.network.temporal.shed_tuning import ShedProfile, ShedTuning
from backend.systems.amri.core import AMRI
from backend.systems.cals.core import CALS
from backend.systems.cores import CoreKind
from backend.systems.kmon.core import KMON
from backend.systems.stream.compiling import compile_queries
from backend.workloads.queries import read_query
from tests.systems.running import FUNCTIONS, SCHEMA

SHED = "Select a, Valid(S) From S (a) [Rows 50]"
OTHER = "Select c, Valid(S) From S (c) [Rows 20]"
KEYED = (
    "Select One.a, Two.b From S [Rows 20] As One, S [Rows Unbounded] As Two "
    "Where One.a = Two.a and One.b = Two.b and One.c = Two.c"
)


def plan_of(kind: CoreKind, *texts: str) -> NetworkPlan:
    queries = [
        read_query(f"q{n}", text, {"S": SCHEMA}, FUNCTIONS, {}, {}) for n, text in enumerate(texts)
    ]
    since = {query.name: 0 for query in queries}
    return compile_queries(queries, since=since, tick_us=1, kinds=[kind])


def job_of(plan: NetworkPlan, decided: Mapping[str, Tuning]) -> NetworkJob:
    return NetworkJob(plan, {"S": SCHEMA}, {"S": StreamTime(None)}).executed(decided)


def shedding(plan: NetworkPlan, algorithm: ShedAlgorithm, limit: int) -> NetworkJob:
    """All its windows under one limit."""
    limited = ShedTuning(ShedOptions(algorithm, limit, audit="exact"))
    return job_of(plan, {operator.id: limited for operator, _ in plan.working(ShedOp)})


def arrived(batch: int) -> dict[str, Sequence[Arrived]]:
    numbers = np.arange(10 * batch, 10 * batch + 10)
    rng = np.random.default_rng(batch)
    values = {
        "a": pa.array(rng.integers(0, 3, 10), pa.int32()),
        "b": pa.array(numbers // 2, pa.int32()),
        "c": pa.array([f"c{n}" for n in rng.integers(0, 2, 10)]),
        "d": pa.array(numbers + 1, pa.int32()),
    }
    return {"S": [Arrived(pa.table(values), numbers)]}


def run(folder: Path, jobs: Sequence[NetworkJob], machines: Sequence[int]) -> list[ShardReport]:
    """Batch by batch; machines: the one whose arena is there, others are new to the state."""
    found = []
    for batch, (job, machine) in enumerate(zip(jobs, machines, strict=True)):
        places = Places(str(folder / "state"), str(folder / f"machine-{machine}"))
        version = places.log_of("u").keep_job(job.lasting)
        task = NetworkTask("u", batch, job, version, frozenset(), "", "parquet")
        found.append(run_shard(task, 0, places.shard("u", 0, 1), arrived(batch), ()))
    return found


def same(one: ShardReport, two: ShardReport, shown: type[ShedProfile | KMonProfile]) -> None:
    """What operators told of themselves, and the answers."""
    for id, counts in one.network.operators.items():
        other = two.network.operators[id]
        assert (counts.n_tuples, counts.n_out) == (other.n_tuples, other.n_out)
        if isinstance(counts.profile, ShedProfile):
            assert counts.profile == other.profile
    assert one.network.net == two.network.net
    assert one.network.recent == two.network.recent
    assert any(isinstance(counts.profile, shown) for counts in one.network.operators.values())


def test_a_limit_that_is_gone_was_one_when_state_is_brought_back(tmp_path: Path) -> None:
    plan = plan_of(CALS, SHED)
    jobs = [shedding(plan, "cals", limit) for limit in (0, 5, 5, 0, 0, 0)]
    alone = run(tmp_path / "alone", jobs, [0] * 6)
    killed = run(tmp_path / "killed", jobs, [0, 0, 0, 0, 1, 1])
    (last,) = (
        counts.profile
        for counts in killed[-1].network.operators.values()
        if isinstance(counts.profile, ShedProfile)
    )
    assert (last.n_resident, last.is_whole) == (33, False)
    for one, two in zip(alone, killed, strict=True):
        same(one, two, ShedProfile)


def test_limits_and_queries_are_replayed_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query comes in batch 6 and goes in batch 9; images now and then."""
    monkeypatch.setattr(homes, "IMAGE_EVERY", 4)
    one, two = plan_of(CALS, SHED), plan_of(CALS, SHED, OTHER)
    turns: list[tuple[ShedAlgorithm, int]] = [
        ("cals", 0), ("cals", 9), ("rand", 9), ("reach", 20), ("oldest", 4), ("cals-m", 8),
        ("cals-i", 8), ("cals-v", 30), ("rand", 6), ("cals", 12), ("cals", 0), ("cals", 0),
    ]  # fmt: skip
    jobs = [shedding(two if 6 <= batch < 9 else one, *turn) for batch, turn in enumerate(turns)]
    alone = run(tmp_path / "alone", jobs, [0] * 12)
    for n, machines in enumerate([range(12), [0, 0, 0, 1, 1, 2, 2, 2, 0, 3, 3, 0]]):
        killed = run(tmp_path / f"killed-{n}", jobs, list(machines))
        assert {how for report in killed for how in report.network.attached} >= {"rebuilt"}
        for undisturbed, report in zip(alone, killed, strict=True):
            same(undisturbed, report, ShedProfile)


def test_what_a_budget_lost_stays_lost(tmp_path: Path) -> None:
    """A join under k-constraints: without a budget first, with one, without again."""
    plan = plan_of(KMON, KEYED)
    ((operator, work),) = plan.working(KMonOp)
    constraints = tuple(ConstraintTuning(id) for id in constraint_ids(work))
    jobs = [
        job_of(
            plan,
            {
                operator.id: KMonTuning(
                    constraints,
                    "budget" if 3 <= batch < 7 else "never",
                    loss_budget=0.5,
                    factor=1.0,
                    slack=0,
                    sample_prob=0.5,
                    window=5,
                )
            },
        )
        for batch in range(10)
    ]
    alone = run(tmp_path / "alone", jobs, [0] * 10)
    killed = run(tmp_path / "killed", jobs, [0, 0, 0, 0, 0, 1, 1, 1, 2, 2])
    for undisturbed, report in zip(alone, killed, strict=True):
        same(undisturbed, report, KMonProfile)


def test_a_limit_among_tunings_is_refused_and_goes_to_its_place() -> None:
    plan = plan_of(CALS, SHED)
    ((operator, _),) = plan.working(ShedOp)
    job = shedding(plan, "cals", 5)
    assert (job.tunings, list(job.limits)) == ({}, [operator.id])
    assert isinstance(job.limits[operator.id], Limit)
    assert job.lasting == job != shedding(plan, "cals", 6).lasting
    schemas: Mapping[str, Schema] = {"S": SCHEMA}
    streams = {"S": StreamTime(None)}
    with pytest.raises(ValueError, match="took each other's place"):
        NetworkJob(plan, schemas, streams, tunings=job.limits)
    with pytest.raises(ValueError, match="took each other's place"):
        NetworkJob(plan, schemas, streams, limits={operator.id: JoinTuning()})


def test_a_tuning_of_another_kind_of_operator_raises(tmp_path: Path) -> None:
    """A join's on an eddy, which is a join, too."""
    text = "Select One.a From S [Rows 20] As One, S [Rows 30] As Two Where One.a = Two.a"
    plan = plan_of(AMRI, text)
    ((operator, _),) = plan.working(EddyOp)
    with pytest.raises(TypeError, match=r"EddyOp .* takes EddyTuning, not JoinTuning"):
        run(tmp_path, [job_of(plan, {operator.id: JoinTuning()})], [0])
