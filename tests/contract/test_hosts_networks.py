"""What every host does with networks: the same answers, whatever the batches and the shards."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from backend.cql import parse_query
from backend.hosts.contract import BatchLoop, InputSource
from backend.hosts.local import LocalHost
from backend.model.events import SelectionPlan
from backend.model.knobs import KnobValue
from backend.model.schema import Attribute, Schema
from backend.operators.contract import UnitResult
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.aggregate import AggregateCall, AggregateOp
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.selection.operator import SelectionOperator
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.shipping import shipped_plan
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from tests.loops import FixedLoop

S, T = Schema.parse("at bigint, key string, v int"), Schema.parse("at bigint, key string, w double")
SCHEMAS = {"S": S, "T": T}
N = {"S": 600, "T": 240}
SPAN, RANGE = 200, 10
Answers = Counter[tuple[Any, ...]]
Make = Callable[..., Any]


@pytest.fixture(params=["memory", "folder", pytest.param("spark", marks=pytest.mark.spark)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes a host of the kind for a loop, inputs, a sink, and tuples of a batch."""
    if request.param != "spark":
        folder = None if request.param == "memory" else tmp_path / "run"

        def here(
            loop: BatchLoop, inputs: Sequence[InputSource], sink: SinkSpec, n_tuples: int
        ) -> LocalHost:
            return LocalHost(loop, inputs, sink, n_tuples, once=True, folder=folder)

        yield here
        return
    from backend.hosts.spark.run.runner import RunHost

    spark = request.getfixturevalue("spark")

    def on_spark(
        loop: BatchLoop, inputs: Sequence[InputSource], sink: SinkSpec, n_tuples: int
    ) -> RunHost:
        return RunHost(spark, loop, inputs, sink, tmp_path / "run", True)

    yield on_spark


