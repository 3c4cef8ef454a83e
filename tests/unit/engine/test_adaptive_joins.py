"""Joins that are tuned while they run: the same answers whatever is turned; what is recorded."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from backend.engine.job import InputJob, RunJob
from backend.engine.loop import Loop
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.model.functions import Functions
from backend.operators.network.joins.join_tuning import JoinTuning
from backend.systems.joins.core import AdaptiveJoins
from backend.systems.joins.join import AdaptiveJoin, input_names
from backend.systems.stream.unit import NetworkUnit
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from storage.store import open_command_writer, open_engine_writer, open_reader
from storage.vocabulary.records import Input, Run
from tests.engine_runs import read_all
from tests.web.joins_run import KNOBS, SCHEMAS, TEXTS, UNIT, JoinsRun, keyed

#: What may be turned, each after so many batches.
TURNS: Mapping[int, tuple[tuple[str, Any], ...]] = {
    2: (("pool_bytes", 4096), ("join_order", "optimal")),
    3: (("join_order", "sweep"),),
    4: (("forbidden_caches", "R ⋈ S"), ("candidates", 0)),
    5: (("join_order", "independent"),),
    6: (("pool_bytes", 1 << 20), ("forbidden_caches", ""), ("pinned_caches", "R ⋈ S")),
    7: (("run_pool_bytes", 8192), ("two_phase", True), ("cache_ways", 2), ("bitmap_alpha", 2)),
    8: (("caching", "off"), ("join_order", "local swaps")),
    9: (("join_order", "fixed"),),
    10: (("caching", "exact"), ("join_order", "joint")),
    11: (("caching", "greedy"), ("window_observations", 4), ("join_costs", "measured")),
}
N_TICKS = 3000


def answers(path: Path, n_tuples: int, turned: bool, **knobs: object) -> Counter[str]:
    """All elements of the answer, from the sink of a LocalHost."""
    rows = keyed(range(N_TICKS), 2)
    sources = {
        name: MemorySource([list(row.values()) for row in told], SCHEMAS[name])
        for name, told in rows.items()
    }
    inputs = [
        InputSource(StreamSpec(name, schema, SourceSpec("memory"), "t"), sources[name])
        for name, schema in SCHEMAS.items()
    ]
    job = RunJob(
        {n: InputJob(n, s, "t", rate=0.0) for n, s in SCHEMAS.items()},
        read_all(TEXTS, SCHEMAS, Functions(), {}),
        knobs={**KNOBS, **knobs},
    )
    store = str(path / "store.db")
    told = tuple(Input(n, [[a.name, a.type] for a in s.attributes]) for n, s in SCHEMAS.items())
    run = Run("r", "w", "starting", time.time(), {}, 1, "here", "0", inputs=told)
    with open_engine_writer(store) as writer, open_command_writer(store) as commands:
        loop = Loop(run, job, writer)
        loop.start()
        host = LocalHost(loop, inputs, SinkSpec(str(path / "sink"), "json"), n_tuples, once=True)
        batch = 0
        while True:
            for knob, value in TURNS.get(batch, ()) if turned else ():
                payload = {"knob": knob, "value": value}
                commands.append_command("r", "knob", payload, "t", "", time.time(), None)
            if not host.step():
                break
            batch += 1
        host.close()
        assert {one.state for one in _commands(store)} <= {"applied"}
    return Counter(_lines(path / "sink"))


def _commands(store: str) -> list[Any]:
    with open_reader(store) as reader:
        return list(reader.commands("r"))


def _lines(sink: Path) -> Iterator[str]:
    for file in sink.rglob("*.json"):
        for line in file.read_text().splitlines():
            yield json.dumps(json.loads(line), sort_keys=True)


def test_answers_are_the_same_whatever_is_turned(tmp_path: Path) -> None:
    plain = answers(tmp_path / "plain", 500, False, caching="off", join_order="fixed")
    assert sum(plain.values()) > 1000
    assert answers(tmp_path / "tuned", 500, False) == plain
    assert answers(tmp_path / "turned", 300, True) == plain
    assert answers(tmp_path / "shards", 700, True, shards=2) == plain
    assert answers(tmp_path / "trees", 500, False, join_order="joint") == plain
    tiny, limited = {"pool_bytes": 0}, {"run_pool_bytes": 8192, "shards": 2}
    assert answers(tmp_path / "tiny", 500, False, join_order="sweep", **tiny) == plain
    assert answers(tmp_path / "limited", 500, False, join_order="local swaps", **limited) == plain


@pytest.fixture
def run(tmp_path: Path) -> Iterator[JoinsRun]:
    """Four batches, after which R ⋈ S is in use."""
    made = JoinsRun(tmp_path / "store.db", "r").ticks(4)
    yield made
    made.close()


def unit_of(run: JoinsRun) -> NetworkUnit:
    found = run.loop.unit(UNIT)
    assert isinstance(found, NetworkUnit)
    return found


def joins_of(unit: NetworkUnit) -> AdaptiveJoins:
    return next(core for core in unit.cores if isinstance(core, AdaptiveJoins))


def tunings(run: JoinsRun) -> dict[str, JoinTuning]:
    """Of all joins, from the next batch on."""
    return {
        id: tuning
        for id, tuning in unit_of(run).operator(99).tunings.items()
        if isinstance(tuning, JoinTuning)
    }


def join_of(run: JoinsRun, query: str = "four") -> AdaptiveJoin:
    return next(one for one in joins_of(unit_of(run)).values() if one.query == query)


def used(run: JoinsRun) -> set[str]:
    """Names of caches in use, as the store has them."""
    values = run.reader.values("r")
    states = {
        e.name: values[e.id].get("cache_state")
        for e in run.reader.entities("r")
        if e.role == "cache"
    }
    return {name for name, state in states.items() if state == 1.0}


def turn(run: JoinsRun, **knobs: object) -> None:
    asked = [run.ask("knob", {"knob": name, "value": value}) for name, value in knobs.items()]
    run.ticks(1)
    assert [run.answer(one).state for one in asked] == ["applied"] * len(asked)


def test_caches_pipelines_and_the_pool_are_entities_with_numbers(run: JoinsRun) -> None:
    entities = {
        e.role: [o for o in run.reader.entities("r") if o.role == e.role]
        for e in run.reader.entities("r")
    }
    (join,), (pool,) = entities["join"], entities["pool"]
    assert pool.properties["join"] == join.id
    assert [one.properties["input"] for one in entities["pipeline"]] == ["R", "S", "T", "U"]
    caches = {one.name: one.properties for one in entities["cache"]}
    assert caches["R ⋈ S"]["windows"] == ["R", "S"]
    assert caches["R ⋈ S"]["key"] == ["b"]
    values = run.reader.values("r")
    own = {name: value or 0.0 for name, value in values[pool.id].items()}
    assert own["pool_bytes"] == KNOBS["pool_bytes"]
    assert 0 < own["used_bytes"] <= own["granted_bytes"] <= own["pool_bytes"]
    assert own["cached_cost"] < own["plain_cost"]
    granted = sum(values[one.id]["granted_bytes"] or 0 for one in entities["cache"])
    assert granted == own["granted_bytes"]
    assert sum(
        values[one.id]["arrival_share"] or 0 for one in entities["pipeline"]
    ) == pytest.approx(1)
    whole = values["system"]
    assert (whole.get("matched_total"), whole.get("dropping_ratio")) == (None, None)
    assert (whole["answered_total"] or 0) > 0
    kinds = {key.kind for key in run.reader.matrix_keys("r")}
    assert {"join view", "cache bids"} <= kinds


def test_a_switch_is_a_decision_with_its_plan_and_later_its_outcome(run: JoinsRun) -> None:
    entries = run.reader.decisions("r", limit=100)
    chosen = [
        e
        for e in entries
        if e.decision.kind == "cache selection" and e.decision.verdict == "switched"
    ]
    first = chosen[-1].decision
    assert first.detail["join"] == "a and b and c"
    plan = next(p for p in run.reader.plans("r") if p.version == first.plan_version)
    assert first.explanation in plan.reason
    assert [n["name"] for n in plan.graph["nodes"] if n["role"] == "cache"]
    join = next(n for n in plan.graph["nodes"] if n["role"] == "join")
    assert join["properties"]["pipelines"]["R"][0] == "S"
    assert any(e.outcome is not None for e in chosen)


def test_a_forbidden_cache_goes_at_once_and_stays_in_sight(run: JoinsRun) -> None:
    assert "R ⋈ S" in used(run)
    turn(run, forbidden_caches="R ⋈ S")
    (tuning,) = tunings(run).values()
    assert "0,1|1" not in {one.id for one in (*tuning.caches, *tuning.shadows)}
    run.ticks(3)
    assert "R ⋈ S" not in used(run)
    assert "R ⋈ S" in {e.name for e in run.reader.entities("r") if e.role == "cache"}


def test_a_pinned_cache_is_used_whatever_it_brings(run: JoinsRun) -> None:
    name = next(e.name for e in run.reader.entities("r") if e.name.startswith("(S ⋈ T)"))
    assert name not in used(run)
    turn(run, pinned_caches=name)
    run.ticks(1)
    assert name in used(run)


def test_grants_stay_within_a_pool_that_shrinks(run: JoinsRun) -> None:
    turn(run, pool_bytes=4096)
    (tuning,) = tunings(run).values()
    assert sum(one.n_bytes for one in tuning.caches) <= 4096
    turn(run, caching="off")
    assert not used(run)
    assert not [
        e for e in run.reader.entities("r") if e.role == "cache" and e.removed_batch is None
    ]


#: A join that is parted by its key, which the other one cannot be.
OTHER = """Select R.a From R [Rows 400], S [Rows 300], R [Rows 900] As Q
Where R.a = S.a and S.a = Q.a"""


def granted(run: JoinsRun) -> int:
    """Bytes of all caches of all joins in all shards, from the next batch on."""
    joins = joins_of(unit_of(run))
    return sum(
        joins[id].n_shards * sum(one.n_bytes for one in tuning.caches)
        for id, tuning in tunings(run).items()
    )


@pytest.mark.parametrize("shards", [1, 2])
def test_joins_share_the_pool_of_the_run(tmp_path: Path, shards: int) -> None:
    run = JoinsRun(tmp_path / "store.db", "r", shards=shards, pool_bytes=1 << 20)
    run.ask("query_add", {"name": "other", "text": OTHER})
    run.ticks(6)
    assert [one.n_shards for one in joins_of(unit_of(run)).values()] == [1, shards]
    free, pool = granted(run), 8_192
    assert free > pool
    turn(run, run_pool_bytes=pool)
    for _ in range(4):
        assert 0 < granted(run) <= pool
        values = {
            e.name: run.reader.values("r")[e.id]
            for e in run.reader.entities("r", None)
            if e.kind == "pool" and e.id in run.reader.values("r")
        }
        told = values.pop("Pool of the run")
        assert told["pool_bytes"] == pool
        assert told["granted_bytes"] == sum(one["granted_bytes"] or 0 for one in values.values())
        assert sum(one["element_share"] or 0 for one in values.values()) == pytest.approx(1)
        run.ticks(1)
    turn(run, run_pool_bytes=0)
    assert granted(run) > pool
    run.close()


def test_orders_and_caches_are_taken_up_by_a_run_that_goes_on(tmp_path: Path) -> None:
    run = JoinsRun(tmp_path / "store.db", "r").ticks(4)
    before = join_of(run).core
    orders, choice, version = before.orders, dict(before.caches.choice), unit_of(run).plan_version
    totals, known = before.totals, before.known.state()
    assert choice
    assert 0 < totals.bare - totals.spent < totals.bare
    run.kill()
    again = JoinsRun(tmp_path / "store.db", "r", continues=True)
    after = join_of(again).core
    assert (after.orders, dict(after.caches.choice)) == (orders, choice)
    assert unit_of(again).plan_version == version  # the same plan: none of its own
    assert (after.totals, after.known.state()) == (totals, known)  # not as of the last plan
    again.ticks(1)
    again.close()


def test_a_join_goes_on_as_it_is_when_queries_come_and_go(run: JoinsRun) -> None:
    before = join_of(run)
    text = "Select * From R [Rows 5] As R, S [Rows 5] As S Where R.a = S.a"
    run.ask("query_add", {"name": "other", "text": text})
    run.ticks(1)
    assert join_of(run) is before  # joins of two inputs have nothing to tune
    run.ask("query_remove", {"name": "four"})
    run.ticks(1)
    assert not joins_of(unit_of(run))


def test_inputs_of_one_stream_are_numbered(run: JoinsRun) -> None:
    text = """Select 1 As one From R [Rows 5] As A, R [Rows 9] As B, S [Rows 3] As C
    Where A.a = B.a and B.a = C.a"""
    run.ask("query_add", {"name": "own", "text": text})
    run.ticks(1)
    layout, joins = unit_of(run).layout, joins_of(unit_of(run))
    assert {input_names(layout.plan, id) for id in joins} == {
        ("R", "S", "T", "U"),
        ("R 1", "R 2", "S"),
    }
    names = [e.name for e in run.reader.entities("r") if e.role == "cache"]
    assert len(names) == len(set(names))
    assert all(name.endswith(" of own") for name in names if "R 1" in name)
    assert "R ⋈ S of four" in names
    turn(run, forbidden_caches="R ⋈ S")  # the name it had while it was the only join
    assert join_of(run, "four").core.settings.forbidden == {"0,1|1"}
