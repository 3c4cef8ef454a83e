"""A store of the first layout climbs to this one, and reads as if this version had written it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect, text

from storage.reading.resume import last_state
from storage.store import Reader, StoreTooOld, open_engine_writer, open_reader
from storage.tables import database, migration_v2, migrations
from storage.tables.rows import Cursor, StoredInput, StoredInputBatch
from storage.tables.schema import METADATA
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.records import Event, Input, InputBatch, Unit
from tests.contract import old_store
from tests.contract.store_builders import record
from tests.contract.test_store_roundtrip import everything
from tests.golden import store_v2 as golden


@pytest.fixture
def old(store_url: str) -> str:
    """The address of a store of layout 1 with two runs."""
    old_store.write(store_url)
    return store_url


@pytest.fixture(scope="module")
def reader(new_store: Callable[[], str]) -> Iterator[Reader]:
    """Reads a store that climbed."""
    address = new_store()
    old_store.write(address)
    open_engine_writer(address).close()
    with open_reader(address) as opened:
        yield opened


def engine_of(address: str) -> Engine:
    return database.open_for_writing(database.parse_url(address), create=False)


def test_readers_say_that_it_is_old_and_writers_lift_it(old: str) -> None:
    with pytest.raises(StoreTooOld, match="layout 1, this Planwatch reads layout 2"):
        open_reader(old)
    for _ in range(2):
        open_engine_writer(old).close()
    with open_reader(old) as reader:
        assert [run.id for run in reader.runs()] == ["packets", "golden"]


def test_the_golden_run_reads_as_this_version_writes_it(reader: Reader) -> None:
    with open_reader(str(golden.PATH)) as new:
        assert everything(reader)[:-1] == everything(new)[:-1]
    assert reader.units("golden") == (golden.UNIT,)
    assert [change.id for change in reader.changes(Cursor()) if change.run_id == "golden"]


def test_a_run_of_filters_has_a_unit_of_filters(reader: Reader) -> None:
    unit = Unit("agreedy.Packets", "agreedy", "Filters on Packets", ("Packets",), ("q",))
    assert reader.units("packets") == (unit,)
    stream = Input("Packets", [["n", "int"]], {"format": "packets"})
    assert reader.inputs("packets") == (StoredInput(stream, "open", ""),)
    run = reader.run("packets")
    assert run is not None
    assert (run.streams, run.state, run.note) == ("Packets", "failed", "the disk is full")
    assert [dict(batch.plans) for batch in reader.batches("packets")] == [{unit.id: 1}] * 2
    assert reader.input_batches("packets") == (
        StoredInputBatch(0, InputBatch("Packets", 40, 1, None, "t")),
        StoredInputBatch(1, InputBatch("Packets", 40, 1, 7, "t")),
    )


def test_entities_have_roles_and_units(reader: Reader) -> None:
    roles = {e.id: (e.role, bool(e.unit_id)) for e in reader.entities("packets")}
    assert roles == {
        "system": ("system", False),
        "op:source": ("source", False),
        "op:output": ("output", False),
        "queue:source": ("queue", False),
        "queue:table": ("queue", True),
        "filter:big": ("filter", True),
        "filter:table": ("filter", True),
        "monitor:profile": ("profile", True),
        "race:sweep": ("race", True),
        "query:q": ("query", True),
    }


def test_plans_are_graphs_of_roles(reader: Reader) -> None:
    (plan,) = reader.plans("packets", unit="agreedy.Packets")
    graph = PlanGraph.from_json(plan.graph)
    assert graph.to_json() == plan.graph
    assert [(n.role, n.name) for n in graph.nodes] == [
        ("source", "Packets"),
        ("filter", "big"),
        ("filter", "table"),
        ("output", "Output"),
    ]
    assert [graph.node(f"filter:{n}").properties["runs_in"] for n in ("big", "table")] == [
        "expression",
        "Arrow operator",
    ]
    assert graph.order == plan.order


def test_flow_and_occupancy_are_two_numbers(reader: Reader) -> None:
    values = reader.values("packets")
    assert values["queue:source"] == {"size_tuples": 7.0}
    assert values["queue:table"] == {"flow_tuples": 30.0}


def test_events_have_kinds_of_the_closed_list_and_their_unit(reader: Reader) -> None:
    assert [stored.event for stored in reader.events("packets")] == [
        Event("held back", "suppressed", unit_id="agreedy.Packets"),
        Event("run", "restart"),
        Event("algorithm", "algorithm", unit_id="agreedy.Packets"),
        Event("knob", "knob"),
    ]


def test_knobs_have_their_scope_and_the_run_can_go_on(reader: Reader) -> None:
    knobs = [(knob.scope, knob.name) for knob in reader.knobs("packets")]
    assert knobs == [("", "rate"), ("agreedy.Packets", "alpha")]
    state = last_state(reader, "packets")
    assert state is not None
    assert (state.run.id, state.last_batch, state.units[0].last_seq) == ("packets", 1, 0)


def test_a_climbed_store_is_written_on(old: str) -> None:
    with open_engine_writer(old) as writer, open_reader(old) as reader:
        last = max(stored.id for stored in reader.events("golden"))
        assert writer.write_batch(record(5, run_id="golden"))
        writer.resume_run("packets", old_store._START + 99, "2", {}, ())
        assert reader.events("packets")[-1].id > last
        assert reader.last_batch("golden") == 5


def test_the_layout_is_that_of_a_new_store(old: str, new_store: Callable[[], str]) -> None:
    fresh = new_store()
    for address in (old, fresh):
        open_engine_writer(address).close()
    assert layout(old) == layout(fresh)


def layout(address: str) -> dict[str, object]:
    """Columns, keys and indexes of every table, without the names the database gave them."""
    engine = engine_of(address)
    found: dict[str, object] = {}
    seen = inspect(engine)
    for table in seen.get_table_names():
        columns = [(c["name"], str(c["type"]), c["nullable"]) for c in seen.get_columns(table)]
        indexes = [(i["name"], i["column_names"], i["unique"]) for i in seen.get_indexes(table)]
        found[table] = (
            columns,
            seen.get_pk_constraint(table)["constrained_columns"],
            sorted(key["referred_table"] for key in seen.get_foreign_keys(table)),
            sorted(indexes, key=str),
        )
    engine.dispose()
    assert set(METADATA.tables) - {"meta"} <= set(found)
    return found


def test_an_interrupted_climb_leaves_the_old_store(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows(old)
    dropped = (*migration_v2._DROPPED, "nothing DROP COLUMN nowhere")
    monkeypatch.setattr(migration_v2, "_DROPPED", dropped)
    with pytest.raises(Exception, match="nothing"):
        open_engine_writer(old)
    assert rows(old) == before
    engine = engine_of(old)
    migrations.check(engine, old, version=1)
    engine.dispose()
    monkeypatch.undo()
    open_engine_writer(old).close()
    with open_reader(old) as reader:
        assert len(reader.runs()) == 2


def rows(address: str) -> dict[str, list[str]]:
    """All rows of all tables, as text."""
    engine = engine_of(address)
    with engine.connect() as connection:
        names = inspect(connection).get_table_names()
        found = {n: sorted(map(str, connection.execute(text(f"SELECT * FROM {n}")))) for n in names}
    engine.dispose()
    return found


def test_the_file_of_the_first_version_stays_as_it_is() -> None:
    with pytest.raises(StoreTooOld):
        open_reader(str(old_store.PATH))
    assert sorted(p.name for p in Path(old_store.PATH).parent.glob("store_v1*")) == ["store_v1.db"]
