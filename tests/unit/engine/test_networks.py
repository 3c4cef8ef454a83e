"""Networks in a run: queries over windows, relations and each other, beside selections."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from backend.engine.resume import RELATIONS, obstacle
from backend.model.ids import entity_id, source_id
from backend.model.schema import Schema
from backend.workloads.linear_road import CAR_SCHEMA
from backend.workloads.spec import load_workload, shipped_workloads
from backend.workloads.stored import StoredRelation
from storage.reading.resume import last_state
from storage.vocabulary.graph import PlanGraph
from tests.engine_runs import RUN_ID, WORKLOAD, EngineRun

CARS, ROADS = (
    Schema.parse("t bigint, id int, road int"),
    Schema.parse("t bigint, road int, ice int"),
)
NAMES = Schema.parse("road int, name string")
STORED = {
    "Names": StoredRelation(
        "Names",
        NAMES,
        pa.table({"road": pa.array([1, 2], pa.int32()), "name": ["one", "two"]}),
    )
}
TEXTS = {
    "all": "Select * From Cars Where road = 1",
    "recent": "Select road, count(*) As n From Cars [Range 10] Group By road",
    "named": "Select N.name, R.n From recent As R, Names As N Where R.road = N.road",
    "icy": "Select Istream(C.id) From Cars [Range 5] As C, Roads [Partition By road Rows 1] As R "
    "Where C.road = R.road and R.ice = 1",
}
UNIT = "stream.network"


def car(t: int, id: int, road: int) -> dict[str, Any]:
    return {"t": t, "id": id, "road": road}


class Run(EngineRun):
    """Two streams in time, a relation, a selection and three queries of a network."""

    def __init__(self, folder: Path, **options: Any) -> None:
        super().__init__(
            folder / "store.db",
            {"Cars": CARS, "Roads": ROADS},
            {**TEXTS, **options.pop("more", {})},
            timestamps={"Cars": "t", "Roads": "t"},
            stored=STORED,
            sink=folder / "out",
            **options,
        )

    def seconds(self, first: int, last: int, ice: int = 0) -> None:
        """A batch: a car on road 1 each second, one on road 2 every other; one report of ice."""
        cars = [
            car(t, 2 * t + lane, lane + 1) for t in range(first, last) for lane in range(2 - t % 2)
        ]
        self.batch({"Cars": cars, "Roads": [{"t": last - 1, "road": 2, "ice": ice}]})

    def value(self, query: str, name: str) -> float | None:
        return self.reader.values(RUN_ID)[entity_id(UNIT, "query", query)].get(name)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path)
    yield made
    made.close()


def answered(folder: Path, query: str) -> list[dict[str, Any]]:
    """All elements of an answer, in order of time."""
    (own,) = [*(folder / "out").glob(f"query={query}"), *(folder / "out").glob(f"query={query}@*")]
    table = ds.dataset(own, format="parquet").to_table()
    return sorted(table.to_pylist(), key=lambda row: (row["tau"], row["sign"]))


def relation_at(rows: list[dict[str, Any]], tau: int) -> list[dict[str, Any]]:
    """The relation whose changes the rows are, at a time."""
    held: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda row: (row["tau"], row["sign"])):
        own = {k: v for k, v in row.items() if k not in ("tau", "sign")}
        if row["tau"] > tau:
            break
        held.append(own) if row["sign"] > 0 else held.remove(own)
    return held


def test_queries_over_windows_relations_and_each_other_are_answered(
    run: Run, tmp_path: Path
) -> None:
    run.seconds(0, 10)
    run.seconds(10, 20, ice=1)
    run.seconds(20, 30)
    run.batch({"Cars": [], "Roads": []}, ended=("Cars", "Roads"))
    recent = relation_at(answered(tmp_path, "recent"), 25)
    wanted = {1: 11, 2: 5}  # 15..25, on road 2 the even ones
    assert {row["road"]: row["n"] for row in recent} == wanted
    named = relation_at(answered(tmp_path, "named"), 25)
    assert {row["name"]: row["n"] for row in named} == {"one": 11, "two": 5}
    icy = answered(tmp_path, "icy")
    assert all(row["sign"] == 1 for row in icy)
    assert {row["tau"] for row in icy} == {19, 20, 22, 24, 26, 28}
    assert run.value("icy", "matched_total") == len(icy)
    assert {u.id for u in run.reader.units(RUN_ID)} == {"asc.Cars", UNIT}
    assert run.reader.values(RUN_ID)[entity_id("asc.Cars", "query", "all")]["matched_total"] == 30


def test_a_run_of_a_network_is_recorded(run: Run) -> None:
    for n in range(3):
        run.seconds(100 * n, 100 * (n + 1))
    reader = run.reader
    whole = reader.values(RUN_ID)["system"]
    total, last = whole["answered_total"], whole["n_answered"]
    assert total is not None
    assert last is not None
    assert total >= last > 0
    assert whole["matched_total"] == 300  # of the unit that selects
    (unit,) = [u for u in reader.units(RUN_ID) if u.id == UNIT]
    assert unit.inputs == ("Cars", "Roads")
    plans = [p for p in reader.plans(RUN_ID) if p.unit_id == UNIT]
    assert [p.version for p in plans][:2] == [1, 2]
    graph = PlanGraph.from_json(plans[-1].graph)
    nodes = {node.id: node for node in graph.nodes}
    assert {source_id("Cars"), source_id("Roads")} <= set(nodes)
    edges = {(edge.source, edge.target) for edge in graph.edges}
    assert (source_id("Cars"), entity_id(UNIT, "input", "Cars")) in edges
    outputs = {node.name for node in graph.nodes if node.role == "output"}
    assert outputs == {"recent", "named", "icy"}
    joins = [node for node in graph.nodes if node.role == "join"]
    assert any(node.properties["queries"] == ["icy"] for node in joins)
    assert any("chain" in node.properties for node in graph.nodes)
    values = reader.values(RUN_ID)
    assert values[entity_id(UNIT, "system", "unit")]["heartbeat"] == 299
    assert values[entity_id(UNIT, "input", "Cars")]["reached_tuples"] == 150
    synopses = [n.id for n in graph.nodes if n.role == "synopsis"]
    assert any(values[id]["size_tuples"] for id in synopses)
    decisions = [e.decision for e in reader.decisions(RUN_ID, unit=UNIT)]
    assert decisions[-1].verdict == "switched"
    assert decisions[-1].detail["charts"]
    curve = reader.matrix(RUN_ID, "queue curve", unit=UNIT)
    assert curve is not None
    assert curve.matrix.rows
    stored = reader.results(RUN_ID, query="recent")
    assert {row.values["_sign"] for row in stored} == {1, -1}
    assert {row.values["_tau"] for row in stored} <= set(range(299))


def test_a_query_that_others_read_stays(run: Run) -> None:
    run.seconds(0, 10)
    removed = run.ask("query_remove", {"name": "recent"})
    paused = run.ask("query_pause", {"name": "recent"})
    run.seconds(10, 20)
    told = "'named' reads what query 'recent' answers"
    assert [run.answer(one).answer for one in (removed, paused)] == [told, told]
    for name in ("named", "recent"):
        run.ask("query_remove", {"name": name})
    back = run.ask("query_add", {"name": "named", "text": TEXTS["named"]})
    added = run.ask("query_add", {"name": "n", "text": "Select Distinct id From Cars [Rows 3]"})
    run.seconds(20, 30)
    assert "unknown stream 'recent'" in run.answer(back).answer
    assert run.answer(added).state == "applied"
    units = {unit.id: unit.queries for unit in run.reader.units(RUN_ID)}
    assert units[UNIT] == ("icy", "n")


def test_a_query_that_reads_a_paused_one_is_refused(run: Run) -> None:
    run.ask("query_pause", {"name": "named"})
    run.ask("query_pause", {"name": "recent"})  # only paused ones read it
    added = run.ask("query_add", {"name": "n", "text": "Select * From recent Where n > 3"})
    run.seconds(0, 10)
    assert run.answer(added).answer == "query 'n' reads 'recent', which is paused"
    back = run.ask("query_resume", {"name": "named"})
    run.seconds(10, 20)
    assert run.answer(back).answer == "query 'named' reads 'recent', which is paused"


def test_knobs_of_the_network(run: Run) -> None:
    run.seconds(0, 10)
    shards = run.ask("knob", {"knob": "shards", "value": 2})
    run.ask("knob", {"knob": "scheduler", "value": "fifo"})
    run.ask("knob", {"knob": "queue_capacity", "value": 5})
    run.seconds(10, 200)
    assert "fixed for a run; start a new run with --fresh" in run.answer(shards).answer
    (last,) = [e.decision for e in run.reader.decisions(RUN_ID, unit=UNIT)][:1]
    assert last.verdict == "pinned"
    queues = [e for e in run.reader.entities(RUN_ID) if e.unit_id == UNIT and e.role == "queue"]
    assert any(e.properties.get("capacity_tuples") == 5 for e in queues)
    run.ask("knob", {"knob": "implicit_istream", "value": "never"})
    run.seconds(200, 300)
    plan = [p for p in run.reader.plans(RUN_ID) if p.unit_id == UNIT][-1]
    assert "implicit Istream: never" in plan.reason


def test_sharing_is_turned_while_a_run_goes_on(tmp_path: Path) -> None:
    both = {
        "short": "Select sum(id) As total From Cars [Range 10]",
        "long": "Select sum(id) As total From Cars [Range 40]",
    }
    found = {}
    for turned in (False, True):
        folder = tmp_path / str(turned)
        folder.mkdir()
        run = Run(folder, more=both)
        for n in range(6):
            run.seconds(20 * n, 20 * (n + 1), ice=int(n == 2))
            if turned:
                run.ask("knob", {"knob": "sharing", "value": n % 2 == 1})
            values = run.reader.values(RUN_ID)
            stores = [e for e in run.reader.entities(RUN_ID) if e.role == "store"]
            shared = not turned or n % 2 == 0
            assert bool(stores) == shared
            if shared:
                assert sum(values[one.id].get("saved_bytes") or 0 for one in stores) > 0
                stubs = [e for e in run.reader.entities(RUN_ID) if e.role == "stub"]
                assert {e.properties["store"] for e in stubs} == {one.id for one in stores}
        run.batch({"Cars": [], "Roads": []}, ended=("Cars", "Roads"))
        run.close()
        found[turned] = {name: answered(folder, name) for name in (*TEXTS, *both) if name != "all"}
    assert found[True] == found[False]
    assert all(found[True].values())


def test_the_reading_of_plain_queries_is_turned_while_shards_run(tmp_path: Path) -> None:
    met = {"met": "Select C.id From Cars As C, Roads As R Where C.road = R.road and R.ice = 1"}
    found = {}
    for turned in (False, True):
        folder = tmp_path / str(turned)
        folder.mkdir()
        run = Run(folder, more=met, knobs={"shards": 2})
        for n in range(4):
            run.seconds(20 * n, 20 * (n + 1), ice=int(n == 2))
            if turned:
                reading = "never" if n % 2 == 0 else "unwindowed"
                run.ask("knob", {"knob": "implicit_istream", "value": reading})
        run.batch({"Cars": [], "Roads": []}, ended=("Cars", "Roads"))
        run.close()
        found[turned] = answered(folder, "met")
    assert sorted(map(repr, found[True])) == sorted(map(repr, found[False]))
    assert len({row["id"] for row in found[True]}) == 40


def test_shards_answer_as_one(tmp_path: Path) -> None:
    found = {}
    for shards in (1, 3):
        folder = tmp_path / str(shards)
        folder.mkdir()
        run = Run(folder, knobs={"shards": shards})
        for n in range(3):
            run.seconds(20 * n, 20 * (n + 1), ice=int(n == 1))
        run.batch({"Cars": [], "Roads": []}, ended=("Cars", "Roads"))
        assert run.reader.values(RUN_ID)[entity_id(UNIT, "system", "unit")]["shards"] == shards
        run.close()
        rows = {name: answered(folder, name) for name in TEXTS if name != "all"}
        found[shards] = {name: sorted(map(repr, told)) for name, told in rows.items()}
    assert found[1] == found[3]
    assert all(found[1].values())


def test_trees_of_binary_joins_answer_as_an_mjoin(tmp_path: Path) -> None:
    text = (
        "Select C.id, N.name From Cars [Range 9] As C, Roads [Rows 3] As R, Names As N "
        "Where C.road = R.road and R.road = N.road"
    )
    found = {}
    for trees in ("mjoin", "binary"):
        folder = tmp_path / trees
        folder.mkdir()
        run = Run(folder, more={"three": text}, knobs={"join_trees": trees})
        run.seconds(0, 30)
        turned = run.ask("knob", {"knob": "join_trees", "value": "mjoin", "scope": UNIT})
        run.seconds(30, 60)
        is_fixed = "join_trees stays binary: it is fixed" in run.answer(turned).answer
        assert is_fixed == (trees == "binary")
        run.batch({"Cars": [], "Roads": []}, ended=("Cars", "Roads"))
        roles = {e.role for e in run.reader.entities(RUN_ID) if e.unit_id == UNIT}
        assert ("pipeline" in roles) == (trees == "mjoin")  # of three inputs
        run.close()
        found[trees] = sorted(map(repr, answered(folder, "three")))
    assert found["mjoin"] == found["binary"]
    assert found["mjoin"]


def test_only_queries_that_need_a_failed_stream_are_over(run: Run, tmp_path: Path) -> None:
    run.seconds(0, 10)
    cars = [car(10, 1, 1)]
    run.batch({"Cars": cars, "Roads": []}, failed={"Roads": "the socket was closed"})
    added = run.ask("query_add", {"name": "ice", "text": "Select Distinct road From Roads [Now]"})
    for t in (11, 40):
        run.batch({"Cars": [car(t, 1, 1)], "Roads": []}, ended=("Roads",))
    reader = run.reader
    states = {e.name: e.properties for e in reader.entities(RUN_ID) if e.role == "query"}
    assert states["icy"]["state"] == "ended"
    assert states["icy"]["why"] == "stream Roads failed: the socket was closed"
    assert states["recent"]["state"] == states["named"]["state"] == "active"
    assert run.answer(added).answer.endswith("stream Roads, which failed: the socket was closed")
    titles = [event.event.title for event in reader.events(RUN_ID)]
    assert "query icy is over" in titles
    assert max(row["tau"] for row in answered(tmp_path, "recent")) > 11


def test_it_goes_on_after_a_kill_with_its_queries_and_their_beginnings(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.seconds(0, 50)
    run.seconds(50, 100)
    run.ask("query_add", {"name": "late", "text": "Select * From named Where n > 2"})
    run.seconds(100, 300)
    before = [p for p in run.reader.plans(RUN_ID) if p.unit_id == UNIT][-1]
    run.kill()
    run = Run(tmp_path, continues=True)
    run.seconds(300, 400)
    plans = [p for p in run.reader.plans(RUN_ID) if p.unit_id == UNIT]
    first = next(p for p in plans if p.version == before.version)
    assert first == before
    since = {name: told[0] for name, told in plans[-1].evidence["registered"].items()}
    assert since == {"recent": 0, "named": 0, "icy": 0, "late": 2}
    seqs = [e.decision.seq for e in run.reader.decisions(RUN_ID, unit=UNIT)]
    assert seqs == list(range(len(seqs), 0, -1))
    run.close()


def test_queries_over_sysstream_hear_of_the_batch_before(tmp_path: Path) -> None:
    heard = {
        "sizes": "Select eid, max(val) As most From SysStream [Range 60 seconds] "
        "Where prop = 'heartbeat' Group By eid",
        "cars": "Select * From SysStream Where prop = 'reached_tuples' and etype = 'operator'",
    }
    run = Run(tmp_path, more=heard)
    for n in range(4):
        run.seconds(10 * n, 10 * (n + 1))
        time.sleep(1.01)  # τ is the engine's time, in seconds
    results = run.reader.results(RUN_ID, query="sizes")
    assert {row.values["eid"] for row in results} == {entity_id(UNIT, "system", "unit")}
    told = {row.values["most"] for row in results if row.values["_sign"] == 1}
    assert told == {9.0, 19.0}  # of batch 0, heard with 1 and told when the second was over
    cars = [row.values for row in run.reader.results(RUN_ID, query="cars")]
    assert cars
    assert all(not str(row["eid"]).startswith("stream.sysstream") for row in cars)
    units = {unit.id: unit.inputs for unit in run.reader.units(RUN_ID)}
    assert units["stream.sysstream"] == ("SysStream",)
    run.close()


def test_the_segment_of_an_accident_enters_and_leaves(tmp_path: Path) -> None:
    """Card B11: a car that reports one place at 0, 10, 20, 30 blocks its segment from 30 to 60."""
    road = load_workload(shipped_workloads()["linear_road"])
    names = ("CurActiveCars", "CurCarSeg", "AccCars", "AccSeg")
    texts = {query.name: query.text for query in road.queries if query.name in names}
    run = EngineRun(
        tmp_path / "store.db",
        {"CarStr": CAR_SCHEMA},
        texts,
        timestamps={"CarStr": "t"},
        sink=tmp_path / "out",
    )
    stopped = [{"t": t, "cid": 7, "speed": 0, "sid": 3, "xpos": 100} for t in (0, 10, 20, 30)]
    driving = [{"t": t, "cid": 9, "speed": 60, "sid": 5, "xpos": 88 * t} for t in range(0, 100, 10)]
    rows = sorted([*stopped, *driving], key=lambda row: row["t"])
    for first in range(0, len(rows), 3):
        run.batch({"CarStr": rows[first : first + 3]})
    run.batch({"CarStr": []}, ended=("CarStr",))
    assert answered(tmp_path, "AccSeg") == [
        {"sid": 3, "tau": 30, "sign": 1},
        {"sid": 3, "tau": 61, "sign": -1},
    ]
    run.close()


def test_sysstream_is_read_alone(run: Run) -> None:
    text = "Select S.val, C.id From SysStream [Now] As S, Cars [Now] As C Where S.val = C.id"
    added = run.ask("query_add", {"name": "both", "text": text})
    run.seconds(0, 10)
    assert "it is read alone" in run.answer(added).answer
    assert source_id("SysStream") not in {e.id for e in run.reader.entities(RUN_ID)}


def test_a_run_with_other_tuples_in_a_relation_does_not_go_on(tmp_path: Path) -> None:
    run = Run(tmp_path)
    last = last_state(run.writer, WORKLOAD)
    assert last is not None
    inputs = last.run.inputs
    known = replace(last, run=replace(last.run, settings={RELATIONS: {"Names": "1"}}))
    assert obstacle(last.run, inputs) is None
    assert obstacle(known.run, inputs, {"Names": "1"}) is None
    assert obstacle(known.run, inputs, {"Names": "2"}) == "the tuples of relation Names are others"
    assert obstacle(known.run, inputs, {}) == "the relation Names is gone"
    assert obstacle(last.run, inputs, {"Names": "1"}) == "the relation Names is new"
    run.close()
