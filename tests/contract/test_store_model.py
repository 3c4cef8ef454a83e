"""The store against its slow twin: random histories, repeats, restarts; read as of any batch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.store import EngineWriter, Reader, open_engine_writer
from storage.vocabulary.records import BatchRecord, Entity, Matrix, Sample
from tests.contract.store_builders import (
    START,
    batch,
    decision,
    knob,
    new_run,
    plan,
)
from tests.oracles.store import SlowStore

SERIES = (
    ("system", "batch_ms"),
    ("query:q", "matched_tuples"),
    ("query:q", "matched_total"),
    ("asc:a", "drop_prob"),
)
NUMBERS = count(1)
UNITS = ("", "asc.S", "b")


@dataclass(frozen=True)
class Step:
    """What one record carries, as far as chance decides; kind: batch, boundary or repeat."""

    kind: str
    skip: int
    values: tuple[float | None, ...]
    query: str | None
    matrix: int | None
    planned: bool
    decided: int
    turned: bool
    restart: bool
    unit: str


VALUE = st.one_of(st.none(), st.floats(-1e6, 1e6, allow_nan=False))
STEP = st.builds(
    Step,
    kind=st.sampled_from(["batch", "batch", "batch", "boundary", "repeat"]),
    skip=st.sampled_from([1, 1, 1, 2]),
    values=st.tuples(*[st.one_of(st.just(-1.5), VALUE)] * len(SERIES)),
    query=st.sampled_from([None, None, "active", "paused", "removed"]),
    matrix=st.one_of(st.none(), st.integers(0, 2)),
    planned=st.booleans(),
    decided=st.integers(0, 2),
    turned=st.booleans(),
    restart=st.sampled_from([False] * 9 + [True]),
    unit=st.sampled_from(UNITS),
)


class History:
    """Turns steps into records with numbers that grow in each unit."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.last = -1
        self.numbers: Counter[tuple[str, str]] = Counter()

    def record(self, step: Step, moment: float) -> BatchRecord:
        number = None
        if step.kind == "batch":
            self.last += step.skip
            number = self.last
        then, unit = max(self.last, 0), step.unit
        samples = [
            Sample(*key, value)
            for key, value in zip(SERIES, step.values, strict=True)
            if value != -1.5
        ]
        new = {
            "samples": tuple(samples),
            "entities": () if step.query is None else (_query(step.query, then),),
            "matrices": () if step.matrix is None else (_matrix(step.matrix, unit),),
            "plans": (plan(self._next("plan", unit), then, unit),) if step.planned else (),
            "decisions": tuple(
                decision(self._next("seq", unit), then, unit=unit) for _ in range(step.decided)
            ),
            "knobs": (knob("mu", 0.5, self._next("knob", unit), then + 1, unit),)
            if step.turned
            else (),
        }
        return BatchRecord(self.run_id, batch(number, moment), **new)  # type: ignore[arg-type]  # mixed

    def _next(self, name: str, unit: str) -> int:
        self.numbers[name, unit] += 1
        return self.numbers[name, unit]


def _query(state: str, then: int) -> Entity:
    removed = then + 1 if state == "removed" else None
    return Entity("query:q", "query", "q", {"state": state}, since_batch=1, removed_batch=removed)


def _matrix(content: int, unit: str) -> Matrix:
    cells = [[content]]
    return Matrix("selectivity", "selectivity", ("a",), ("q",), cells, n=content, unit_id=unit)


def check_same(reader: Reader, run_id: str, slow: SlowStore) -> None:
    """Every reading, now and as of each batch, is the twin's."""
    last = slow.last_batch()
    assert reader.last_batch(run_id) == last
    for at in (None, *range(-1, (last or 0) + 3)):
        assert reader.values(run_id, at) == slow.values(at)
        assert list(reader.entities(run_id, at)) == slow.entities(at)
        plans = {unit: slow.plan(at, unit) for unit in UNITS}
        assert reader.plans_at(run_id, at) == {u: plan for u, plan in plans.items() if plan}
        assert {(k.scope, k.name): k for k in reader.knobs(run_id, at)} == slow.knobs(at)
        for unit in (None, *UNITS):
            found = reader.decisions(run_id, until=at, limit=1000, unit=unit)
            assert [entry.decision for entry in found] == slow.decisions(at, unit)
            counts = reader.decision_counts(run_id, at, unit)
            newest = {d.unit_id: d.seq for d in reversed(slow.decisions(at, unit))}
            assert counts.stored == len(slow.decisions(at, unit))
            assert counts.evaluated == sum(newest.values())
        for unit in UNITS:
            stored = reader.matrix(run_id, "selectivity", at, unit)
            assert (stored and stored.matrix) == slow.matrix("selectivity", at, unit)
            assert reader.plan_at(run_id, at, unit) == plans[unit]


def check_series(reader: Reader, run_id: str, slow: SlowStore) -> None:
    """Every series, whole and in part, is the twin's."""
    last = slow.last_batch() or 0
    for first, until in ((-1, last), (last // 2, last), (0, last // 2)):
        for entity, name in SERIES:
            expected = slow.series(entity, name, first, until)
            series = reader.series(run_id, entity, name, since_batch=first, until_batch=until)
            if series is None:
                assert expected == []
            else:
                values = [None if v != v else v for v in series.value.tolist()]
                assert list(zip(series.batch.tolist(), values, strict=True)) == expected


def play(writer: EngineWriter, address: str, run_id: str, steps: list[Step]) -> SlowStore:
    """Write a history to the store and to its twin; both accept and refuse alike."""
    slow, history = SlowStore(), History(run_id)
    opened = [writer]
    for place, step in enumerate(steps):
        written = [record for _, record in slow.entries]
        record = history.record(step, START + place)
        if step.kind == "repeat" and written:
            record = replace(record, batch=written[step.skip % len(written)].batch)
        if step.restart:
            opened.append(open_engine_writer(address))
        assert opened[-1].write_batch(record) == slow.write(record)
    for extra in opened[1:]:
        extra.close()
    return slow


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(STEP, max_size=10))
def test_any_history_reads_as_its_slow_twin(
    address: str, writer: EngineWriter, reader: Reader, steps: list[Step]
) -> None:
    run_id = f"model-{next(NUMBERS)}"
    writer.begin_run(new_run(run_id))
    slow = play(writer, address, run_id, steps)
    check_same(reader, run_id, slow)
    check_series(reader, run_id, slow)