def rows(stream: str) -> list[list[Any]]:
    """In order of time but for a tick or two; some keys are NULL, some tuples do not fit."""
    rng = random.Random(stream)
    found: list[list[Any]] = []
    for k in range(N[stream]):
        at = max(0, k * SPAN // N[stream] - rng.choice([0, 0, 0, 1, 2]))
        key = rng.choice(["a", "b", "c", "d", {}])
        found.append([at, key, rng.randint(0, 3) if stream == "S" else rng.choice([0.5, 1.5])])
    found[50] = ["x", "a", 1]
    return found


def inputs() -> list[InputSource]:
    return [
        InputSource(
            StreamSpec(name, schema, SourceSpec("memory"), "at"), MemorySource(rows(name), schema)
        )
        for name, schema in SCHEMAS.items()
    ]


def network(n_shards: int, disorder: int = 2) -> NetworkJob:
    """How many S of each key in the last ticks; S beside the newest of T; and T's newest alone."""
    key, v, w = Attribute("key", "string"), Attribute("v", "int"), Attribute("w", "double")
    count = AggregateCall("count", None, False, "bigint")
    operators = (
        PlannedOperator("S", StreamInput("S", (1, 2)), (), (key, v)),
        PlannedOperator("S range", WindowOp("range", RANGE), ("S",), (key, v), True),
        PlannedOperator(
            "count", AggregateOp((0,), (count,)), ("S range",), (key, Attribute("n", "bigint"))
        ),
        PlannedOperator("T", StreamInput("T", (1, 2)), (), (key, w)),
        PlannedOperator("T rows", WindowOp("rows", 7), ("T",), (key, w), True),
        PlannedOperator(
            "join",
            JoinOp((((0, 0), (1, 0)),)),
            ("S range", "T rows"),
            (key, v, Attribute("key2", "string"), w),
        ),
        PlannedOperator("T alone", StreamInput("T", (2,)), (), (w,)),
        PlannedOperator("newest", WindowOp("rows", 2), ("T alone",), (w,), True),
    )
    answers = {
        "n": PlannedAnswer("count", False),
        "both": PlannedAnswer("join", False),
        "last two": PlannedAnswer("newest", False),
    }
    keyed = ("S", "S range", "count", "T", "T rows", "join")
    groups = (
        ShardGroup(keyed, {"S": 0, "T": 0}, "all by key"),
        ShardGroup(("T alone", "newest"), {}, "no key"),
    )
    times = {name: StreamTime("at", disorder=disorder) for name in SCHEMAS}
    return NetworkJob(NetworkPlan(operators, answers, groups), SCHEMAS, times, n_shards=n_shards)


def answers(folder: Path) -> Answers:
    """(query, columns ..., tau, sign) of the sink; each file is in order of time."""
    found: Answers = Counter()
    for query in folder.glob("query=*"):
        assert (query / "batch-00000000-00000.parquet").exists()
        for file in query.glob("batch-*.parquet"):
            table = pq.ParquetFile(file).read()
            assert table.column_names[-2:] == ["tau", "sign"]
            tau = table.column("tau").to_pylist()
            assert tau == sorted(tau)
            columns = [column.to_pylist() for column in table.columns]
            found.update((query.name, *row) for row in zip(*columns, strict=True))
    return found


def counted() -> Answers:
    """The first query by its definition, tick by tick."""
    found: Answers = Counter()
    tuples = [(at, None if key == {} else key) for at, key, _ in rows("S") if at != "x"]
    before: set[tuple[Any, int]] = set()
    for tick in range(SPAN):
        there = Counter(key for at, key in tuples if tick - RANGE <= at <= tick)
        now = set(there.items())
        found.update(("query=n", key, n, tick, 1) for key, n in now - before)
        found.update(("query=n", key, n, tick, -1) for key, n in before - now)
        before = now
    return found


def heartbeat(unit: UnitResult) -> int:
    """Of the queries that read both streams."""
    report: NetworkReport = unit.report
    return report.clocks[frozenset(SCHEMAS)].heartbeat


def run(
    make: Make, out: Path, job: NetworkJob, n_tuples: int, knobs: Mapping[str, int] | None = None
) -> FixedLoop:
    turned = {(name, knob): n for knob, n in (knobs or {}).items() for name in SCHEMAS}
    loop = FixedLoop({}, turned, networks=lambda batch_id: {"stream": job})
    host = make(loop, inputs(), SinkSpec(str(out)), n_tuples)
    assert host.run() == "the stream reached its end"
    return loop


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """In one batch, in one shard, in this process."""
    out = tmp_path_factory.mktemp("whole")

    def here(loop: BatchLoop, sources: Sequence[InputSource], sink: SinkSpec, n: int) -> LocalHost:
        return LocalHost(loop, sources, sink, n, once=True)

    run(here, out, network(1), 10_000)
    found = answers(out)
    assert {key for key in found if key[0] == "query=n"} == set(counted())
    assert sum(key[0] == "query=both" for key in found) > 500
    assert sum(key[0] == "query=last%20two" for key in found) > 100
    return found


@pytest.mark.parametrize("n_shards", [1, 2])
def test_answers_are_the_same_whatever_the_batches_and_shards(
    make: Make, tmp_path: Path, expected: Answers, n_shards: int
) -> None:
    job = network(n_shards)
    loop = run(make, tmp_path / "out", job, 61, {"max_batch_tuples": 90})
    assert answers(tmp_path / "out") == expected
    assert len(loop.results) >= 6
    assert loop.total("S", "n_tuples") == N["S"] - 1
    assert loop.total("T", "n_misfits") == 1
    assert all(one.inputs["S"].n_tuples <= 90 for one in loop.results)
    units = [one.units["stream"] for one in loop.results]
    assert sum(unit.n_tuples for unit in units) == N["S"] + N["T"] - 2
    sunk = Counter(key[0] for key in expected.elements())
    told = Counter[str]()
    for unit in units:
        told.update(unit.matched_by_query)
    assert dict(told) == {
        "n": sunk["query=n"],
        "both": sunk["query=both"],
        "last two": sunk["query=last%20two"],
    }
    assert heartbeat(units[-1]) == SPAN
    assert units[0].report.attached == {"new": n_shards}
    assert sum(unit.report.attached.get("arena", 0) for unit in units[1:]) >= len(units) - 2
    assert loop.results[-1].inputs["S"].ended
    assert not list((tmp_path / "out").rglob("_staging*"))


def test_late_tuples_are_kept_aside_once(make: Make, tmp_path: Path) -> None:
    loop = run(make, tmp_path / "out", network(2, disorder=1), 10_000)
    given = [row for row in rows("S") if row[0] != "x"]
    late, high = [], 0
    for row in given:
        late += [row] if row[0] < high - 1 else []
        high = max(high, row[0])
    assert len(late) > 10
    assert loop.total("S", "n_misfits") == len(late) + 1
    assert loop.total("S", "n_tuples") == N["S"] - len(late) - 1
    files = (tmp_path / "out" / "stream=S" / "_misfits").glob("batch-*.json")
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    found = [json.loads(line["raw"]) for line in lines if line["error"].startswith("late: ")]
    names = [{k: v for k, v in zip(S.names, row, strict=True) if v != {}} for row in late]
    assert sorted(found, key=str) == sorted(names, key=str)


def test_late_tuples_that_a_selection_takes_are_missed_by_windows_alone(
    make: Make, tmp_path: Path
) -> None:
    query = parse_query("all", "Select * From S Where v >= 0", SCHEMAS)
    constructs = build_constructs([query], S)
    plan = SelectionPlan(1, "early drop", constructs.attributes)
    operator = SelectionOperator(shipped_plan(constructs, plan, "resolved"), 0.5)
    job = network(2, disorder=1)
    loop = FixedLoop({"S": {"asc": operator}}, networks=lambda batch_id: {"stream": job})
    out = tmp_path / "out"
    make(loop, inputs(), SinkSpec(str(out)), 10_000).run()
    high, n_late = 0, 0
    for at in (row[0] for row in rows("S") if row[0] != "x"):
        n_late += at < high - 1
        high = max(high, at)
    assert n_late > 10
    assert loop.total("S", "n_missed") == n_late
    assert (loop.total("S", "n_tuples"), loop.total("S", "n_misfits")) == (N["S"] - 1, 1)
    assert loop.matched_by_query("asc") == {"all": N["S"] - 1}
    shown = [one.error for result in loop.results for one in result.inputs["S"].missed]
    assert all(error.startswith("left out of windows; late: its time is tick ") for error in shown)
    files = (out / "stream=S" / "_misfits").glob("batch-*.json")
    (aside,) = [line for file in files for line in file.read_text().splitlines()]
    assert json.loads(aside)["error"] == "at is not a whole number of 64 bits"
    table = pyarrow.dataset.dataset(str(out / "stream=S"), format="parquet").to_table()
    assert len(table) == N["S"] - 1
    assert loop.total("T", "n_missed") == 0 < loop.total("T", "n_misfits")
    assert not list(out.rglob("_staging*"))


def test_time_goes_on_without_a_stream_that_is_removed(
    make: Make, tmp_path: Path, expected: Answers
) -> None:
    job = network(2)
    knobs: dict[tuple[str, str], KnobValue] = {
        ("T", "intake"): "removed",
        ("S", "max_batch_tuples"): 90,
    }
    loop = FixedLoop({}, knobs, networks=lambda batch_id: {"stream": job})
    assert make(loop, inputs(), SinkSpec(str(tmp_path / "out")), 61).run()
    assert loop.total("T", "n_tuples") == 0
    assert loop.total("S", "n_tuples") == N["S"] - 1
    before_the_end = [heartbeat(one.units["stream"]) for one in loop.results[:-1]]
    assert max(before_the_end) > 0
    found = answers(tmp_path / "out")
    assert {key for key in found if key[0] == "query=n"} == {
        key for key in expected if key[0] == "query=n"
    }


def test_a_stream_that_goes_on_after_a_pause_loses_nothing(make: Make, tmp_path: Path) -> None:
    """The tuples behind the others by then are late for queries over both, not for those over it
    alone."""
    job = network(1)

    def networks(batch_id: int) -> dict[str, NetworkJob]:
        if batch_id == 2:
            loop.turn("intake", "on")
        return {"stream": job}

    knobs: dict[tuple[str, str], KnobValue] = {
        ("T", "intake"): "paused",
        ("S", "max_batch_tuples"): 90,
    }
    loop = FixedLoop({}, knobs, networks=networks)
    assert make(loop, inputs(), SinkSpec(str(tmp_path / "out")), 61).run()
    assert sum(one.inputs["T"].n_tuples for one in loop.results[:2]) == 0
    assert loop.total("T", "n_missed") > 1
    assert (loop.total("T", "n_tuples"), loop.total("T", "n_misfits")) == (N["T"] - 1, 1)
    assert heartbeat(loop.results[-1].units["stream"]) == SPAN


def test_a_query_that_comes_later_begins_then(make: Make, tmp_path: Path) -> None:
    """It sees what has a time from the heartbeat on at which it came."""
    whole = network(2)
    fewer = NetworkPlan(
        whole.plan.operators[6:],
        {"last two": PlannedAnswer("newest", False)},
        (ShardGroup(("T alone", "newest"), {}, "no key"),),
    )
    early = NetworkJob(fewer, {"T": T}, {"T": whole.streams["T"]}, n_shards=2)
    heartbeats: list[int] = []

    def networks(batch_id: int) -> dict[str, NetworkJob]:
        """The query comes once time has begun: after one batch, or two where a start is slow."""
        if loop.results and not any(heartbeats):
            heartbeats.append(loop.results[-1].units["stream"].report.heartbeat)
        return {"stream": whole if any(heartbeats) else early}

    knobs: dict[tuple[str, str], KnobValue] = {(n, "max_batch_tuples"): 90 for n in SCHEMAS}
    loop = FixedLoop({}, knobs, networks=networks)
    make(loop, inputs(), SinkSpec(str(tmp_path / "out")), 61).run()
    began = heartbeats[-1]
    assert 0 < began < SPAN
    found = {key[1:] for key in answers_of(tmp_path / "out" / "query=n")}
    wanted = set()
    tuples = [(at, None if key == {} else key) for at, key, _ in rows("S") if at != "x"]
    before: set[tuple[Any, int]] = set()
    for tick in range(began, SPAN):
        last = max(began, tick - RANGE)
        now = set(Counter(key for at, key in tuples if last <= at <= tick).items())
        wanted |= {(key, n, tick, 1) for key, n in now - before}
        wanted |= {(key, n, tick, -1) for key, n in before - now}
        before = now
    assert found == wanted


def test_an_end_that_is_decided_between_batches_reaches_the_network(tmp_path: Path) -> None:
    loop = FixedLoop(
        {}, {(name, "at_end"): "loop" for name in SCHEMAS}, networks=lambda b: {"s": network(1)}
    )
    host = LocalHost(loop, inputs(), SinkSpec(None), 600)
    assert host.step()
    assert host.step()
    waiting = loop.results[-1].units["s"].report
    assert sum(waiting.pending.values()) > 0
    loop.turn("at_end", "stop")
    while host.step():
        pass
    host.close()
    assert sum(loop.results[-1].units["s"].report.pending.values()) == 0


def answers_of(folder: Path) -> Iterator[tuple[Any, ...]]:
    for file in folder.glob("batch-*.parquet"):
        columns = [column.to_pylist() for column in pq.ParquetFile(file).read().columns]
        yield from ((folder.name, *row) for row in zip(*columns, strict=True))
