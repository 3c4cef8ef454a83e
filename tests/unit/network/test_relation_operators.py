"""distinct, set operations, antijoin, aggregate: relations at every tick, however they are fed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backend.model.schema import Attribute
from backend.operators.network.kinds.aggregate import AggregateCall, AggregateOp
from backend.operators.network.kinds.antijoin import AntiJoinOp
from backend.operators.network.kinds.distinct import DistinctOp
from backend.operators.network.kinds.set_operations import SetOp
from tests.oracles import network_operators as oracle
from tests.oracles.network_operators import Element, Relation, relations
from tests.unit.network.playing import FIELDS, LAST, Player, cuts, fields_of, histories

SMALL = fields_of("a int, s string")


@given(histories(FIELDS), cuts())
def test_distinct(history: list[Element], beats: list[tuple[int, int]]) -> None:
    player = Player(DistinctOp(), [FIELDS], FIELDS)
    found = relations(player.play([history], beats), LAST + 1)
    assert found == [oracle.distinct(one) for one in relations(history, LAST + 1)]
    assert player.made().n_tuples == len(found[-1])


@pytest.mark.parametrize(
    ("word", "twin"),
    [
        ("union", oracle.union),
        ("except", oracle.difference),
        ("intersect", oracle.intersection),
    ],
)
@given(left=histories(SMALL), right=histories(SMALL), beats=cuts())
def test_set_operations(
    word: Literal["union", "except", "intersect"],
    twin: Callable[[Relation, Relation], Relation],
    left: list[Element],
    right: list[Element],
    beats: list[tuple[int, int]],
) -> None:
    player = Player(SetOp(word), [SMALL, SMALL], SMALL)
    found = relations(player.play([left, right], beats), LAST + 1)
    both = zip(relations(left, LAST + 1), relations(right, LAST + 1), strict=True)
    assert found == [twin(one, other) for one, other in both]


@given(st.data(), st.sampled_from([(), ((0, 0),), ((0, 1), (1, 0))]), st.booleans(), cuts())
def test_antijoin(
    data: st.DataObject,
    equal: tuple[tuple[int, int], ...],
    null_aware: bool,
    beats: list[tuple[int, int]],
) -> None:
    others = fields_of("a int, s string") if len(equal) < 2 else fields_of("s string, a int")
    left, right = data.draw(histories(SMALL, 20)), data.draw(histories(others, 20))
    work = AntiJoinOp(equal, null_aware)
    player = Player(work, [SMALL, others], SMALL)
    found = relations(player.play([left, right], beats), LAST + 1)
    both = zip(relations(left, LAST + 1), relations(right, LAST + 1), strict=True)
    assert found == [oracle.antijoin(work, one, other) for one, other in both]


NUMBERS = st.sampled_from([None, 0, 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)])
FLOATS = st.sampled_from([None, 0.0, 0.5, 1.0, 2.0**53, 2.0**63, -(2.0**63), math.nan, math.inf])


@given(st.lists(NUMBERS, max_size=6), st.lists(FLOATS, max_size=6), st.booleans(), st.booleans())
@example([1], [math.nan], True, True)
@example([2**53 + 1], [2.0**53], False, True)
def test_antijoin_of_numbers_of_both_types(
    integers: list[int | None], floats: list[float | None], is_swapped: bool, null_aware: bool
) -> None:
    """2**53 + 1 is not 2.0**53, though it is as a float."""
    one, other = fields_of("a bigint"), fields_of("x double")
    left = [Element((value,), 0, 1) for value in integers]
    right = [Element((value,), 0, 1) for value in floats]
    if is_swapped:
        one, other, left, right = other, one, right, left
    work = AntiJoinOp(((0, 0),), null_aware)
    found = Player(work, [one, other], one).play([left, right], [(1, 0)])
    expected = oracle.antijoin(work, relations(left, 1)[0], relations(right, 1)[0])
    assert relations(found, 1) == [expected]


def test_the_state_of_an_antijoin_goes_with_its_tuples() -> None:
    fields = fields_of("a int")
    player = Player(AntiJoinOp(((0, 0),), null_aware=True), [fields, fields], fields)
    rows = [(None,), (1,), (2,)] * 40
    history = [Element(row, 0, 1) for row in rows] + [Element(row, 1, -1) for row in rows]
    player.play([history, history], [(1, 0), (2, 0)])
    assert player.made().n_tuples == 0


CALLS = [
    AggregateCall("count", None, False, "bigint"),
    *(
        AggregateCall(function, place, distinct, "bigint" if function == "count" else result)
        for place, result in ((0, "bigint"), (1, "double"))
        for distinct in (False, True)
        for function in ("count", "sum")
    ),
    *(AggregateCall("avg", place, d, "double") for place in (0, 1) for d in (False, True)),
    *(
        AggregateCall(function, place, False, FIELDS[place].type)
        for place in (0, 1, 2)
        for function in ("min", "max")
    ),
    AggregateCall("count", 2, True, "bigint"),
]


def aggregated(work: AggregateOp, fields: Sequence[Attribute]) -> Player:
    """The operator of some calls."""
    names = [fields[place] for place in work.groups]
    calls = [Attribute(f"c{n}", call.type) for n, call in enumerate(work.calls)]
    return Player(work, [fields], (*names, *calls))


@given(
    histories(FIELDS, 30),
    cuts(),
    st.sampled_from([(), (0,), (2, 1)]),
    st.lists(st.sampled_from(CALLS), max_size=5, unique=True),
)
@example([], [(LAST + 1, 0)], (), CALLS)
def test_aggregate(
    history: list[Element],
    beats: list[tuple[int, int]],
    groups: tuple[int, ...],
    calls: list[AggregateCall],
) -> None:
    work = AggregateOp(groups, tuple(calls or CALLS))
    player = aggregated(work, FIELDS)
    told = player.play([history], beats)
    found = relations(told, LAST + 1)
    assert found == [oracle.aggregate(work, one) for one in relations(history, LAST + 1)]
    changes = [(e.row, e.tau) for e in told]
    assert len(changes) == len(set(changes)), "a tuple that stays is not told"
    if not relations(history, LAST + 1)[-1]:
        assert player.made().n_tuples <= (0 if groups else 1)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.randoms())
def test_sums_of_floats_are_exact(values: list[float], random: object) -> None:
    """Whatever came and went, in whatever order."""
    fields = fields_of("x double")
    work = AggregateOp((), (AggregateCall("sum", 0, False, "double"),))
    history = [Element((value + 0.0,), 0, 1) for value in values]
    history += [Element((value + 0.0,), 1, -1) for value in values[1:]]
    found = relations(aggregated(work, fields).play([history], [(1, 0), (2, 0)]), 2)
    assert found[1] == {(values[0] + 0.0,): 1}
    try:
        total = math.fsum(values)
    except OverflowError:
        return
    assert found[0] == {(total,): 1}


@pytest.mark.parametrize("order", ["up", "down"])
def test_extremes_of_a_sliding_window(order: str) -> None:
    """A thousand values, each of which is the least or the largest when it goes."""
    fields = fields_of("a int")
    calls = tuple(AggregateCall(word, 0, False, "int") for word in ("min", "max"))
    work = AggregateOp((), calls)
    values = list(range(1000)) if order == "up" else list(range(1000, 0, -1))
    history = sorted(
        [Element((value,), n, 1) for n, value in enumerate(values)]
        + [Element((value,), n + 50, -1) for n, value in enumerate(values) if n < 950],
        key=lambda element: element.tau,
    )
    beats = [(beat, 0) for beat in range(100, 1001, 100)]
    found = relations(aggregated(work, fields).play([history], beats), 1000)
    for tau in range(1000):
        window = values[max(0, tau - 49) : tau + 1]
        assert found[tau] == {(min(window), max(window)): 1}


def test_an_aggregate_without_groups_begins_with_time() -> None:
    """Thesis' silence, SQL's reading: one row from the first tick on (card A4)."""
    calls = (AggregateCall("count", None, False, "bigint"), AggregateCall("max", 0, False, "int"))
    player = aggregated(AggregateOp((), calls), fields_of("a int"))
    player.begin = 3
    player.__post_init__()
    operator = player.made()
    assert player.run(operator, [[]], 3) == []
    assert player.run(operator, [[]], 4) == [Element((0, None), 3, 1)]
    assert player.run(player.made(), [[Element((7,), 6, 1)]], 9) == [
        Element((0, None), 6, -1),
        Element((1, 7), 6, 1),
    ]


def test_zero_is_not_null() -> None:
    """A result that becomes 0, which NULL is held as, is told."""
    calls = tuple(AggregateCall(word, 1, False, "bigint") for word in ("sum", "min"))
    work = AggregateOp((0,), calls)
    history = [Element((1, None), 0, 1), Element((1, 0), 1, 1), Element((1, 0), 2, -1)]
    assert aggregated(work, fields_of("g int, a bigint")).play([history], [(3, 0)]) == [
        Element((1, None, None), 0, 1),
        Element((1, None, None), 1, -1),
        Element((1, 0, 0), 1, 1),
        Element((1, 0, 0), 2, -1),
        Element((1, None, None), 2, 1),
    ]


def test_tuples_without_columns_are_counted() -> None:
    player = aggregated(AggregateOp((), (AggregateCall("count", None, False, "bigint"),)), ())
    history = [Element((), 0, 1)] * 100 + [Element((), 1, -1)]
    found = relations(player.play([history], [(0, 3), (0, 2), (1, 1), (2, 0)]), 2)
    assert found == [{(100,): 1}, {(99,): 1}]


def test_a_mean_too_small_to_be_held_is_zero() -> None:
    """Not -0.0, which would be another key."""
    work = AggregateOp((), (AggregateCall("avg", 0, False, "double"),))
    player = aggregated(work, fields_of("x double"))
    history = [Element((value,), 0, 1) for value in (-5e-324, 0.0, 0.0)]
    (found,) = player.play([history], [(1, 0)])
    assert str(found.row[0]) == "0.0"


def test_max_by_group_of_a_window_of_rows() -> None:
    """Thesis 2.3.1: Select A, Max(B) From S1 [Rows 2] Group By A."""
    work = AggregateOp((0,), (AggregateCall("max", 1, False, "int"),))
    player = aggregated(work, fields_of("A int, B int"))
    window = [
        Element((1, 5), 1, 1),
        Element((2, 3), 2, 1),
        Element((1, 4), 3, 1),
        Element((1, 5), 3, -1),
        Element((1, 9), 4, 1),
        Element((2, 3), 4, -1),
    ]
    assert player.play([window], [(5, 0)]) == [
        Element((1, 5), 1, 1),
        Element((2, 3), 2, 1),
        Element((1, 5), 3, -1),
        Element((1, 4), 3, 1),
        Element((1, 4), 4, -1),
        Element((1, 9), 4, 1),
        Element((2, 3), 4, -1),
    ]
