"""What queries wait for, since when, and when that is told."""

from __future__ import annotations

from backend.operators.network.core.reports import ClockReport
from backend.systems.stream.waiting import Wait, Waits

A, BOTH = frozenset("A"), frozenset("AB")
QUERIES = {"alone": A, "join": BOTH, "both": BOTH}


def clocks(beat: int, newest: int, slowest: str) -> dict[frozenset[str], ClockReport]:
    """Of A alone, which is never behind, and of A and B."""
    alone = ClockReport(newest, newest, A)
    return {A: alone, BOTH: ClockReport(beat, newest, frozenset(slowest))}


def test_a_wait_is_told_once_with_its_stream_and_when_it_is_over() -> None:
    waits = Waits()
    assert not waits.ran(0, 0.0, clocks(0, 3, "B"), QUERIES)
    assert waits.waits == {BOTH: Wait(("B",), 0, 0.0)}
    assert not waits.ran(1, 9_000.0, clocks(0, 9, "B"), QUERIES)
    (told,) = waits.ran(2, 12_000.0, clocks(0, 20, "B"), QUERIES)
    assert (told.kind, told.title, told.severity) == ("input", "queries wait for B", "warning")
    assert told.detail.startswith("both, join: since batch 0, for 12 s")
    assert waits.reported == {BOTH: Wait(("B",), 0, 12.0)}
    assert not waits.ran(3, 13_000.0, clocks(0, 21, "B"), QUERIES)
    (over,) = waits.ran(4, 14_000.0, clocks(21, 30, "A"), QUERIES)
    assert (over.title, over.detail) == ("queries wait no more for B", "both, join")
    assert not waits.reported


def test_a_stream_that_speaks_but_lags_is_waited_for_as_long_as_it_is_behind() -> None:
    """Since the others were where it is now."""
    waits = Waits()
    for batch in range(30):
        waits.ran(batch, 1_000.0 * batch, clocks(batch, 20 + batch, "B"), QUERIES)
    assert waits.waits[BOTH] == Wait(("B",), 10, 19.0)


def test_streams_of_one_time_wait_for_nothing() -> None:
    waits = Waits()
    for batch in range(3):
        assert not waits.ran(batch, 60_000.0 * batch, clocks(batch, batch + 2, "AB"), QUERIES)
    assert not waits.waits
