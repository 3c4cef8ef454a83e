"""Values of moments that were rolled up: all of them of the same stretch, per batch."""

from __future__ import annotations

from itertools import accumulate, count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.store import EngineWriter, Reader
from storage.tables.rows import RollupSpan
from storage.vocabulary.records import BatchRecord, Sample
from tests.contract.store_builders import START, batch, begin, record
from tests.oracles.store import SlowStore

NUMBERS = count(1)
#: Later than every sample, in Unix s.
FAR = 1e11
ALWAYS = ("system", "batch_ms")
AT_TIMES = (("query:q", "matched_tuples"), ("query:q", "matched_total"), ("asc:a", "drop_prob"))
WAIT = st.sampled_from([0.3, 1.0, 4.0, 11.0, 61.0])
VALUE = st.one_of(st.none(), st.floats(-1e3, 1e3))
STEPS = st.lists(
    st.tuples(WAIT, VALUE, st.tuples(*[st.one_of(st.just("absent"), VALUE)] * len(AT_TIMES))),
    min_size=1,
    max_size=14,
)


@pytest.fixture
def run_id(writer: EngineWriter) -> str:
    name = f"run-{next(NUMBERS)}"
    begin(writer, name)
    return name


def told(values: dict[str, dict[str, float | None]]) -> dict[tuple[str, str], float | None]:
    return {(entity, name): value for entity, own in values.items() for name, value in own.items()}


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, upto=st.integers(0, 14))
def test_a_rolled_up_moment_is_as_the_slow_twin_says(
    writer: EngineWriter,
    reader: Reader,
    steps: list[tuple[float, float | None, tuple[object, ...]]],
    upto: int,
) -> None:
    run_id, slow = f"run-{next(NUMBERS)}", SlowStore()
    begin(writer, run_id)
    times = [START + after for after in accumulate(wait for wait, *_ in steps)]
    for number, (time, (_, value, others)) in enumerate(zip(times, steps, strict=True)):
        given_ = zip((ALWAYS, *AT_TIMES), (value, *others), strict=True)
        samples = [Sample(*key, one) for key, one in given_ if one != "absent"]  # type: ignore[arg-type]  # mixed
        one = record(number, *samples, run_id=run_id, time=time)
        writer.write_batch(one)
        slow.write(one)
    last = len(steps) - 1
    rolled = min(upto, last)
    writer.retention(run_id, times[rolled] + 1e-3, 0.0, FAR)
    behind = [n for n in range(last) if n <= rolled]
    for at in behind:
        batches = [n for n in slow.stretch(at, 10) if n <= rolled]
        begins = times[at] // 10 * 10
        assert reader.stretch(run_id, at) == RollupSpan(begins, 10, len(batches), batches[-1])
    for at in range(rolled + 1, last + 1):
        assert reader.stretch(run_id, at) is None
        assert reader.values(run_id, at) == slow.values(at)
    until_then = SlowStore(slow.entries[: rolled + 1])
    for at in behind:
        expected = told(until_then.averages(at, 10))
        assert told(reader.values(run_id, at)) == pytest.approx(expected)


def test_what_queries_match_never_adds_up_to_more_than_there_is(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    """Each tuple satisfies one of two queries, which take turns: half a batch each."""
    for number in range(60):
        query = f"query:q{number % 2}"
        samples = (Sample(query, "matched_tuples", 10.0), Sample("system", "n_tuples", 10.0))
        writer.write_batch(record(number, *samples, run_id=run_id, time=START + number))
    writer.retention(run_id, FAR, 0.0, FAR)
    for at in range(59):
        values = reader.values(run_id, at)
        matched = [values[f"query:q{n}"]["matched_tuples"] for n in (0, 1)]
        assert (matched, values["system"]["n_tuples"]) == ([5.0, 5.0], 10.0)


def test_what_did_not_happen_in_a_stretch_is_0_there(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    for number in range(40):
        matched = (Sample("query:q", "matched_tuples", 3.0),) if number < 15 else ()
        samples = (Sample("system", "n_tuples", 10.0), *matched)
        writer.write_batch(record(number, *samples, run_id=run_id, time=START + number))
    writer.retention(run_id, FAR, 0.0, FAR)
    seen = {at: reader.values(run_id, at)["query:q"]["matched_tuples"] for at in (9, 15, 25, 39)}
    assert seen == {9: 3.0, 15: 1.5, 25: 0.0, 39: 0.0}


def test_the_first_seconds_of_a_run_show_the_first_row(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    for number in range(30):
        sample = Sample("system", "n_tuples", float(number))
        writer.write_batch(record(number, sample, run_id=run_id, time=START + 3 + number))
    writer.retention(run_id, FAR, 0.0, FAR)
    assert [reader.values(run_id, at)["system"]["n_tuples"] for at in (0, 3, 6)] == [3.0] * 3
    assert reader.stretch(run_id, 0) == RollupSpan(START, 10, 7, 6)
    for at, values in ((0, [3.0]), (6, [3.0]), (7, [3.0, 11.5]), (16, [3.0, 11.5])):
        series = reader.series(run_id, "system", "n_tuples", until_batch=at)
        assert series is not None
        assert series.value.tolist() == values
        assert series.batch.tolist() == [6, at][-len(values) :]


def test_the_newest_batch_is_itself_whatever_was_rolled_up(
    writer: EngineWriter, reader: Reader, run_id: str
) -> None:
    """As where an hour passed without a batch: what is live is no average."""
    for number in range(5):
        sample = Sample("system", "n_tuples", float(number))
        writer.write_batch(record(number, sample, run_id=run_id, time=START + number))
    writer.retention(run_id, FAR, 0.0, FAR)
    for at in (None, 4, 9):
        assert reader.stretch(run_id, at) is None
        assert reader.values(run_id, at) == {"system": {"n_tuples": 4.0}}


@pytest.mark.parametrize("keep_fine_s", [FAR, 100.0])
def test_tuples_before_a_batch_are_known_for_the_whole_run(
    writer: EngineWriter, reader: Reader, run_id: str, keep_fine_s: float
) -> None:
    numbers = [7 * n % 13 for n in range(80)]
    totals = list(accumulate(numbers))
    for number, (n, total) in enumerate(zip(numbers, totals, strict=True)):
        done = batch(number, START + 3 * number, n)
        samples = (Sample("system", "tuples_total", float(total)),)
        writer.write_batch(BatchRecord(run_id, done, samples=samples))
    writer.retention(run_id, START + 180, 0.0, keep_fine_s)
    assert [reader.tuples_before(run_id, at) for at in range(81)] == [0, *totals]
    assert reader.tuples_before(run_id, 500) == totals[-1]
