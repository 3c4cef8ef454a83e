"""What goes over the wire for a batch."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.base import context as contexts
from dashboard.serving import deltas
from dashboard.serving.deltas import ALL_NEWS, MAX_BYTES, MAX_POINTS, build, encoded, merged, room
from dashboard.serving.deltas import snapshot as take_snapshot
from dashboard.views.numbers import rounded
from dashboard.web.shell import read_snapshot
from storage.store import Reader, open_command_writer, open_engine_writer, open_reader
from storage.vocabulary.records import Batch, BatchRecord, Entity, Sample
from tests.unit.dashboard_server.site import open_site
from tests.web.recorded import Recording


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Recording, Reader]]:
    with open_site(tmp_path) as site:
        yield site.recording, site.services.reader


def after(reader: Reader, known: deltas.Known, since: object) -> tuple[deltas.Delta, deltas.Known]:
    run = reader.run("r1")
    assert run is not None
    changes = reader.changes(since)  # type: ignore[arg-type]  # a Cursor
    return build(reader, run, sum(reader.cursor()), known, changes)


def first(reader: Reader) -> tuple[deltas.Delta, deltas.Known]:
    run = reader.run("r1")
    assert run is not None
    return take_snapshot(reader, run, sum(reader.cursor()))


@settings(deadline=None)
@given(st.floats(allow_nan=True, allow_infinity=True) | st.none())
def test_rounding_keeps_four_digits_and_whole_numbers(value: float | None) -> None:
    short = rounded(value)
    if value is None or not math.isfinite(value):
        assert short is None
        return
    assert short is not None
    assert short == value or math.isclose(short, value, rel_tol=5.1e-4)
    json.dumps(short, allow_nan=False)


def test_counts_stay_exact() -> None:
    assert [rounded(v) for v in (336776.0, 0.123456, 0.0, 12345.6)] == [336776, 0.1235, 0, 12350]


def test_a_snapshot_says_where_the_run_is(pair: tuple[Recording, Reader]) -> None:
    _, reader = pair
    delta, known = first(reader)
    assert (delta["run"], delta["b"], delta["st"], delta["pv"], delta["kv"]) == (
        "r1", 2, "running", 1, 0,
    )  # fmt: skip
    assert delta["new"] == []
    assert [point[0] for point in delta["pts"]] == [0, 1, 2]
    assert delta["v"]["system"]["tuples_total"] == 600
    assert delta["v"]["queue:source"] is not None
    assert known.batch == 2


def test_a_delta_has_the_new_batch_and_what_changed(pair: tuple[Recording, Reader]) -> None:
    recording, reader = pair
    _, known = first(reader)
    since = reader.cursor()
    recording.write()
    delta, known = after(reader, known, since)
    assert (delta["b"], known.batch) == (3, 3)
    assert delta["new"] == ["results"]
    values = reader.values("r1")
    assert delta["pts"] == [
        [3, delta["t"], *(rounded(values["system"][name]) for name in deltas.POINT_PROPERTIES)]
    ]
    assert set(delta["v"]["asc:origin"]) == {"survival_prob", "drop_prob", "reached_tuples"}


def test_several_batches_make_one_delta_and_lose_no_point(pair: tuple[Recording, Reader]) -> None:
    recording, reader = pair
    _, known = first(reader)
    since = reader.cursor()
    for _ in range(5):
        recording.write()
    delta, _ = after(reader, known, since)
    assert [point[0] for point in delta["pts"]] == [3, 4, 5, 6, 7]
    visits = reader.series("r1", "system", "visits_per_tuple", since_batch=3)
    assert visits is not None
    assert [point[3] for point in delta["pts"]] == [rounded(v) for v in visits.value.tolist()]
    assert "gap" not in delta
    assert "decisions" in delta["new"]


def test_of_many_batches_some_are_told_and_nothing_is_asked_anew(
    pair: tuple[Recording, Reader],
) -> None:
    recording, reader = pair
    _, known = first(reader)
    since = reader.cursor()
    for _ in range(MAX_POINTS + 1):
        recording.write()
    delta, known = after(reader, known, since)
    assert "gap" not in delta
    assert "knobs" not in delta["new"]
    assert known.batch == delta["b"] == 2 + MAX_POINTS + 1
    assert [point[0] for point in delta["pts"]] == list(range(3, delta["b"] + 1, 2))
    visits = reader.series("r1", "system", "visits_per_tuple", since_batch=3)
    assert visits is not None
    assert [point[3] for point in delta["pts"]] == [rounded(v) for v in visits.value[::2].tolist()]


def test_too_many_batches_leave_a_gap(
    pair: tuple[Recording, Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.serving.deltas.MAX_BATCHES", 20)
    recording, reader = pair
    _, known = first(reader)
    since = reader.cursor()
    for _ in range(21):
        recording.write()
    delta, known = after(reader, known, since)
    assert delta["gap"] is True
    assert delta["new"] == list(ALL_NEWS)
    assert len(delta["pts"]) <= MAX_POINTS
    assert known.batch == delta["b"] == delta["pts"][-1][0] == 2 + 21


def test_a_delta_has_all_of_its_batch_and_nothing_else(pair: tuple[Recording, Reader]) -> None:
    recording, reader = pair
    _, known = first(reader)
    for batch in (3, 4, 5):
        since = reader.cursor()
        recording.write()
        delta, known = after(reader, known, since)
        assert set(delta["v"]) == set(reader.values("r1", batch))
        assert "cut" not in delta


def test_a_plan_is_news_when_it_comes_into_force(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        reader, (_, known) = site.services.reader, first(site.services.reader)
        unit = next(iter(reader.plans_at("r1")))
        news = []
        for batch, version in ((3, 1), (4, 2), (5, 2)):
            plan = replace(reader.plans_at("r1")[unit], version=2, batch=4)
            plans = (plan,) if batch == 3 else ()
            now = Batch(batch, 1.7e9 + batch, 100.0, 200, 1, 0, {unit: version}, "")
            since = reader.cursor()
            site.writer.write_batch(BatchRecord("r1", now, plans=plans))
            delta, known = after(reader, known, since)
            news.append((delta["pv"], "plans" in delta["new"]))
    assert news == [(1, True), (2, True), (2, False)]


def test_knobs_and_queries_are_news_again_when_they_come_into_force(tmp_path: Path) -> None:
    """What is drawn before their batch is begun shows what is in force until then."""
    with open_site(tmp_path) as site:
        reader, (_, known) = site.services.reader, first(site.services.reader)
        knob = replace(reader.knobs("r1")[0], version=9, batch=5)
        query = Entity("asc.S:query:late", "query", "late", since_batch=6)
        news = []
        for batch in range(3, 8):
            now = Batch(batch, 1.7e9 + batch, 100.0, 200, 1, 0, {}, "")
            since = reader.cursor()
            knobs, entities = ((knob,), (query,)) if batch == 3 else ((), ())
            site.writer.write_batch(BatchRecord("r1", now, knobs=knobs, entities=entities))
            delta, known = after(reader, known, since)
            news.append([kind for kind in ("knobs", "queries") if kind in delta["new"]])
    assert news == [["knobs", "queries"], [], ["knobs"], ["queries"], []]


def test_the_plan_version_follows_a_rearrangement(pair: tuple[Recording, Reader]) -> None:
    recording, reader = pair
    while recording.next_batch < 60:
        recording.write()
    _, known = first(reader)
    since = reader.cursor()
    recording.write()
    delta, known = after(reader, known, since)
    assert (delta["pv"], known.plan_version) == (2, 2)
    assert {"plans", "decisions", "events"} <= set(delta["new"])


@pytest.mark.parametrize("n_constructs", [14, 40, 600])
def test_no_delta_is_larger_than_allowed(tmp_path: Path, n_constructs: int) -> None:
    names = [f"scheduled_attribute_{i}" for i in range(n_constructs)]
    with open_site(tmp_path) as site:
        things = [Entity(f"asc:{name}", "operator", name) for name in names]
        things += [Entity(f"queue:{name}", "queue", name) for name in names]
        seen: set[str] = set()
        known = first(site.services.reader)[1]
        for batch in range(3, 11 if n_constructs < 300 else 120):
            if len(seen) == n_constructs:
                break
            samples = [
                Sample(f"asc:{name}", prop, 0.123456 + batch)
                for name in names
                for prop in ("survival_prob", "drop_prob", "reached_tuples")
            ]
            samples += [Sample(f"queue:{name}", "flow_tuples", 1234 + batch) for name in names]
            since = site.services.reader.cursor()
            now = Batch(batch, 1.7e9 + batch, 100.0, 200, 1, 0, {"u": 1}, "2013-01-01 00:00")
            record = BatchRecord("r1", now, tuple(things), tuple(samples))
            site.writer.write_batch(record)
            delta, known = after(site.services.reader, known, since)
            assert len(encoded(delta).encode()) <= room(2 * n_constructs + 30) <= MAX_BYTES
            assert delta.get("cut", False) == (n_constructs > 300)
            seen |= {entity for entity in delta["v"] if entity.startswith("asc:sched")}
        assert len(seen) == n_constructs


def test_a_delta_has_what_the_slowest_operator_is_told_by(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        reader = site.services.reader
        _, known = first(reader)
        since = reader.cursor()
        join = Entity("net:j", "operator", "⋈ carrier", role="join")
        samples = (Sample("net:j", "processing_us", 3.05), Sample("net:j", "reached_tuples", 100.0))
        now = Batch(3, 1.7e9 + 3, 100.0, 200, 1, 0, {"u": 1}, "2013-01-01 00:00")
        site.writer.write_batch(BatchRecord("r1", now, (join,), samples))
        delta, _ = after(reader, known, since)
        works = read_snapshot(site.services, contexts.of(reader, {"run": "r1"}), []).works
    assert ("net:j", "⋈ carrier", "processing_us") in works
    for entity, _, name in works:
        assert {name, "reached_tuples"} <= set(delta["v"][entity])


def test_merging_keeps_all_points_and_the_newest_values(pair: tuple[Recording, Reader]) -> None:
    recording, reader = pair
    _, known = first(reader)
    parts = []
    for _ in range(3):
        since = reader.cursor()
        recording.write()
        delta, known = after(reader, known, since)
        parts.append(delta)
    whole = merged(parts)
    assert [point[0] for point in whole["pts"]] == [3, 4, 5]
    assert (whole["b"], whole["c"]) == (5, parts[-1]["c"])
    assert whole["v"]["system"] == parts[-1]["v"]["system"]
    assert whole["v"] == parts[-1]["v"]
    assert merged([parts[0]]) == parts[0]


def test_merging_too_many_points_keeps_as_many_as_fit() -> None:
    parts = [
        {"run": "r", "c": c, "b": c, "t": float(c), "new": [], "pts": [[c, c, 0, 0, 0, 0]]}
        for c in range(MAX_POINTS + 1)
    ]
    whole = merged(parts)
    assert "gap" not in whole
    assert [point[0] for point in whole["pts"]] == list(range(0, MAX_POINTS + 1, 2))


def test_a_command_is_news_without_values(pair: tuple[Recording, Reader], tmp_path: Path) -> None:
    _, reader = pair
    _, known = first(reader)
    since = reader.cursor()
    with open_engine_writer(str(tmp_path / "runs.db")) as writer:
        writer.set_state("r1", "ended", "done", 5.0)
    delta, _ = after(reader, known, since)
    assert (delta["st"], delta["new"], delta["b"]) == ("ended", ["run"], 2)
    assert "v" not in delta


def test_a_run_without_batches_has_a_snapshot(tmp_path: Path) -> None:
    with open_engine_writer(str(tmp_path / "n.db")) as writer:
        Recording(writer, "r1", 5.0).begin()
        with open_reader(str(tmp_path / "n.db")) as reader:
            delta, known = first(reader)
    assert (delta["b"], delta["t"], delta["pv"], delta["st"]) == (None, None, None, "starting")
    assert known.batch is None


@pytest.mark.parametrize("ahead_s", [3600.0, -3600.0])
def test_a_delta_tells_the_time_by_the_clock_of_the_engine(
    pair: tuple[Recording, Reader], ahead_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the dashboard's clock is another, and says when a knob was asked for."""
    recording, reader = pair
    true = time.time
    first(reader)
    monkeypatch.setattr(time, "time", lambda: true() + ahead_s)
    recording.write(true())
    delta, known = first(reader)
    assert delta["now"] == pytest.approx(true(), abs=2)
    since = reader.cursor()
    with open_command_writer(reader.where) as commands:
        commands.append_command("r1", "knob", {"name": "mu", "value": 0.5}, "me", "", time.time())
    told, _ = after(reader, known, since)
    assert told["new"] == ["commands"]
    assert told["t"] is None
    assert told["now"] == pytest.approx(true(), abs=2)
