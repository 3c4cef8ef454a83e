"""Tunings in shards: batches, their state in files, what is told of them, what is kept of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from backend.model.schema import Attribute, Schema
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.joins.join_tuning import (
    CacheSpec,
    JoinProfile,
    JoinTuning,
    Segment,
)
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.shards import homes
from backend.operators.network.shards.shard import NetworkTask, Places, run_shard
from backend.operators.network.shards.shard_reports import ShardReport
from backend.operators.network.shards.timed import Arrived
from storage.vocabulary.memory import PAGE_BYTES

FIELDS = (Attribute("k", "bigint"), Attribute("v", "bigint"))
ORDERS = ((1, 2), (2, 0), (1, 0))
CACHE = CacheSpec("c", (1, 2), (0,), (Segment(0, 0, 1),), 4 * PAGE_BYTES)
PLAIN = JoinTuning()
TUNINGS = (
    JoinTuning(ORDERS, (CACHE,), (0.2,) * 3, (CACHE,)),
    JoinTuning(ORDERS, (replace(CACHE, n_bytes=PAGE_BYTES),), two_phase=True),
    JoinTuning(((2, 1), (0, 2), (0, 1))),
    JoinTuning(ORDERS, (replace(CACHE, n_bytes=0),)),
    JoinTuning(ORDERS, (CACHE,)),
)


def three_windows() -> NetworkJob:
    """Windows of three sizes over a stream, joined by k; two shards."""
    source = PlannedOperator("s", StreamInput("S", (0, 1)), (), FIELDS, fifo=True)
    windows = [
        PlannedOperator(f"w{k}", WindowOp("range", size), ("s",), FIELDS, fifo=True)
        for k, size in enumerate((1, 4, 9))
    ]
    work = JoinOp((((0, 0), (1, 0), (2, 0)),))
    join = PlannedOperator("j", work, ("w0", "w1", "w2"), FIELDS * 3)
    operators = (source, *windows, join)
    group = ShardGroup(tuple(one.id for one in operators), {"s": 0}, "by k")
    plan = NetworkPlan(operators, {"q": PlannedAnswer("j", is_stream=False)}, (group,))
    return NetworkJob(plan, {"S": Schema(FIELDS)}, {"S": StreamTime(None)}, n_shards=2)


def answers(
    folder: Path, tunings: Sequence[JoinTuning], incarnations: Sequence[int]
) -> list[list[ShardReport]]:
    """The reports of both shards by batch; incarnations: of their arenas."""
    job, found = three_windows(), []
    for batch, (tuning, incarnation) in enumerate(zip(tunings, incarnations, strict=True)):
        now = job if tuning is PLAIN else replace(job, tunings={"j": tuning})
        places = Places(str(folder / "state"), str(folder / f"a{incarnation}"))
        version = places.log_of("u").keep_job(now.lasting)
        task = NetworkTask("u", batch, now, version, frozenset(), "", "parquet")
        numbers = np.arange(30 * batch, 30 * batch + 30)
        table = pa.table({"k": numbers * 7 % 5, "v": numbers})
        arrived = {"S": [Arrived(table, numbers)]}
        homes_ = [places.shard("u", shard, 2) for shard in range(2)]
        found.append([run_shard(task, k, home, arrived, ()) for k, home in enumerate(homes_)])
    return found


def test_shards_answer_the_same_under_tunings_and_after_kills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "IMAGE_EVERY", 3)
    tunings = [TUNINGS[k // 2] for k in range(10)]
    plain = answers(tmp_path / "plain", [PLAIN] * 10, [0] * 10)
    tuned = answers(tmp_path / "tuned", tunings, [0] * 10)
    killed = answers(tmp_path / "killed", tunings, [0, 0, 0, 1, 1, 2, 0, 0, 3, 3])
    for other in (tuned, killed):
        for one, two in zip(plain, other, strict=True):
            for a, b in zip(one, two, strict=True):
                assert a.network.net == b.network.net
                assert a.network.answers == b.network.answers
                assert a.network.recent == b.network.recent
    assert {how for one in killed for shard in one for how in shard.network.attached} > {"rebuilt"}


def test_a_batch_tells_of_its_tuned_joins(tmp_path: Path) -> None:
    reports = answers(tmp_path, [TUNINGS[0], TUNINGS[0], PLAIN, TUNINGS[4]], [0] * 4)
    joins = [[one.network.operators["j"].profile for one in batch] for batch in reports]
    assert joins[2] == [None, None]
    for one in joins[1]:
        assert isinstance(one, JoinProfile)
        assert sum(pipeline.n_plus for pipeline in one.pipelines) > 0
        assert one.caches["c"].hits > 0
    last = joins[3][0]
    assert isinstance(last, JoinProfile)
    assert last.caches["c"].creates > 0


def test_what_is_kept_of_a_job_does_not_change_with_its_tunings() -> None:
    job = three_windows()
    assert job.executed({"j": TUNINGS[0]}).lasting == job.lasting


def test_caches_that_do_not_fit_the_orders_fail_the_batch(tmp_path: Path) -> None:
    wrong = JoinTuning(((1, 2), (0, 2), (1, 0)), (CACHE,))
    with pytest.raises(ValueError, match="cache c: the pipeline of input 1 does not begin with"):
        answers(tmp_path, [wrong], [0])
