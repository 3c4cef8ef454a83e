"""By what the tuples of queries are spread over shards, and why some are not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from backend.systems.stream.compiling import compile_queries
from tests.unit.network.query_texts import SECOND, compiled, query_texts
from tests.unit.network.test_compiling import IMPLICIT
from tests.unit.network.test_queries import runnable

EQUAL = "Tuples with equal values of {} go to one shard."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Select a From S", EQUAL.format("S.a")),
        ("Select e, c From U Where e > 1", EQUAL.format("U.c")),
        ("Select b, max(a) From S [Range 5] Group By b", EQUAL.format("S.b")),
        ("Select max(a) From S [Range 5] Group By b + 1", "One shard: an aggregate has tuples of "),
        ("Select max(a) From S [Range 5]", "One shard: an aggregate of all tuples is one group."),
        ("Select S.a From S, T Where S.a = T.a", EQUAL.format("S.a = T.a")),
        ("Select S.b From S, T Where S.a = T.a", "One shard: equal tuples of the answer could"),
        ("Select Istream(S.b) From S, T Where S.a = T.a", EQUAL.format("S.a = T.a")),
        ("Select S.b From S [Rows 3], T Where S.a = T.a", "One shard: equal tuples of the answer"),
        ("Select x.a From S x, S y Where x.a = y.b", EQUAL.format("S.a = S.b")),
        ("Select x.a From S x, T y Where x.a < y.a", "One shard: a join has no equal attributes."),
        (
            "Select S.a From S, T, U Where S.a = T.a and T.d = U.d",
            "One shard: a join has no attribute by which all its inputs can be spread.",
        ),
        (
            "Select S.a From S [Now], R Where S.b > R.a",
            "Tuples with equal values of S.a go to one shard; every shard has all of R.",
        ),
        (
            "Select S.c From S [Now], R, T Where S.c = R.c and T.a = S.a and T.a not in "
            "(Select a From R)",
            "One shard: equal tuples of the answer could come from different shards.",
        ),
        (
            "Select a From S [Now] Where a not in (Select a From R)",
            "Tuples with equal values of S.a go to one shard; every shard has all of R.",
        ),
        (
            "Select a From S Where a not in (Select a From T)",
            "One shard: NOT IN asks for NULL in all of a relation.",
        ),
        ("Select a From S Where a in (Select a From T)", EQUAL.format("S.a = T.a")),
        ("Select Distinct a, b From S", EQUAL.format("S.a")),
        ("Select Distinct a + b From S", "One shard: Distinct compares tuples that could be in "),
        ("Select a, b From S Except Select a, d From T", EQUAL.format("S.a = T.a")),
        (
            "Select a From S Union Select d From T",
            EQUAL.format("S.a = T.d"),
        ),
        (
            "Select a From S Except Select e From U",
            "One shard: except compares tuples that could be in different shards.",
        ),
        (
            "Select a, b + 1 From S Except Select d + 1, a From T",
            "One shard: except compares tuples that could be in different shards.",
        ),
        ("Select b From S [Partition By a, b Rows 3]", EQUAL.format("S.b")),
        (
            "Select b, max(c) From S [Partition By a Rows 3] Group By b",
            "One shard: an aggregate has tuples of all shards in a group.",
        ),
        ("Select a From (Istream(Select a From S)) [Rows 3]", "One shard: [Rows 3] over a stream"),
        ("Select a From (Select Istream(a) From S [Now]) [Range 3]", EQUAL.format("S.a")),
        ("Select Dstream(a + 1) From S [Now]", "One shard: Dstream compares tuples that could"),
        ("Select Rstream(a + 1) From S [Now]", EQUAL.format("S.a")),
    ],
)
def test_what_is_spread_over_shards_and_why(text: str, why: str) -> None:
    (group,) = compiled(text).groups
    assert group.why.startswith(why)
    assert bool(group.keys) != why.startswith("One shard")


@settings(deadline=None, max_examples=60)
@given(query_texts())
def test_operators_stay_when_the_reading_of_plain_queries_is_another(text: str) -> None:
    plans = [
        compile_queries([runnable(text)], implicit_istream=one, since={"q": 0}, tick_us=SECOND)
        for one in IMPLICIT
    ]
    first, *others = [(plan.operators, plan.groups) for plan in plans]
    assert all(other == first for other in others)
