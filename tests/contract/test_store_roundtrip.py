"""What was recorded is read back as it was: every kind of record, on every database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from storage.store import Reader, open_command_writer, open_engine_writer, open_reader
from storage.tables.rows import Cursor, DecisionCounts, DecisionEntry, StoredTap
from storage.vocabulary.records import Command, Json, Run
from tests.golden import store_v4 as golden

RUN = golden.RUN.id


@pytest.fixture(scope="module")
def reader(new_store: Callable[[], str]) -> Iterator[Reader]:
    store_url = new_store()
    with open_engine_writer(store_url) as writer, open_command_writer(store_url) as commands:
        writer.begin_run(golden.RUN, golden.ENTITIES, (golden.KNOB,))
        payload = {"knob": "mu", "value": 0.05}
        commands.append_command(RUN, "knob", payload, "ana", "try", golden.START + 2.0, 0)
        for record in golden.records():
            assert writer.write_batch(record)
    with open_reader(store_url) as opened:
        yield opened


def test_the_run_runs_and_lives(reader: Reader) -> None:
    expected = replace(golden.RUN, state="running", heartbeat_at=golden.START + 5)
    assert reader.run(RUN) == expected
    assert reader.runs() == (expected,)
    assert reader.run("nobody") is None


def test_batches(reader: Reader) -> None:
    recorded = tuple(r.batch for r in golden.records() if r.batch.id is not None)
    assert reader.batches(RUN) == recorded
    assert reader.batches(RUN, since_id=1, until=3) == recorded[1:4]
    assert reader.batches(RUN, limit=2) == recorded[-2:]
    assert reader.batch(RUN, 2) == recorded[2]
    assert reader.batch(RUN, 9) is None
    assert reader.last_batch(RUN) == 4
    assert reader.last_batch("nobody") is None


def test_find_batch_by_time(reader: Reader) -> None:
    times = [golden.START - 9, golden.START + 1, golden.START + 2.5, golden.START + 99]
    assert [reader.find_batch(RUN, time) for time in times] == [0, 0, 1, 4]
    assert reader.find_batch("nobody", golden.START) is None


def test_entities(reader: Reader) -> None:
    assert reader.entities(RUN) == tuple(sorted(golden.ENTITIES, key=lambda e: e.id))


def test_values_now_and_then(reader: Reader) -> None:
    assert reader.values(RUN) == {
        "system": {"visits_per_tuple": 1.9, "n_tuples": 404.0},
        "asc:origin": {"survival_prob": 0.5},
        "query:late": {"matched_tuples": 0.0},
    }
    assert reader.values(RUN, at=0) == {
        "system": {"visits_per_tuple": 1.5, "n_tuples": 400.0},
        "asc:origin": {"survival_prob": None},
    }
    assert reader.values(RUN, at=3)["query:late"] == {"matched_tuples": 3.0}
    assert reader.values("nobody") == {}


def test_series(reader: Reader) -> None:
    series = reader.series(RUN, "system", "n_tuples", since_batch=1, until_batch=3)
    assert series is not None
    assert series.batch.tolist() == [1, 2, 3]
    assert series.time.tolist() == [golden.START + 2, golden.START + 3, golden.START + 4]
    assert series.value.tolist() == series.low.tolist() == series.high.tolist() == [401, 402, 403]
    assert series.unit == "tuples"
    assert not series.thinned
    assert reader.series(RUN, "system", "nothing") is None


def test_series_by_time_and_many_at_once(reader: Reader) -> None:
    keys = [("system", "n_tuples"), ("asc:origin", "survival_prob"), ("system", "nothing")]
    found = reader.many_series(RUN, keys, since=golden.START + 2, until=golden.START + 4)
    assert list(found) == keys[:2]
    assert [series.batch.tolist() for series in found.values()] == [[1, 2, 3], [1, 2, 3]]
    assert reader.many_series(RUN, []) == {}


def test_plans(reader: Reader) -> None:
    first, second = golden.PLANS
    assert reader.plans(RUN) == (first, second)
    assert reader.plans(RUN, until=2) == (first,)
    assert [reader.plan_at(RUN, at) for at in (0, 2, 3, None)] == [first, first, second, second]
    assert reader.plan_at("nobody") is None
    recorded = reader.plan_at(RUN)
    assert recorded is not None
    assert recorded.recorded_at == golden.START + 4


def test_decisions_without_the_long_parts_of_their_details(new_store: Callable[[], str]) -> None:
    long = {"steps": [{"drop": 0.5}] * 40, "trials": [{"at": 1, "words": "ä"}]}
    short = {"headroom": [{"words": "a"}], "cost_unit": "visits/tuple", "n": 2**60, "none": None}
    details: list[Json] = [{**short, **long}, short, None, {}]
    first = golden.DECISIONS[0]
    entries = [replace(first, seq=n, detail=detail) for n, detail in enumerate(details, start=1)]
    store_url = new_store()
    with open_engine_writer(store_url) as writer, open_reader(store_url) as reader:
        writer.begin_run(golden.RUN, golden.ENTITIES, ())
        batch = golden.records()[0]
        assert writer.write_batch(replace(batch, decisions=tuple(entries), outcomes=()))
        whole = [entry.decision.detail for entry in reader.decisions(RUN)][::-1]
        brief = [entry.decision.detail for entry in reader.decisions(RUN, brief=True)][::-1]
    assert whole == details
    assert brief[1:] == details[1:]
    assert brief[0] == (details[0] if store_url.startswith("postgresql") else short)


def test_decisions(reader: Reader) -> None:
    below, switched = golden.DECISIONS
    entries = (
        DecisionEntry(golden.LOOK, golden.START + 5, None),
        DecisionEntry(switched, golden.START + 3, golden.OUTCOME),
        DecisionEntry(below, golden.START + 2, None),
    )
    assert reader.decisions(RUN) == entries
    assert reader.decisions(RUN, limit=1) == entries[:1]
    assert reader.decisions(RUN, before_seq=2) == entries[2:]
    assert reader.decisions(RUN, before_seq=3) == entries[1:]
    assert reader.decisions(RUN, verdicts=["switched", "cooldown"]) == entries[1:2]
    assert reader.decisions(RUN, verdicts=["below_threshold"]) == (entries[0], entries[2])
    assert reader.decisions(RUN, verdicts=["kept"]) == ()
    assert reader.decision(RUN, 2) == entries[1]
    assert reader.decision(RUN, 3) == reader.decision(RUN, 3, golden.UNIT.id) == entries[0]
    assert reader.decision(RUN, 3, "asc.nobody") is None
    assert reader.decision(RUN, 7) is None


def test_an_outcome_is_not_known_before_it_was_measured(reader: Reader) -> None:
    (entry, _) = reader.decisions(RUN, until=3)
    assert entry.decision.seq == 2
    assert entry.outcome is None
    assert reader.decisions(RUN, until=0) == ()


def test_decision_counts(reader: Reader) -> None:
    now = DecisionCounts({"below_threshold": 2, "switched": 1}, stored=3, evaluated=3)
    assert reader.decision_counts(RUN) == now
    then = DecisionCounts({"below_threshold": 1}, stored=1, evaluated=1)
    assert reader.decision_counts(RUN, until=1) == then
    assert reader.decision_counts("nobody") == DecisionCounts({}, 0, 0)


def test_matrices(reader: Reader) -> None:
    assert reader.matrices(RUN) == ("regions:dep_delay",)
    stored = reader.matrix(RUN, "regions:dep_delay")
    assert stored is not None
    assert (stored.matrix, stored.batch, stored.time) == (golden.MATRIX, 1, golden.START + 2)
    assert reader.matrix(RUN, "regions:dep_delay", at=0) is None


def test_events(reader: Reader) -> None:
    expected = [e for r in golden.records() for e in r.events]
    assert [stored.event for stored in reader.events(RUN)] == expected
    assert [stored.batch for stored in reader.events(RUN)] == [1, 3]
    assert [stored.event.kind for stored in reader.events(RUN, since=2)] == ["rearrangement"]
    assert [stored.event.kind for stored in reader.events(RUN, until=2)] == ["knob"]
    assert [stored.event.kind for stored in reader.events(RUN, kinds=["knob"])] == ["knob"]
    assert [stored.event.kind for stored in reader.events(RUN, limit=1)] == ["rearrangement"]


def test_knobs_in_force_and_their_history(reader: Reader) -> None:
    changed = next(r.knobs[0] for r in golden.records() if r.knobs)
    assert reader.knobs(RUN) == reader.knobs(RUN, at=2) == (changed,)
    assert reader.knobs(RUN, at=1) == (golden.KNOB,)
    assert reader.knob_history(RUN) == reader.knob_history(RUN, "mu") == (golden.KNOB, changed)
    assert reader.knob_history(RUN, "tau") == ()


def test_commands_with_their_answers(reader: Reader) -> None:
    expected = Command(
        1,
        RUN,
        "knob",
        {"knob": "mu", "value": 0.05},
        "ana",
        "try",
        golden.START + 2.0,
        0,
        "applied",
        2,
        golden.START + 2.1,
        "mu = 0.05",
        0.1,
    )
    assert reader.commands(RUN) == (expected,)
    assert reader.command(RUN, 1) == expected
    assert reader.command(RUN, 2) is None
    assert reader.command("nobody", 1) is None


def test_results_taps_and_misfits(reader: Reader) -> None:
    newest, *_ = reader.results(RUN, "late")
    assert newest.values == {"origin": "JFK", "dep_delay": 64}
    assert newest.query_ids == ("late",)
    assert newest.batch == 4
    assert len(reader.results(RUN)) == 5
    assert [result.batch for result in reader.results(RUN, until=1)] == [1, 0]
    assert reader.results(RUN, "early") == ()
    (misfit,) = reader.misfits(RUN)
    assert (misfit.batch, misfit.raw, misfit.error) == (2, "JFK,soon", "dep_delay is no int")
    assert reader.misfits(RUN, until=1) == ()
    for at in (0, 2, 9):
        assert reader.taps(RUN, golden.TAP.entity, at) == (StoredTap(2, golden.TAP),)
    assert reader.taps(RUN, "nobody", 2) == ()


def test_cursor_and_changes(reader: Reader) -> None:
    assert reader.cursor() == Cursor(commit=7, command=1)
    changes = reader.changes(Cursor())
    assert [(c.kind, c.batch_id) for c in changes] == [
        ("run", None),
        ("batch", 0),
        ("batch", 1),
        ("boundary", None),
        ("batch", 2),
        ("batch", 3),
        ("batch", 4),
        ("command", None),
    ]
    assert {"runs", "batches", "units", "samples", "plans", "results"} == set(changes[1].changed)
    assert {"knobs", "commands", "events"} == set(changes[3].changed)
    assert reader.changes(reader.cursor()) == ()
    assert [c.id for c in reader.changes(Cursor(5, 1))] == [6, 7]


def test_an_exported_run_reads_the_same(reader: Reader, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    reader.export_run(RUN, copy)
    assert [path.name for path in tmp_path.glob("copy*")] == ["copy.db"]
    with open_reader(str(copy)) as exported:
        assert everything(exported) == everything(reader)
        assert exported.cursor() == reader.cursor()


def everything(reader: Reader) -> list[object]:
    """What a reader says of the golden run."""
    run: Run | None = reader.run(RUN)
    return [
        run,
        reader.batches(RUN),
        reader.entities(RUN),
        [reader.values(RUN, at) for at in (None, 0, 1, 2, 3, 4)],
        reader.plans(RUN),
        reader.decisions(RUN),
        reader.matrix(RUN, "regions:dep_delay"),
        reader.events(RUN),
        reader.knob_history(RUN),
        reader.commands(RUN),
        reader.results(RUN),
        reader.taps(RUN, golden.TAP.entity, 2),
        reader.misfits(RUN),
        reader.changes(Cursor()),
    ]
