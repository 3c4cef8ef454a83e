"""Operators whose tables, lists and heaps are large: what few tuples do not show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from backend.model.schema import Attribute
from backend.operators.network.kinds.aggregate import AggregateCall, AggregateOp
from backend.operators.network.kinds.antijoin import AntiJoinOp
from backend.operators.network.kinds.distinct import DistinctOp
from tests.oracles import network_operators as oracle
from tests.oracles.network_operators import Element, Row, relations
from tests.unit.network.playing import Player, fields_of

FIELDS = fields_of("g int, a int, x double, s string")
TICKS = 40
BEATS = [(beat, 2) for beat in range(3, TICKS, 7)] + [(TICKS, 0)]


def random_row(random: np.random.Generator) -> Row:
    """Of some groups; NULLs among the values."""
    values: tuple[Any, ...] = (
        int(random.integers(-1000, 1000)),
        float(random.normal() * 10.0 ** random.integers(-20, 20)),
        f"{random.integers(1000):x}",
    )
    rest = tuple(None if random.random() < 0.05 else value for value in values)
    return (int(random.integers(3)), *rest)


def busy(seed: int, per_tick: int, row: Any = random_row) -> list[Element]:
    """Grows for half of the time, then shrinks; anything may go, old or new."""
    random = np.random.default_rng(seed)
    bag: list[Row] = []
    found: list[Element] = []
    for tau in range(TICKS):
        share = 0.3 if tau < TICKS // 2 else 0.65
        for _ in range(per_tick):
            if bag and random.random() < share:
                found.append(Element(bag.pop(random.integers(len(bag))), tau, -1))
            else:
                bag.append(row(random))
                found.append(Element(bag[-1], tau, 1))
    return found


def result_fields(work: AggregateOp) -> tuple[Attribute, ...]:
    """Columns of an aggregate."""
    calls = [Attribute(f"c{n}", call.type) for n, call in enumerate(work.calls)]
    return (*(FIELDS[place] for place in work.groups), *calls)


EXTREMES = [
    AggregateCall(word, place, False, FIELDS[place].type)
    for place in (1, 2, 3)
    for word in ("min", "max")
]
OTHERS = [
    AggregateCall("sum", 1, False, "bigint"),
    AggregateCall("avg", 1, True, "double"),
    AggregateCall("sum", 2, False, "double"),
    AggregateCall("avg", 2, False, "double"),
    AggregateCall("count", 3, True, "bigint"),
]


@pytest.mark.parametrize("groups", [(), (0,), (1,)])
@pytest.mark.parametrize("calls", [EXTREMES, OTHERS], ids=["extremes", "others"])
def test_aggregate(groups: tuple[int, ...], calls: Sequence[AggregateCall]) -> None:
    work = AggregateOp(groups, tuple(calls))
    history = busy(11, 60)
    found = Player(work, [FIELDS], result_fields(work)).play([history], BEATS)
    expected = [oracle.aggregate(work, one) for one in relations(history, TICKS)]
    assert relations(found, TICKS) == expected


def test_distinct() -> None:
    history = busy(12, 60)
    found = Player(DistinctOp(), [FIELDS], FIELDS).play([history], BEATS)
    assert relations(found, TICKS) == [oracle.distinct(r) for r in relations(history, TICKS)]


@pytest.mark.parametrize("null_aware", [False, True])
@pytest.mark.parametrize("n_keys", [3, 300])
def test_antijoin(null_aware: bool, n_keys: int) -> None:
    """Keys with many left tuples, and many keys."""
    fields = fields_of("k int, v int")

    def row(random: np.random.Generator) -> Row:
        key = int(random.integers(n_keys)) if random.random() < 0.98 else None
        return (key, int(random.integers(30)))

    work = AntiJoinOp(((0, 0),), null_aware)
    left, right = busy(13, 30, row), busy(14, 4, row)
    found = Player(work, [fields, fields], fields).play([left, right], BEATS)
    both = zip(relations(left, TICKS), relations(right, TICKS), strict=True)
    assert relations(found, TICKS) == [oracle.antijoin(work, *pair) for pair in both]


def test_an_antijoin_tells_more_than_it_was_given() -> None:
    """One right tuple comes and goes at every tick, and takes many left ones along."""
    fields = fields_of("k int, v int")
    left = [Element((1, n), 0, 1) for n in range(100)]
    right = [Element((1, 0), tau, 1 if tau % 2 else -1) for tau in range(1, TICKS)]
    player = Player(AntiJoinOp(((0, 0),)), [fields, fields], fields)
    found = player.play([left, right], [(TICKS, 0)])
    assert len(found) == 100 * TICKS
    for tau, relation in enumerate(relations(found, TICKS)):
        assert len(relation) == (0 if tau % 2 else 100)
