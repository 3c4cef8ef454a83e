"""A run that was killed goes on: plans, knobs, queries, totals and numbers of decisions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backend.engine.resume import obstacle
from backend.hosts.spark.start.facts import source_facts
from backend.hosts.spark.start.secrets import HIDDEN
from backend.model.ids import unit_entity
from backend.workloads.spec import SourceSpec, StreamSpec
from storage.reading.resume import last_state
from storage.vocabulary.records import Input, Json
from tests.engine_runs import RUN_ID, WORKLOAD, EngineRun
from tests.systems.running import FUNCTIONS, SCHEMA
from tests.unit.engine.test_units import TEXTS, UNITS, Bench, query_id


def killed(path: Path) -> Bench:
    """A run of eight batches, with turned knobs, and queries that came, rest and went."""
    run = Bench(path)
    for _ in range(4):
        run.random_batch()
    run.ask("knob", {"knob": "mu", "value": 0.4})
    run.ask("query_add", {"name": "more", "text": "Select * From S Where c = 'x' and a < 3"})
    run.ask("query_pause", {"name": "late"})
    run.ask("query_remove", {"name": "low"})
    for _ in range(4):
        run.random_batch()
    run.kill()
    return run


def test_what_was_turned_registered_and_counted_goes_on(tmp_path: Path) -> None:
    before = killed(tmp_path / "s.db")
    run = Bench(tmp_path / "s.db", continues=True)
    assert run.batch_id == 8
    values = run.reader.values(RUN_ID)
    n_decisions = {id: values[unit_entity(id)]["decisions_total"] for id in UNITS}
    run.random_batch()
    reader, values = run.reader, run.reader.values(RUN_ID)
    assert {k.value for k in reader.knobs(RUN_ID) if k.name == "mu"} == {0.4}
    states = {e.name: e.properties["state"] for e in reader.entities(RUN_ID) if e.kind == "query"}
    assert states == {"late": "paused", "more": "active", "calls": "active", "other": "active"}
    assert values["system"]["tuples_total"] == 9 * 400
    n_other = len(before.matched("other")) + len(run.matched("other"))
    assert values[query_id("other")]["matched_total"] == n_other
    for id, n in n_decisions.items():
        later = [d.decision.seq for d in reader.decisions(RUN_ID) if d.decision.unit_id == id]
        assert len(later) == len(set(later))
        assert (values[unit_entity(id)]["decisions_total"] or 0) >= (n or 0)
    versions = [(p.unit_id, p.version) for p in reader.plans(RUN_ID)]
    assert len(versions) == len(set(versions))
    titles = [e.event.title for e in reader.events(RUN_ID)]
    assert "resumed at batch 8" in titles
    run.close()


def test_a_batch_that_was_recorded_runs_again_for_its_results_alone(tmp_path: Path) -> None:
    killed(tmp_path / "s.db")
    run = Bench(tmp_path / "s.db", continues=True)
    before = run.reader.values(RUN_ID)
    rows = {"S": [{"a": 1, "b": 1, "c": "x"}], "T": []}
    assert run.batch(rows, 7).n_matched == 1
    after = run.reader.values(RUN_ID)
    assert {k: v for k, v in after.items() if k != "system"} == {
        k: v for k, v in before.items() if k != "system"
    }
    assert after["system"]["tuples_total"] == before["system"]["tuples_total"]
    run.batch(rows, 8)
    assert run.reader.values(RUN_ID)["system"]["tuples_total"] == 8 * 400 + 1
    run.close()


def test_what_adapting_saved_goes_on(tmp_path: Path) -> None:
    """Against the order the run began with, which is not the one it goes on with."""
    told = []
    for continues in (False, True):
        knobs = {"profile_prob": 0.5, "stop_rule": "drop"}
        run = Bench(tmp_path / "s.db", knobs=knobs, continues=continues)
        if not continues:
            run.ask("query_remove", {"name": "late"})
        for _ in range(6 - 5 * continues):
            run.random_batch()
        told.append(run.reader.values(RUN_ID)[unit_entity("asc.S")])
        run.kill()
    before, after = told
    assert 0 < (before["regret_saved_total"] or 0) < (after["regret_saved_total"] or 0)
    assert 0 < (before["regret_saved_se"] or 0) < (after["regret_saved_se"] or 0)


def test_what_was_asked_before_the_kill_is_carried_out_in_its_order(tmp_path: Path) -> None:
    before = Bench(tmp_path / "s.db")
    before.random_batch()
    asked = [
        before.ask("knob", {"knob": "mu", "value": 0.2, "scope": "asc.S"}),
        before.ask("knob", {"knob": "mu", "value": 0.3, "scope": "asc.S"}),
        before.ask("query_add", {"name": "more", "text": "Select * From S Where a < 3"}),
        before.ask("query_pause", {"name": "more"}),
        before.ask("stop", {}),
    ]
    before.kill()
    run = Bench(tmp_path / "s.db", continues=True)
    run.random_batch()
    *carried_out, stop = [run.answer(command) for command in asked]
    assert [(c.state, c.applied_batch) for c in carried_out] == [("applied", 1)] * 4
    assert [c.old_value for c in carried_out[:2]] == [0.1, 0.2]
    assert stop.state == "refused"
    assert not run.loop.stop_requested.is_set()
    more = next(e for e in run.reader.entities(RUN_ID) if e.name == "more" and e.kind == "query")
    assert more.properties["state"] == "paused"
    run.close()


def test_a_stream_that_was_paused_stays_so(tmp_path: Path) -> None:
    before = Bench(tmp_path / "s.db")
    asked = before.ask("knob", {"knob": "intake", "value": "paused", "scope": "input:T"})
    before.random_batch()
    assert before.answer(asked).state == "applied"
    before.kill()
    run = Bench(tmp_path / "s.db", continues=True)
    assert [run.loop.input_knob(name, "intake") for name in "ST"] == ["on", "paused"]
    run.close()


def test_queries_of_the_file_that_changed_are_said(tmp_path: Path) -> None:
    killed(tmp_path / "s.db")
    texts = {**TEXTS, "late": "Select * From S Where b >= 99", "brand": "Select * From S"}
    del texts["other"]
    schemas = {"S": SCHEMA, "T": SCHEMA}
    run = EngineRun(tmp_path / "s.db", schemas, texts, functions=FUNCTIONS, continues=True)
    (event,) = [e.event for e in run.reader.events(RUN_ID) if e.event.title.startswith("resumed")]
    for said in (
        "query low was removed while it ran and stays so",
        "query late reads otherwise now",
        "query other is gone from the workload",
        "query brand is new",
    ):
        assert said in event.detail
    names = {e.name for e in run.reader.entities(RUN_ID) if e.kind == "query"}
    assert names == {"late", "calls", "more", "brand"}
    assert {unit.id for unit in run.reader.units(RUN_ID)} == {"asc.S", "agreedy.calls"}
    run.close()


def test_a_unit_that_left_before_the_kill_keeps_its_numbers(tmp_path: Path) -> None:
    run = Bench(tmp_path / "s.db")
    for _ in range(4):
        run.random_batch()
    run.ask("query_remove", {"name": "other"})
    run.random_batch()
    run.kill()
    again = Bench(tmp_path / "s.db", continues=True)
    again.random_batch()
    again.ask("query_add", {"name": "other", "text": TEXTS["other"]})
    for _ in range(3):
        again.random_batch()
    plans = [p for p in again.reader.plans(RUN_ID) if p.unit_id == "agreedy.other"]
    versions = [plan.version for plan in plans]
    assert versions == sorted(set(versions))
    assert plans[-1].batch >= 5
    again.close()


def test_a_source_that_gives_other_tuples_is_another_however_long_its_options_are() -> None:
    rows = tuple([n, n, "x"] for n in range(500))
    facts = [
        source_facts(StreamSpec("S", SCHEMA, SourceSpec("memory", {}, rows=given)))
        for given in (rows, rows, rows[1:])
    ]
    assert facts[0] == facts[1] != facts[2]


SECRETS = {
    "kafka.sasl.jaas.config": "PlainLoginModule required username='u' password='{}';",
    "kafka.ssl.keystore.password": "{}",
    "apiKey": "{}",
    "fs.s3a.access.key": "{}",
    "sas_token": "{}",
    "url": "jdbc:postgresql://host/db?user=me&password={}",
    "endpoint": "https://me:{}@host:9000/path",
}


def kafka(password: str, topic: str = "t") -> dict[str, Json]:
    secret = {name: text.replace("{}", password) for name, text in SECRETS.items()}
    options = {"subscribe": topic, "kafka.ssl.keystore.location": "/k.jks", **secret}
    return source_facts(StreamSpec("S", SCHEMA, SourceSpec("kafka", options)))


def test_secrets_of_a_source_are_not_recorded_and_may_change() -> None:
    """A new password is the same source; another topic is not."""
    facts = kafka("hunter2")
    assert "hunter2" not in json.dumps(facts)
    assert facts["kafka.ssl.keystore.location"] == "/k.jks"
    assert facts["kafka.sasl.jaas.config"] == facts["apiKey"] == HIDDEN
    assert facts["url"] == f"jdbc:postgresql://host/db?user=me&password={HIDDEN}"
    assert set(SECRETS) < set(facts)
    assert kafka("another") == facts != kafka("hunter2", "u")


INPUT = Input("S", [[a.name, a.type] for a in SCHEMA.attributes])


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ((INPUT,), "stream T is gone"),
        ((INPUT, INPUT_T := Input("T", INPUT.schema), Input("U", [])), "stream U is new"),
        ((INPUT, Input("T", [["a", "bigint"], *INPUT.schema[1:]])), "a was int and is"),
        ((INPUT, Input("T", INPUT.schema, {"path": "x"})), "the source of stream T is another"),
        ((INPUT, INPUT_T), None),
    ],
)
def test_a_run_goes_on_only_with_the_same_inputs(
    tmp_path: Path, inputs: tuple[Input, ...], said: str | None
) -> None:
    killed(tmp_path / "s.db")
    run = Bench(tmp_path / "other.db")
    from storage.store import open_engine_writer

    with open_engine_writer(str(tmp_path / "s.db")) as writer:
        last = last_state(writer, WORKLOAD)
    run.close()
    assert last is not None
    found = obstacle(last.run, inputs)
    assert found is None if said is None else said in (found or "")
