"""How far streams are apart in event time, and who waits for whom."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.event_time import build_event_time
from storage.tables.rows import StoredInputBatch
from storage.vocabulary.records import Entity, InputBatch

START = datetime(2013, 1, 1)
TIMES = st.one_of(st.none(), st.integers(0, 99))


def row(batch: int, stream: str, text: str) -> StoredInputBatch:
    return StoredInputBatch(batch, InputBatch(stream, 1, 0, None, text))


def at(seconds: int) -> str:
    return str(START + timedelta(seconds=seconds))


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, 99)), min_size=3, max_size=3), min_size=1
    ),
    st.booleans(),
)
def test_lags_are_to_the_farthest_time_so_far(
    drawn: list[list[int | None]], is_clock: bool
) -> None:
    """Beside the greatest time of each stream, looked for anew at each batch. None: no tuple."""
    words = at if is_clock else str
    stored = [
        row(batch, "NEW"[place], "" if time is None else words(time))
        for batch, times in enumerate(drawn)
        for place, time in enumerate(times)
    ]
    view = build_event_time(stored, ())
    known = [p for p in range(3) if any(times[p] is not None for times in drawn)]
    if len(known) < 2:
        assert view is None
        return
    assert view is not None
    assert view.is_clock == is_clock
    lags = {lag.name: lag.lags for lag in view.lags}
    assert set(lags) == {"NEW"[place] for place in known}
    for batch in range(len(drawn)):
        best = [
            max((t[p] for t in drawn[: batch + 1] if t[p] is not None), default=None)  # type: ignore[type-var]
            for p in range(3)
        ]
        farthest = max((b for b in best if b is not None), default=None)
        for place in known:
            own = best[place]
            expected = None if own is None or farthest is None else float(farthest - own)
            assert lags["NEW"[place]][batch] == expected


def test_who_waits_for_which_stream_is_told_of_a_single_stream_too() -> None:
    facts = {"waits_for": ["North", "East"], "waits_since": 7}
    entities = [
        Entity("q1", "query", "alike", facts, role="query"),
        Entity("q2", "query", "damp", {"waits_for": []}, role="query"),
    ]
    view = build_event_time([row(1, "North", at(3))], entities)
    assert view is not None
    ((_, name, streams, since),) = view.waiting
    assert (name, streams, since) == ("alike", ("North", "East"), 7)
    assert view.watermark == ""


def test_the_watermark_is_of_the_slowest_stream() -> None:
    view = build_event_time([row(1, "S", at(5)), row(1, "W", at(100))], ())
    assert view is not None
    assert view.watermark == "watermark 2013-01-01 00:00:05, of S: 1 min 35 s behind W"
