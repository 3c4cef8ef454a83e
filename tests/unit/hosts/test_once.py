"""Knobs that do not act in a run that takes what is there and ends."""

from __future__ import annotations

import pytest

from backend.hosts.spark.session.session import patient
from backend.hosts.spark.start.once import nothing_decided, taken_once
from backend.model.schema import Schema
from backend.workloads.spec import SourceSpec, StreamSpec


def streams(rate: float | None, format: str = "csv") -> list[StreamSpec]:
    source = SourceSpec(format, {"path": "/data"})
    return [StreamSpec("S", Schema.parse("a int"), source, None, rate)]


NO_RATE = "with --once tuples come as fast as they can, at no rate (--set rate=… keeps one)"
NO_LOOP = "with --once a stream ends with its last tuple, whatever at_end says"


def test_a_rate_is_kept_where_it_was_asked_for() -> None:
    assert taken_once({}, frozenset(), streams(None)).warnings == ()
    assert taken_once({}, frozenset(), streams(0.0)).warnings == ()
    found = taken_once({"mu": 0.2}, frozenset({"mu"}), streams(200.0))
    assert (found.keeps_rate, found.warnings) == (False, (NO_RATE,))
    found = taken_once({"rate": 100}, frozenset({"rate"}), streams(200.0))
    assert (found.keeps_rate, found.warnings) == (True, ())
    found = taken_once({"source:S/rate": 9}, frozenset({"source:S/rate"}), streams(None))
    assert (found.keeps_rate, found.warnings) == (True, ())
    found = taken_once({"at_end": "loop", "rate": 5}, frozenset(), streams(None))
    assert found.warnings == (NO_RATE, NO_LOOP)


def test_knobs_without_an_occasion_are_told_of_at_the_end() -> None:
    said = nothing_decided(frozenset({"mu"}), 0, 6)
    assert said is not None
    assert said.startswith("no plan was reconsidered, 6 tuples gave no occasion: knobs that")
    assert nothing_decided(frozenset({"asc.S/mu"}), 1, 90_000) is None
    assert nothing_decided(frozenset({"source:S/rate", "at_end"}), 0, 6) is None
    assert nothing_decided(frozenset(), 0, 6) is None


def test_streams_that_spark_reads_wait_for_no_rate() -> None:
    both = [*streams(None), *streams(None, "kafka")]
    found = taken_once({"rate": 100}, frozenset({"rate"}), both)
    assert not found.keeps_rate
    assert found.warnings == (NO_RATE.replace("--set rate=… keeps one", "Spark reads S"),)


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("spark://h:7077", "spark://h:7077"),
    ],
)
def test_a_local_master_tries_a_task_again(master: str, expected: str) -> None:
    assert patient(master) == expected
