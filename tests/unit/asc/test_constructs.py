"""Constructs against the worked examples, their invariants and the edge cases."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.conditions import TRUE, And, Comparison, ContinuousQuery, NullTest, Or
from backend.model.schema import Schema
from backend.systems.asc.construct import bitmap, slots_in
from backend.systems.asc.constructs import QueryError, build_constructs
from backend.systems.asc.normal_form import MAX_DISJUNCTS, QueryTooComplex
from tests.oracles.selection import matches, sql_value
from tests.strategies import MIXED_SCHEMA, mixed_queries, values
from tests.unit.asc.papers import C, bits, l07, l12, query, query_names


def test_figure_1_of_l12() -> None:
    constructs = l12().constructs
    assert [bits(c.qub, 4) for c in constructs.values()] == ["1010", "0101", "1010", "0101"]
    rows = {a: " ".join(bits(row, 4) for row in c.qrb[1:]) for a, c in constructs.items()}
    assert rows == {
        "A1": "1101 1111 1101 0101 0101",
        "A2": "1110 1110 1010 1010 1011",
        "A3": "0111 0101 0101 1101 1101",
        "A4": "1010 1110 1010 1011 1011",
    }
    assert bits(constructs["A2"].qrb[constructs["A2"].region_of(20)], 4) == "1110"  # Example 1a


def test_figure_2_of_l07() -> None:
    constructs = l07().constructs
    assert [bits(c.qub, 3) for c in constructs.values()] == ["111", "110", "101"]
    assert constructs["A2"].constants == ("C02", "C04")


def test_labels_and_sizes() -> None:
    construct = build_constructs(
        [query("q", C("x", ">", 60)), query("r", C("x", "<=", 5.0)), query("p", C("x", "=", 5))],
        Schema.parse("x int"),
    ).constructs["x"]
    assert construct.constants == (5, 60)
    assert construct.region_labels() == (
        "NULL", "(-inf, 5)", "= 5", "(5, 60)", "= 60", "(60, +inf)",
    )  # fmt: skip
    assert construct.n_regions == 6
    assert construct.bitmap_bytes == 8 + 4 * 8 + 6 * 4  # usage, distinct rows, row numbers


def test_labels_of_other_types() -> None:
    found = build_constructs(
        [
            query("q", C("s", "=", "O'Hare"), C("b", "=", True), C("d", "<", date(2013, 1, 31))),
            query("r", C("t", ">", datetime(2013, 1, 1, 12)), NullTest("x", True)),
        ],
        Schema.parse("s string, b boolean, d date, t timestamp, x double"),
    )
    labels = {a: c.region_labels()[1:3] for a, c in found.constructs.items()}
    assert labels == {
        "s": ("(-inf, 'O''Hare')", "= 'O''Hare'"),
        "b": ("(-inf, true)", "= true"),
        "d": ("(-inf, 2013-01-31)", "= 2013-01-31"),
        "t": ("(-inf, 2013-01-01 12:00:00)", "= 2013-01-01 12:00:00"),
        "x": ("(-inf, +inf)",),
    }


@pytest.mark.parametrize(
    ("value", "region"),
    [(None, 0), (math.nan, 0), ("5", 0), (True, 0), (-math.inf, 1), (-0.0, 2), (0.0, 2), (0, 2),
     (0.5, 3), (2**53, 4), (float(2**53), 4), (2**53 + 1, 6), (2**53 + 2, 7), (math.inf, 7)],
)  # fmt: skip
def test_region_of_is_exact(value: Any, region: int) -> None:
    queries = [
        query("q", C("x", "<>", -0.0), C("x", "<", 2**53 + 1)),
        query("r", C("x", ">", 2**53)),
    ]
    construct = build_constructs(queries, Schema.parse("x double")).constructs["x"]
    assert construct.region_of(value) == region
    assert construct.regions_of([value, None]).tolist() == [region, 0]


def test_whole_numbers_against_fractional_constants() -> None:
    queries = [query("q", C("x", ">", 2.5), C("x", "<", 7.0), C("x", "<>", -1.5))]
    found = build_constructs(queries, Schema.parse("x int")).constructs["x"]
    numbers = [-3, -2, -1, 0, 2, 3, 6, 7, 8]
    expected = [1, 1, 3, 3, 3, 5, 5, 6, 7]
    assert found.regions_of(numbers).tolist() == expected
    assert found.regions_of(np.array(numbers)).tolist() == expected
    assert found.regions_of(np.array(numbers, dtype=np.float64)).tolist() == expected
    assert found.regions_of([*numbers, None]).tolist() == [*expected, 0]


def test_numbers_beyond_64_bits_are_compared_exactly() -> None:
    queries = [query("q", C("x", ">", 2**70), C("x", "<", 2**70 + 1))]
    found = build_constructs(queries, Schema.parse("x double")).constructs["x"]
    numbers = [2**70 - 1, 2**70, 2**70 + 1, 2**70 + 2]
    assert found.regions_of(numbers).tolist() == [1, 2, 4, 5]
    assert found.regions_of([1, 2]).tolist() == [1, 1]
    assert found.regions_of([1.0, 2.0**70, 2.0**71]).tolist() == [1, 2, 5]


def test_a_float_zero_has_no_sign() -> None:
    found = build_constructs([query("q", C("x", "=", -0.0))], Schema.parse("x double"))
    assert found.constructs["x"].region_labels()[2] == "= 0.0"


@given(mixed_queries(), st.data())
def test_regions_partition_the_domain(queries: list[ContinuousQuery], data: st.DataObject) -> None:
    """Each value hits one region, which lies to the constants as the value does; arrays agree."""
    for construct in build_constructs(queries, MIXED_SCHEMA).constructs.values():
        found = data.draw(st.lists(values(construct.type), max_size=6))
        regions = [construct.region_of(value) for value in found]
        assert construct.regions_of(found).tolist() == regions
        for value, region in zip(found, regions, strict=True):
            seen = sql_value(value, construct.type)
            assert (seen is None) == (region == 0)
            for p, constant in enumerate(construct.constants, start=1):
                assert seen is None or (region > 2 * p) == (seen > constant)
                assert seen is None or (region == 2 * p) == (seen == constant)


@given(mixed_queries(), st.data())
def test_regions_of_typed_arrays(queries: list[ContinuousQuery], data: st.DataObject) -> None:
    for construct in build_constructs(queries, MIXED_SCHEMA).constructs.values():
        found = [v for v in data.draw(st.lists(values(construct.type))) if type(v) in (int, float)]
        for kind in (int, float):
            same = [v for v in found if type(v) is kind and (kind is float or abs(v) < 2**63)]
            array = np.array(same, dtype=np.int64 if kind is int else np.float64)
            assert construct.regions_of(array).tolist() == [construct.region_of(v) for v in same]


@given(mixed_queries())
def test_unused_columns_are_all_ones(queries: list[ContinuousQuery]) -> None:
    """F2, and nothing is set beyond the last slot."""
    found = build_constructs(queries, MIXED_SCHEMA)
    everyone = bitmap(range(found.n_slots), found.n_words)
    for construct in found.constructs.values():
        assert (((construct.qrb | construct.qub) & everyone) == everyone).all()
        assert len(construct.qrb) == 2 * len(construct.constants) + 2
        assert list(construct.constants) == sorted(construct.constants)
    assert list(found.constructs) == [n for n in MIXED_SCHEMA.names if n in found.constructs]


@given(mixed_queries(), st.data())
def test_names_are_kept_and_contradictions_never_match(
    queries: list[ContinuousQuery], data: st.DataObject
) -> None:
    found = build_constructs(queries, MIXED_SCHEMA)
    assert sorted(found.names) == sorted(q.name for q in queries)
    row = {a.name: data.draw(values(a.type)) for a in MIXED_SCHEMA.attributes}
    satisfied = matches(queries, row, MIXED_SCHEMA)
    assert not set(found.contradictory) & set(satisfied)
    assert set(found.predicate_free) <= set(satisfied)


def test_slots_are_shared_by_identical_conditions() -> None:
    parts = (C("A1", ">", 1), C("A1", "<=", 3), C("A2", "=", 2))
    queries = [query("q1", *parts), query("q2", *reversed(parts)), query("q3", C("A1", ">", 1))]
    found = build_constructs(queries, Schema.parse("A1 int, A2 int"))
    assert found.slot_names == (("q1", "q2"), ("q3",))
    assert found.duplicate_of("q2") == "q1"
    assert found.duplicate_of("q1") is None
    assert query_names(found, found.initial) == ("q1", "q2", "q3")
    assert found.users_of("A2") == ("q1", "q2")
    assert found.uses("q3") == ("A1",)
    with pytest.raises(KeyError):
        found.duplicate_of("q9")


def test_or_across_attributes_takes_several_slots() -> None:
    either = Or((C("A1", "=", 1), C("A2", "=", 1), C("A1", "=", 3)))
    found = build_constructs([query("q", either)], Schema.parse("A1 int, A2 int"))
    assert found.slot_names == (("q",), ("q",))
    assert found.slots_of("q") == (0, 1)
    assert found.slot_of("q") == 0
    assert query_names(found, bitmap([1], 1)) == ("q",)


def test_too_many_alternatives_are_refused() -> None:
    schema = Schema.parse(", ".join(f"A{i} int" for i in range(14)))
    pairs = [Or((C(f"A{2 * i}", "=", 1), C(f"A{2 * i + 1}", "=", 1))) for i in range(7)]
    assert build_constructs([query("q", *pairs[:6])], schema).n_slots == MAX_DISJUNCTS
    with pytest.raises(QueryTooComplex, match="'q' multiplies out to more than 64"):
        build_constructs([query("q", *pairs)], schema)


def test_contradictory_and_predicate_free_queries() -> None:
    schema = Schema.parse("A1 int, A2 int")
    queries = [
        query("never", C("A1", ">", 5), C("A1", "<", 3), C("A2", "=", 1)),
        query("gap", C("A1", ">", 5), C("A1", "<", 6)),
        query("empty", Or(())),
        query("always"),
        query("tautology", Or((C("A2", ">", 0), C("A2", "<=", 0), NullTest("A2", False)))),
        ContinuousQuery("half", "S", "", Or((And((C("A1", "<", 0), C("A1", ">", 0))), TRUE))),
        query("plain", C("A1", "=", 4)),
    ]
    found = build_constructs(queries, schema)
    assert found.contradictory == ("never", "gap", "empty")
    assert found.predicate_free == ("always", "tautology", "half")
    assert list(found.constructs) == ["A1"]  # A2 serves no query that can match
    assert slots_in(found.covered) == [found.slot_of("plain")]
    assert query_names(found, found.initial) == ("always", "half", "plain", "tautology")


def test_reals_lie_between_neighbouring_integers() -> None:
    queries = [query("gap", C("x", ">", 5), C("x", "<", 6)), query("half", C("x", "=", 5.5))]
    assert build_constructs(queries, Schema.parse("x double")).contradictory == ()
    assert build_constructs(queries, Schema.parse("x bigint")).contradictory == ("gap", "half")


@pytest.mark.parametrize(
    ("atoms", "dead"),
    [
        ([C("b", "<", False)], True),
        ([C("b", ">", True)], True),
        ([C("b", "<>", True), C("b", "<>", False)], True),
        ([C("b", "<", True)], False),
        ([C("b", ">", False)], False),
    ],
)
def test_booleans_have_two_values(atoms: list[Comparison], dead: bool) -> None:
    found = build_constructs([query("q", *atoms)], Schema.parse("b boolean"))
    assert bool(found.contradictory) == dead


def test_more_than_64_queries_take_several_words() -> None:
    schema = Schema.parse("x int")
    found = build_constructs([query(f"q{j}", C("x", "=", j)) for j in range(200)], schema)
    construct = found.constructs["x"]
    assert found.n_words == 4
    assert construct.qrb.shape == (402, 4)
    for value in (0, 63, 64, 127, 128, 199):
        row = construct.qrb[construct.region_of(value)]
        assert query_names(found, found.initial & row) == (f"q{value}",)
        assert (found.initial & row)[value // 64] == 1 << (value % 64)


def test_no_queries() -> None:
    found = build_constructs([], Schema.parse("x int"))
    assert (found.n_slots, found.n_words, dict(found.constructs)) == (0, 1, {})
    assert not found.initial.any()


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([query("q", C("y", "=", 1))], "query 'q' uses attribute 'y', which the schema does not"),
        ([query("q"), query("q")], "two queries are named 'q'"),
        ([query("q", C("x", "=", 1)), query("r", C("x", "<", "a"))], r"'x' \(int\) with 'a'"),
        ([query("q", C("x", "=", True))], r"'x' \(int\) with True; expected a number"),
        ([query("q", C("x", "=", math.nan))], r"'x' \(int\) with nan; expected a number"),
        ([query("q", C("s", "=", 5))], r"'s' \(string\) with 5; expected a string"),
        ([query("q", C("d", "=", datetime(2013, 1, 1)))], "expected a date"),
        (
            [
                query("q", C("t", "=", datetime(2013, 1, 1))),
                query("r", C("t", "=", datetime(2013, 1, 1, tzinfo=UTC))),
            ],
            "'t' is compared with timestamps both with and without a time zone",
        ),
    ],
)  # fmt: skip
def test_registration_errors(queries: list[ContinuousQuery], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        build_constructs(queries, Schema.parse("x int, s string, d date, t timestamp"))


def test_timestamps_of_another_zone_kind_count_as_null() -> None:
    found = build_constructs([query("q", C("t", ">", datetime(2013, 1, 1)))], MIXED_SCHEMA)
    assert found.constructs["t"].region_of(datetime(2013, 1, 1, tzinfo=UTC)) == 0
