"""SysStream: which samples become tuples, and that nothing happens when nobody listens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from backend.engine.listening import Listening
from backend.hosts.listening import Listener
from backend.hosts.networks import Networks
from backend.model.schema import Attribute
from backend.operators.contract import BatchResult
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.aggregate import AggregateCall, AggregateOp
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.windows import WindowOp
from backend.systems.stream.sysstream import (
    RECORDED,
    SYS_ARRIVING,
    SYS_TIMES,
    RecordedBatch,
    sys_tuples,
)
from backend.workloads.spec import SinkSpec
from backend.workloads.sysstream import SYSPLANLOG, SYSSTREAM
from storage.vocabulary.planlog import LoggedEvaluation
from storage.vocabulary.records import Batch, BatchRecord, Decision, Entity, Sample

ENTITIES = {
    "a": Entity("a", "operator", "A", query="q", unit_id="u"),
    "b": Entity("b", "queue", "B", unit_id="u"),
    "own": Entity("own", "operator", "Own", unit_id="self"),
}


def recorded(samples: Sequence[Sample], time: float = 0.0, **more: Any) -> BatchRecord:
    return BatchRecord("r", Batch(0, time, 1.0, 1, 1, 0), samples=tuple(samples), **more)


def of_batch(samples: Sequence[Sample]) -> RecordedBatch:
    return RecordedBatch(recorded(samples), ENTITIES, 0.0)


def test_looks_and_evaluations_but_its_own_are_tuples_of_the_plan_log() -> None:
    kept: dict[str, Any] = {"t": 70, "plan": "p", "chosen": "p", "cost": 4.0, "offers": []}
    kept |= {"ran": [0, 0.0], "deciding": 8.0, "rival": None}
    moved = {**kept, "chosen": "q", "rival": "q", "ran": [10, 35.0], "offers": [["q", 3.0, 9]]}
    detail = {"cost_unit": "us per tuple", "plan_log": moved}
    look = Decision(
        3, 0, "asc", "look", "switched", "", 1, ">", 0, 1, 1, 1, "", detail=detail, unit_id="u"
    )
    plain = Decision(4, 0, "asc", "", "kept", "", 1, ">", 0, 1, 1, 1, "", unit_id="u")
    logged = LoggedEvaluation(5, 0, "chain", 1, 1, kept, "chains", "elements/tuple", "v")
    own = LoggedEvaluation(6, 0, "chain", 1, 1, kept, "chains", "elements/tuple", "self")
    record = recorded([], 65.5, decisions=(look, plain), logged=(logged, own))
    table = sys_tuples(SYSPLANLOG, RecordedBatch(record, {}, 60.0), "self", 65)
    assert table.column_names == list(SYS_ARRIVING[SYSPLANLOG].names)
    assert [tuple(row.values())[:-1] for row in table.to_pylist()] == [
        (5.5, "u", "", 70, "q", 3.0, 3.5, 8.0, "p", 4.0, 1, "us/tuple"),
        (5.5, "v", "chains", 70, "p", 4.0, None, 8.0, None, None, 0, "elements/tuple"),
    ]


def test_known_values_of_known_entities_but_its_own_become_tuples() -> None:
    samples = [
        Sample("a", "selectivity", 0.5),
        Sample("b", "size_tuples", 3),
        Sample("b", "in_per_s", None),
        Sample("own", "size_tuples", 9),
        Sample("gone", "size_tuples", 9),
    ]
    table = sys_tuples(SYSSTREAM, of_batch(samples), "self", 60)
    assert table.column_names == list(SYS_ARRIVING[SYSSTREAM].names)
    when = datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("q", "a", "operator", "selectivity", 0.5, when),
        ("", "b", "queue", "size_tuples", 3.0, when),
    ]
    assert sys_tuples(SYSSTREAM, of_batch([]), "self", 0).num_rows == 0


def test_nobody_listens() -> None:
    def entities() -> Mapping[str, Entity]:
        pytest.fail("entities are looked up for nobody")

    listening = Listening()
    result = BatchResult(0, {}, {})
    assert listening.joined(result) is result
    listening.recorded(recorded([Sample("a", "selectivity", 0.5)], 1.0), entities, 0.0)


def test_its_time_goes_on_where_the_clock_is_put_back() -> None:
    class Noting(Listener):
        def run(self, batch_id: int, jobs: Any, told: Mapping[str, pa.Table], taps: Any) -> Any:
            seen.extend(told["own"].column(RECORDED).cast(pa.int64()).to_pylist())
            return {}

    seen: list[int] = []
    listening = Listening()
    listening.networks = {"own": counting(1)}
    listening.listener = Noting(Networks((), SinkSpec(), None))
    for batch, clock in enumerate((7200.0, 7201.0, 3600.0, 3601.0, 3602.5, 9000.0, 9001.0)):
        told = recorded([Sample("a", "selectivity", 0.5)], clock)
        listening.recorded(told, lambda: ENTITIES, 0.0)
        listening.joined(BatchResult(batch, {}, {}))
    assert [(micros // 1_000_000) for micros in seen[:5]] == [7200, 7201, 7201, 7202, 7203]
    assert seen == sorted(seen)


def counting(n_shards: int) -> NetworkJob:
    """How often each entity was sampled, spread by entity."""
    entity = (SYS_ARRIVING[SYSSTREAM].attributes[1],)
    count = AggregateCall("count", None, False, "bigint")
    operators = (
        PlannedOperator("in", StreamInput(SYSSTREAM, (1,)), (), entity),
        PlannedOperator("all", WindowOp("unbounded"), ("in",), entity, True),
        PlannedOperator(
            "n", AggregateOp((0,), (count,)), ("all",), (*entity, Attribute("n", "bigint"))
        ),
    )
    groups = (ShardGroup(("in", "all", "n"), {"in": 0}, "by entity"),)
    plan = NetworkPlan(operators, {"q": PlannedAnswer("n", False)}, groups)
    schemas = {SYSSTREAM: SYS_ARRIVING[SYSSTREAM]}
    times = {SYSSTREAM: SYS_TIMES[SYSSTREAM]}
    return NetworkJob(plan, schemas, times, n_shards=n_shards)


@pytest.mark.parametrize("n_shards", [1, 3])
def test_all_shards_listen_and_keep_their_state_when_the_job_is_another(n_shards: int) -> None:
    entities = {f"e{k}": replace(ENTITIES["a"], id=f"e{k}") for k in range(20)}
    samples = [Sample(id, "selectivity", 0.5) for id in entities]
    listening, job = Listening(), counting(n_shards)
    listening.listener = Listener(Networks((), SinkSpec(), None))
    changes: list[tuple[object, ...]] = []
    for batch in range(4):
        listening.networks = {"own": job if batch < 2 else replace(job)}
        found = listening.joined(BatchResult(batch, {}, {})).units["own"]
        changes += [
            (one.values["eid"], one.values["n"])
            for one in found.report.recent.get("q", ())
            if one.sign > 0
        ]
        listening.recorded(recorded(samples, 60.0 + batch), lambda: entities, 0.0)
    assert sorted(changes) == sorted((id, n) for id in entities for n in (1, 2))
