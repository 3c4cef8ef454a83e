"""i-stream, d-stream, r-stream against their definitions (card A2), and its examples (A4)."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.kinds.to_stream import ToStreamOp
from backend.operators.network.relational import to_stream
from tests.oracles import network_operators as oracle
from tests.oracles.network_operators import Element, Relation, relations, streamed
from tests.unit.network.playing import FIELDS, LAST, Player, cuts, fields_of, histories

Word = Literal["istream", "dstream", "rstream"]
WORDS: list[Word] = ["istream", "dstream", "rstream"]
A = fields_of("a int")


def expected(word: Word, history: list[Element]) -> list[Element]:
    """The stream by its definition."""
    found = relations(history, LAST + 1)
    if word == "rstream":
        return streamed(found)
    twin = oracle.istream if word == "istream" else oracle.dstream
    before: list[Relation] = [Counter(), *found[:-1]]
    return streamed([twin(now, then) for now, then in zip(found, before, strict=True)])


@pytest.mark.parametrize("word", WORDS)
@given(history=histories(FIELDS), beats=cuts())
def test_streams(word: Word, history: list[Element], beats: list[tuple[int, int]]) -> None:
    """Equal element by element: the order within a tick is canonical."""
    found = Player(ToStreamOp(word), [FIELDS], FIELDS).play([history], beats)
    assert found == expected(word, history)


@given(histories(FIELDS), cuts())
def test_a_relation_is_what_came_less_what_went(
    history: list[Element], beats: list[tuple[int, int]]
) -> None:
    """R(τ) = R(τ-1) - Dstream(τ) + Istream(τ)."""
    came = Player(ToStreamOp("istream"), [FIELDS], FIELDS).play([history], beats)
    went = Player(ToStreamOp("dstream"), [FIELDS], FIELDS).play([history], beats)
    changes = [Element(e.row, e.tau, -1) for e in went] + came
    assert relations(changes, LAST + 1) == relations(history, LAST + 1)


def test_equal_tuples_cancel_within_a_tick() -> None:
    """Istream over [Rows 1] with 7@1, 7@2, 8@3 gives 7@1, 8@3 only (card A4)."""
    window = [
        Element((7,), 1, 1),
        Element((7,), 2, 1),
        Element((7,), 2, -1),
        Element((8,), 3, 1),
        Element((7,), 3, -1),
    ]
    found = Player(ToStreamOp("istream"), [A], A).play([window], [(2, 5), (4, 0)])
    assert found == [Element((7,), 1, 1), Element((8,), 3, 1)]


def test_a_tuple_comes_as_often_as_there_are_more() -> None:
    """Multiplicities count (card A4)."""
    window = [Element((7,), 1, 1)] * 3 + [Element((7,), 1, -1), Element((7,), 2, 1)]
    found = Player(ToStreamOp("istream"), [A], A).play([window], [(9, 0)])
    assert found == [Element((7,), 1, 1)] * 2 + [Element((7,), 2, 1)]


def test_a_relation_is_not_told_at_more_ticks_than_memory_holds() -> None:
    player = Player(ToStreamOp("rstream"), [A], A)
    player.run(player.made(), [[Element((7,), 0, 1), Element((8,), 0, 1)]], 1)
    n = to_stream.MOST_TOLD // 2
    with pytest.raises(ValueError, match=f"ticks 1 to {n + 1} comes to {2 * n + 2:,} tuples"):
        player.run(player.made(), [[]], n + 2)


@pytest.mark.parametrize("word", WORDS)
def test_a_tick_is_told_when_it_is_over(word: Word) -> None:
    """More of it may come with a later call."""
    player = Player(ToStreamOp(word), [A], A)
    assert player.run(player.made(), [[Element((7,), 0, 1), Element((8,), 0, 1)]], 0) == []
    found = player.run(player.made(), [[Element((7,), 0, -1), Element((8,), 1, -1)]], 1)
    assert [e for e in found if e.tau == 0] == ([] if word == "dstream" else [Element((8,), 0, 1)])
    later = player.run(player.made(), [[]], 2)
    assert later == ([Element((8,), 1, 1)] if word == "dstream" else [])


def test_a_relation_is_told_at_ticks_without_arrivals() -> None:
    """From the first tick on, up to the heartbeat, also when nothing comes."""
    player = Player(ToStreamOp("rstream"), [A], A, begin=1000)
    operator = player.made()
    assert player.run(operator, [[]], 1000) == []
    assert player.run(operator, [[]], 1002) == []
    found = player.run(operator, [[Element((7,), 1002, 1), Element((7,), 1004, 1)]], 1006)
    assert [e.tau for e in found] == [1002, 1003, 1004, 1004, 1005, 1005]
    assert [e.tau for e in player.run(player.made(), [[]], 1007)] == [1006, 1006]


@given(st.integers(10**6, 10**12))
def test_long_ticks_without_tuples_take_nothing(gap: int) -> None:
    player = Player(ToStreamOp("rstream"), [A], A)
    history = [Element((7,), 1, 1), Element((7,), 2, -1), Element((8,), gap, 1)]
    assert player.run(player.made(), [history], gap + 1) == [
        Element((7,), 1, 1),
        Element((8,), gap, 1),
    ]


@pytest.mark.parametrize("word", WORDS)
def test_state_goes_with_its_tuples(word: Word) -> None:
    history = [Element((n,), 0, 1) for n in range(500)] + [Element((n,), 0, -1) for n in range(500)]
    player = Player(ToStreamOp(word), [A], A)
    assert player.play([history], [(0, 700), (2, 0)]) == []
    assert player.made().n_tuples == 0
    assert player.made().n_bytes == 0
