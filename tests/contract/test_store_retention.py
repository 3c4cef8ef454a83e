"""Retention: the old is kept by ten seconds and the minute, what was decided for good."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select, update

from storage.store import EngineWriter, Reader, open_engine_writer
from storage.tables.columns import dump_json
from storage.tables.database import open_for_reading, open_for_writing, parse_url
from storage.tables.rows import RollupSpan
from storage.tables.schema import MatrixRow, RollupRow, SampleRow, SeriesRow
from storage.vocabulary.records import Matrix, Sample
from storage.writing.thinning import SHORT
from storage.writing.thinning import rolled_up as rolled_up_detail
from tests.contract.store_builders import START, begin, decision, record
from tests.oracles.store import roll_up

NUMBERS = count(1)
#: Later than every sample, in Unix s.
FAR = 1e11


@pytest.fixture
def run_id(writer: EngineWriter) -> str:
    name = f"run-{next(NUMBERS)}"
    begin(writer, name)
    return name


def rolled_up(writer: EngineWriter, run_id: str) -> int:
    """Roll all raw samples up to 10 s and 1 min rows, and keep these; how many went."""
    return writer.retention(run_id, FAR, 0.0, FAR)


def write(writer: EngineWriter, run_id: str, times: list[float]) -> list[float]:
    """One batch a time (s after the start); n_tuples counts up by 1; the values."""
    for number, time in enumerate(times):
        sample = Sample("system", "n_tuples", float(number))
        writer.write_batch(record(number, sample, run_id=run_id, time=START + time))
    return [float(number) for number in range(len(times))]


def stored(
    address: str, run_id: str, model: type[SampleRow] | type[RollupRow]
) -> list[dict[str, Any]]:
    engine = open_for_reading(parse_url(address))
    table = model.__table__
    mine = select(SeriesRow.id).where(SeriesRow.run_id == run_id, SeriesRow.property == "n_tuples")
    try:
        with engine.connect() as connection:
            rows = connection.execute(select(table).where(table.c.series_id.in_(mine)))
            return [row._asdict() for row in rows]
    finally:
        engine.dispose()


POINTS = st.lists(
    st.tuples(
        st.sampled_from([0.1, 0.3, 0.9, 1.0, 7.0, 59.0]),
        st.one_of(st.none(), st.floats(-1e3, 1e3)),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(points=POINTS, stops=st.lists(st.integers(0, 25), max_size=3))
def test_rollups_are_those_of_the_slow_twin_in_however_many_strokes(
    address: str, writer: EngineWriter, points: list[tuple[float, float | None]], stops: list[int]
) -> None:
    run_id = f"run-{next(NUMBERS)}"
    begin(writer, run_id)
    times = (START + np.cumsum([wait for wait, _ in points])).tolist()
    for number, (time, (_, value)) in enumerate(zip(times, points, strict=True)):
        writer.write_batch(
            record(number, Sample("system", "n_tuples", value), run_id=run_id, time=time)
        )
    gone = [writer.retention(run_id, times[stop], 0.0) for stop in stops if stop < len(times)]
    gone.append(rolled_up(writer, run_id))
    assert sum(gone) == len(points)
    assert stored(address, run_id, SampleRow) == []
    twin = [(n, t, v) for n, (t, (_, v)) in enumerate(zip(times, points, strict=True))]
    for length in (10, 60):
        rows = [r for r in stored(address, run_id, RollupRow) if r["resolution_s"] == length]
        expected = roll_up(twin, length)
        assert len(rows) == len(expected)
        for row, right in zip(sorted(rows, key=lambda r: r["bucket"]), expected, strict=True):
            assert {k: row[k] for k in right if k != "mean"} == {
                k: v for k, v in right.items() if k != "mean"
            }
            assert row["mean"] == pytest.approx(right["mean"])


def test_raw_samples_within_the_horizon_stay(
    address: str, writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    write(writer, run_id, [0.25 * n for n in range(400)])
    now = START + 100
    assert writer.retention(run_id, now, keep_raw_s=50) == 200
    assert writer.retention(run_id, now, keep_raw_s=50) == 0
    assert len(stored(address, run_id, SampleRow)) == 200
    series = reader.series(run_id, "system", "n_tuples")
    assert series is not None
    assert series.n.tolist() == [40] * 5 + [1] * 200
    assert series.value.tolist() == [19.5 + 40 * n for n in range(5)] + list(range(200, 400))
    assert series.low.tolist()[:2] == [0.0, 40.0]
    assert series.high.tolist()[:2] == [39.0, 79.0]
    assert series.thinned
    assert np.all(np.diff(series.batch) > 0)


def test_old_stretches_become_minutes(
    address: str, writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    write(writer, run_id, [5.0 * n for n in range(100)])
    begin_s = START // 60 * 60
    writer.retention(run_id, START + 500, keep_raw_s=100, keep_fine_s=200)
    rows = stored(address, run_id, RollupRow)
    fine = [row["bucket"] for row in rows if row["resolution_s"] == 10]
    assert min(fine) == (START + 300) // 60 * 60
    series = reader.series(run_id, "system", "n_tuples")
    assert series is not None
    assert int(series.n.sum()) == 100
    assert np.all(np.diff(series.batch) > 0)
    assert series.time[0] < begin_s + 60
    assert reader.stretch(run_id, 11) == RollupSpan(begin_s + 60, 60, 12, 19)
    assert reader.values(run_id, 11)["system"]["n_tuples"] == 13.5  # of batches 8 to 19


def test_long_ranges_are_thinned_with_their_extremes(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    values = write(writer, run_id, [0.01 * n for n in range(1000)])
    spike = Sample("system", "n_tuples", 1e6)
    writer.write_batch(record(1000, spike, run_id=run_id, time=START + 10.5))
    series = reader.series(run_id, "system", "n_tuples", max_points=100)
    assert series is not None
    assert len(series.value) <= 100
    assert series.high.max() == 1e6
    assert series.low.min() == 0.0
    assert series.n.sum() == 1001
    weighted = float((series.value * series.n).sum() / series.n.sum())
    assert weighted == pytest.approx((sum(values) + 1e6) / 1001)
    assert series.batch[-1] == 1000


def test_samples_of_a_long_range_are_its_values_and_end_with_the_last(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    keys = [("system", "n_tuples"), ("system", "d_window")]
    for number in range(1000):
        rare = [Sample(*keys[1], float(number))] if number % 10 == 3 else []
        writer.write_batch(record(number, Sample(*keys[0], number**2), *rare, run_id=run_id))
    dense = reader.many_series(run_id, keys[:1], max_points=90, sampled=True)[keys[0]]
    assert len(dense.batch) == 84
    assert (np.diff(dense.batch) == 12).all()
    assert dense.batch[-1] == 999
    assert (dense.value == dense.batch.astype(float) ** 2).all()
    assert (dense.low == dense.value).all()
    assert not dense.thinned
    both = reader.many_series(run_id, keys, max_points=90, sampled=True)
    means = reader.many_series(run_id, keys, max_points=90)
    assert [both[key].value.tolist() for key in keys] == [means[key].value.tolist() for key in keys]
    until = reader.many_series(run_id, keys[:1], until_batch=500, max_points=90, sampled=True)
    assert until[keys[0]].batch[-1] == 500


def test_a_thinned_mean_counts_each_sample_once(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    values = write(writer, run_id, [0.1 * n for n in range(10)] + [1.5, 2.5, 3.5])
    writer.retention(run_id, START + 3, keep_raw_s=1)
    series = reader.series(run_id, "system", "n_tuples", max_points=1)
    assert series is not None
    assert series.n.tolist() == [13]
    assert series.value.tolist() == [sum(values) / 13]


def test_a_long_rolled_up_range_reads_minutes_when_shorter_ones_are_far_too_many(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    write(writer, run_id, [2.0 * n for n in range(300)])
    rolled_up(writer, run_id)
    coarse = reader.series(run_id, "system", "n_tuples", max_points=11)
    fine = reader.series(run_id, "system", "n_tuples", max_points=1000)
    assert coarse is not None
    assert fine is not None
    assert len(fine.value) == 60
    assert len(coarse.value) == 11
    assert coarse.n.sum() == fine.n.sum() == 300
    assert (coarse.low[0], coarse.high[-1]) == (0.0, 299.0)


def test_unknown_values_stay_unknown_when_thinned(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    for number in range(8):
        sample = Sample("system", "d_window", None if number < 4 else 0.5)
        writer.write_batch(record(number, sample, run_id=run_id))
    series = reader.series(run_id, "system", "d_window", max_points=2)
    assert series is not None
    assert np.isnan(series.value[0])
    assert np.isnan(series.low[0])
    assert series.value[1] == 0.5
    assert series.n.tolist() == [0, 4]


def test_matrices_are_thinned_to_one_a_minute_decisions_stay(
    address: str, writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    for number in range(60):
        matrix = Matrix("selectivity", "selectivity", ("a",), ("q",), [[number]], n=number)
        batch = record(number, run_id=run_id, time=START + 4 * number)
        made = (decision(number + 1, number),)
        writer.write_batch(replace(batch, matrices=(matrix,), decisions=made))
    writer.retention(run_id, START + 240, keep_raw_s=60)
    engine = open_for_reading(parse_url(address))
    with engine.connect() as connection:
        mine = select(MatrixRow.batch_id).where(MatrixRow.run_id == run_id)
        kept = sorted(connection.scalars(mine))
    engine.dispose()
    old = [batch for batch in kept if 4 * batch < 180]
    assert len(old) == math.ceil(180 / 60) + 2  # the first one; START is not at a full minute
    assert old[0] == 0
    assert kept[len(old) :] == list(range(45, 60))
    stored_then = reader.matrix(run_id, "selectivity", at=59)
    assert stored_then is not None
    assert stored_then.matrix.values == [[59]]
    assert reader.decision_counts(run_id).stored == 60


def test_retention_of_one_run_leaves_the_others_alone(
    address: str, writer: EngineWriter, run_id: str
) -> None:
    begin(writer, f"{run_id}-other")
    write(writer, run_id, [1.0, 2.0])
    write(writer, f"{run_id}-other", [1.0, 2.0])
    rolled_up(writer, run_id)
    assert len(stored(address, f"{run_id}-other", SampleRow)) == 2


def test_batches_go_on_after_everything_was_rolled_up(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    write(writer, run_id, [0.0, 0.5])
    rolled_up(writer, run_id)
    sample = Sample("system", "n_tuples", 7.0)
    writer.write_batch(record(2, sample, run_id=run_id, time=START + 0.8))
    rolled_up(writer, run_id)
    series = reader.series(run_id, "system", "n_tuples")
    assert series is not None
    assert (series.n.tolist(), series.high.tolist()) == ([3], [7.0])
    assert reader.values(run_id) == {"system": {"n_tuples": 7.0}}


def test_decisions_that_changed_nothing_keep_both_sides_and_what_others_are_retaken_from(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    ways = [{"values": {"a": n}} for n in range(50)]
    of_before = {"profile": ways}
    detail = {"mu": 0.1, "paths": ways, "trials": ways, "rolled": "no"} | of_before
    verdicts = ["kept", "switched", "below_threshold", "kept", "kept"]
    for number, verdict in enumerate(verdicts):
        made = replace(decision(number + 1, number, verdict), detail=detail)
        writer.write_batch(replace(record(number, run_id=run_id), decisions=(made,)))
    before = reader.decisions(run_id)[::-1]
    counts = reader.decision_counts(run_id)
    for _ in range(2):
        writer.retention(run_id, START + 5.5, keep_raw_s=1.0)  # batches 0 to 3
        after = reader.decisions(run_id)[::-1]
        short = {name: detail[name] for name in ("mu", "trials", "rolled")}
        rolled = {**short, "rolled_up": ["paths", "profile"]}
        assert [one.decision.detail for one in after] == [rolled, detail, rolled, rolled, detail]
    plain = [replace(one.decision, detail=None) for one in after]
    assert plain == [replace(one.decision, detail=None) for one in before]
    assert reader.decision_counts(run_id) == counts


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=2 * SHORT), max_size=5))
def test_rolling_up_a_detail_keeps_what_is_short_and_names_the_rest(detail: dict[str, str]) -> None:
    found = rolled_up_detail(detail)
    long = {name for name, text in detail.items() if len(dump_json(text)) > SHORT}
    gone = long - {"trials"}
    if not gone or "rolled_up" in detail:
        assert found is None
    else:
        kept = {name: text for name, text in detail.items() if name not in gone}
        assert found == {**kept, "rolled_up": sorted(gone)}


def test_what_the_newest_decision_of_a_unit_says_stays_until_there_is_a_newer_one(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    detail = {"headroom": [{"words": "a overtakes b", "missing": 0.1}] * 20}
    asked = ((0, "idle"), (0, "busy"), (1, "busy"), (1, "busy"), (5, "busy"), (9, "idle"))

    def whole(upto: int, now: int) -> list[tuple[int, str]]:
        for number in range(upto):
            made = [
                replace(decision(seq, number, unit=unit), detail=detail)
                for seq, (batch, unit) in enumerate(asked, 1)
                if batch == number
            ]
            writer.write_batch(replace(record(number, run_id=run_id), decisions=tuple(made)))
        writer.retention(run_id, START + 1 + now, keep_raw_s=0.0)
        found = (one.decision for one in reader.decisions(run_id))
        return sorted((one.batch, one.unit_id) for one in found if one.detail == detail)

    assert whole(2, 100) == [(0, "idle"), (1, "busy"), (1, "busy")]
    assert whole(6, 100) == [(0, "idle"), (5, "busy")]
    assert whole(10, 100) == [(5, "busy"), (9, "idle")]


def test_a_tidying_goes_on_from_where_an_earlier_process_came_to(
    address: str, writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    detail = {"paths": ["long"] * 100}
    for number in range(100):
        made = replace(decision(number + 1, number), detail=detail)
        one = replace(record(number, run_id=run_id), decisions=(made,))
        writer.write_batch(one)
        if number == 79:
            writer.retention(run_id, START + 71, keep_raw_s=0.0)
    seen: list[Any] = []
    with open_engine_writer(address) as later:
        engine = later._engine
        event.listen(engine, "before_cursor_execute", lambda *told: seen.append(told[2:4]))
        later.retention(run_id, START + 81, keep_raw_s=0.0)
    looked = [parameters for text, parameters in seen if text.startswith("SELECT decisions.detail")]
    assert len(looked) == 1 + 10  # the newest one of the last time, and those since
    rolled = [
        one.decision.batch for one in reader.decisions(run_id) if one.decision.detail != detail
    ]
    assert sorted(rolled) == list(range(80))


def test_the_matrix_a_plan_was_changed_on_stays(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    for number in range(30):
        matrix = Matrix("selectivity", "selectivity", ("a",), ("q",), [[number]], n=number)
        told = (matrix,) if number % 2 == 0 else ()
        made = decision(number + 1, number, "switched" if number == 13 else "kept")
        one = record(number, run_id=run_id, time=START + 100 + number)  # within a minute
        writer.write_batch(replace(one, matrices=told, decisions=(made,)))
    writer.retention(run_id, START + 200, keep_raw_s=0.0)
    seen = {at: reader.matrix(run_id, "selectivity", at) for at in (11, 12, 13, 27, 29)}
    values = {at: None if m is None else m.matrix.values[0][0] for at, m in seen.items()}
    assert values == {11: 0, 12: 12, 13: 12, 27: 12, 29: 28}


def test_batches_whose_commit_is_forgotten_are_not_written_twice(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    cursor = reader.cursor()
    write(writer, run_id, [0.0, 1.0, 2.0])
    newest = reader.cursor()
    rolled_up(writer, run_id)
    assert reader.cursor() == newest
    assert [change.batch_id for change in reader.changes(cursor)] == [2]
    assert not writer.write_batch(record(0, run_id=run_id))
    writer.write_batch(record(3, run_id=run_id))
    assert [change.batch_id for change in reader.changes(newest)] == [3]


def test_a_store_with_rows_of_a_second_reads_as_before(
    address: str, writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    write(writer, run_id, [10.0 * (n // 4) + 0.25 * (n % 4) for n in range(40)])
    rolled_up(writer, run_id)
    engine = open_for_writing(parse_url(address), create=False)
    with engine.begin() as connection:
        mine = select(SeriesRow.id).where(SeriesRow.run_id == run_id)
        of_it = (RollupRow.series_id.in_(mine), RollupRow.resolution_s == 10)
        connection.execute(update(RollupRow).where(*of_it).values({"resolution_s": 1}))
    engine.dispose()
    for number in range(40, 48):
        sample = Sample("system", "n_tuples", float(number))
        writer.write_batch(record(number, sample, run_id=run_id, time=START + 100 + number))
    rolled_up(writer, run_id)
    series = reader.series(run_id, "system", "n_tuples")
    assert series is not None
    assert series.n.tolist() == [4] * 10 + [8]
    assert np.all(np.diff(series.batch) > 0)
    assert reader.stretch(run_id, 9) == RollupSpan(START + 20, 1, 4, 11)
    assert reader.values(run_id, 9)["system"]["n_tuples"] == 9.5
    assert reader.stretch(run_id, 41) == RollupSpan(START + 140, 10, 8, 47)
    assert reader.values(run_id, 41)["system"]["n_tuples"] == 43.5
