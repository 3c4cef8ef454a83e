"""What the parts of a run take of memory: limits, the knobs that set them, what happens there."""

from __future__ import annotations

import pytest

from dashboard.views.book import Book
from dashboard.views.takes import MIB, TakenLine, bar_shares, build_takes
from storage.vocabulary.records import Entity, Knob


def limit(name: str, value: float, scope: str) -> Knob:
    return Knob(name, "float", value, 0.0, "bytes", "", scope=scope)


NETWORK = Entity("s1", "system", "network", unit_id="s1", role="system")


@pytest.mark.parametrize(
    ("allowed", "full"), [(0, False), (100, True), (101, False), (99, True)], ids=str
)
def test_state_at_its_limit_says_that_batches_wait(allowed: float, full: bool) -> None:
    knobs = [limit("state_limit_bytes", allowed, "s1")]
    (line,) = build_takes(Book([NETWORK]), {"s1": {"state_bytes": 100.0}}, knobs).kinds
    assert line.limit == (allowed or None)
    assert line.full is full
    assert ("the next batch waits" in line.at_limit) is bool(allowed)


def test_bitmaps_of_several_units_are_told_apart_and_refuse_queries() -> None:
    sizes = {"a": 2 * MIB, "b": MIB // 2}
    book = Book(
        Entity(f"{unit}/p", "operator", "p", {"bitmap_bytes": size}, unit_id=unit)
        for unit, size in sizes.items()
    )
    knobs = [limit("bitmap_memory", 2.0, "a"), limit("bitmap_memory", 1.0, "b")]
    lines = build_takes(book, {}, knobs, {"a": "Flights", "b": "Cars"}).kinds
    assert [(one.note, one.full) for one in lines] == [("Flights", True), ("Cars", False)]
    assert {one.at_limit for one in lines} == {"queries that need more are refused"}


def test_a_full_window_forgets_and_names_the_knob_of_its_unit() -> None:
    book = Book(Entity(unit, "monitor", unit, unit_id=unit, role="profile") for unit in ("a", "q"))
    knobs = [limit("tau_tuples", 500, "a"), limit("window_tuples", 80, "q")]
    values = {"a": {"window_tuples": 500.0}, "q": {"window_tuples": 80.0}}
    lines = build_takes(book, values, knobs, {"a": "Flights", "q": "Cars"}).kinds
    assert [one.name for one in lines] == ["a · Flights", "q · Cars"]
    assert [(one.knob, one.limit, one.full) for one in lines] == [
        ("tau_tuples", 500, False),
        ("window_tuples", 80, False),
    ]
    assert {one.at_limit for one in lines} == {"the oldest go as others come"}


def test_what_is_called_alike_is_told_apart_by_its_operator() -> None:
    book = Book(
        [
            Entity("w", "operator", "[Range 1 Hour]", role="window"),
            Entity("s", "synopsis", "the window", {"owners": ["gone", "w"]}, role="synopsis"),
            Entity("t", "synopsis", "the window", {"owners": ["gone"]}, role="synopsis"),
        ]
    )
    values = {"s": {"state_bytes": 2.0}, "t": {"state_bytes": 1.0}}
    notes = [one.note for one in build_takes(book, values, []).holders]
    assert notes == ["synopsis of [Range 1 Hour]", "synopsis"]


def taken(value: float, unit: str, limit: float | None = None) -> TakenLine:
    return TakenLine("", "a part", "", value, limit, unit, "")


def test_what_has_no_limit_and_is_alone_in_its_unit_has_no_bar() -> None:
    spool = taken(21, "tuples")
    assert bar_shares([spool, taken(100, "bytes"), taken(50, "bytes")]) == [None, 1.0, 0.5]
    assert bar_shares([spool, taken(84, "tuples", 84)]) == [0.25, 1.0]
    assert bar_shares([taken(21, "tuples", 84), taken(99, "bytes", 33)]) == [0.25, 1.0]
    assert bar_shares([taken(0, "bytes"), taken(0, "bytes")]) == [0.0, 0.0]
    assert bar_shares([]) == []
