"""An operator that takes nothing for thousands of batches holds up nobody, under any scheduler."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from backend.engine import recorder
from backend.model.schema import Schema
from backend.workloads.stored import StoredRelation
from tests.engine_runs import RUN_ID, EngineRun

SEATS = Schema.parse("k int, seats int")
TEXTS = {
    "seats": "Select Istream(S.id, P.seats) From S [Now], P Where S.k = P.k and P.seats > 350",
    "pairs": "Select Istream(S.id, T.x) From S [Now], T [Rows 2] Where S.k = T.k",
    "keys": "Select k, count(*) As n From S [Range 2] Group By k",
}
SCHEDULERS = ("chain", "fifo", "greedy", "round_robin")
#: Sums that halve with every batch are subnormal after 1 022, and nothing after 1 075.
EVERY = 25


@pytest.mark.parametrize("n_batches", [1200, pytest.param(3000, marks=pytest.mark.slow)])
def test_batches_beside_a_relation_and_a_silent_stream(tmp_path: Path, n_batches: int) -> None:
    keys, seats = pa.array([1, 2, 3], pa.int32()), pa.array([400, 10, 500], pa.int32())
    relation = pa.table({"k": keys, "seats": seats})
    run = EngineRun(
        tmp_path / "store.db",
        {
            "S": Schema.parse("t bigint, id int, k int"),
            "T": Schema.parse("t bigint, x int, k int"),
        },
        TEXTS,
        timestamps={"S": "t", "T": "t"},
        stored={"P": StoredRelation("P", SEATS, relation)},
    )
    found: Counter[str] = Counter()
    for t in range(n_batches):
        rows = {"S": [{"t": t, "id": 4 * t + k, "k": k} for k in range(4)]}
        if t == 0:
            rows["T"] = [{"t": 0, "x": k, "k": k} for k in (1, 2)]
        if t % EVERY == 0:
            run.ask("knob", {"knob": "scheduler", "value": SCHEDULERS[t // EVERY % 4]})
        result = run.batch(rows, ended=("T",))
        found.update({query: n for query, n in recorder.matched(result).items()})
    n_ticks = n_batches - 1  # the last one is open
    assert found["seats"] == found["pairs"] == 2 * n_ticks
    assert found["keys"] > 0
    decisions = [row.decision for row in run.reader.decisions(RUN_ID, limit=100_000)]
    assert len(decisions) > n_batches / 3
    numbers = [side for one in decisions for side in (one.lhs, one.rhs) if side is not None]
    assert all(map(math.isfinite, numbers))
    run.close()
