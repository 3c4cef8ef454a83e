"""Which windows of which joins may keep less, and what is said where none may."""

from __future__ import annotations

import re
from typing import Any

import pytest

from backend.cql import parse_query
from backend.model.knobs import KnobSettings
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.kinds.windows import WindowOp
from backend.systems.contract import Refused, UnitJob
from backend.systems.registry import STREAM
from backend.systems.retention.planning import retained_joins
from backend.systems.stream.unit import NetworkUnit
from tests.unit.network.test_retention import SCHEMAS, compiled


def windows_of(plan: NetworkPlan, *queries: str) -> list[tuple[str, str]]:
    """The windows that drop tuples, in words, and the column with the key."""
    joins, _ = retained_joins(plan, queries or plan.answers)
    found = []
    for id, place, _ in dict.fromkeys(one for join in joins for one in join.windows):
        window = plan.operator(id)
        words = f"{stream_of(plan, id)} {window.doing(WindowOp).text([])}"
        found.append((words, window.fields[place].name))
    return sorted(found)


def stream_of(plan: NetworkPlan, id: str) -> str:
    planned = plan.operator(id)
    return planned.work.reads or stream_of(plan, planned.inputs[0])


A, B, C = "A [Range 2 Seconds]", "B [Range 2 Seconds]", "C [Rows 9]"
FROM = "From A [Range 2 Seconds], B [Range 2 Seconds], C [Rows 9]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Select A.v {FROM} Where A.k = B.k and B.v = C.v", [(A, "k"), (B, "k")]),
        (f"Select A.v {FROM} Where A.v = B.v and B.k = C.k and A.k = C.k",
         [(A, "k"), (B, "k"), (C, "k")]),
        (f"Select A.v {FROM} Where A.k = B.k and A.v > 3 and B.v < C.v", [(A, "k"), (B, "k")]),
        ("Select A.v From A [Rows Unbounded], B [Range 2 Seconds] Where A.k = B.k", [(B, "k")]),
        ("Select A.v From A [Partition By k Rows 1], C [Rows 9] Where A.k = C.k", [(C, "k")]),
        ("Select X.v From (Select k, v From A [Range 2 Seconds]) As X, C [Rows 9] As C "
         "Where X.k = C.k", [(A, "k"), (C, "k")]),
        ("Select X.n From (Select k, count(*) As n From A [Range 2 Seconds] Group By k) As X, "
         "C [Rows 9] As C Where X.k = C.k", [(C, "k")]),
    ],
)  # fmt: skip
def test_windows_with_the_key_that_most_have_keep_less(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert windows_of(compiled(text)) == expected


def test_trees_of_binary_joins_keep_by_one_key() -> None:
    text = f"Select A.v {FROM} Where A.k = B.k and B.k = C.k"
    assert windows_of(compiled(text, joins="binary")) == [(A, "k"), (B, "k"), (C, "k")]


def test_a_window_that_stands_twice_in_a_join_is_whole() -> None:
    both = "A [Range 2 Seconds] As X, A [Range 2 Seconds] As Y"
    text = f"Select X.v, Y.k From {both}, C [Rows 9] As C Where X.k = Y.v and X.k = C.k"
    assert windows_of(compiled(text)) == [(C, "k")]


def test_a_window_that_others_read_is_whole() -> None:
    """Of two joins that keep less C is in the key of one, and whole for the other."""
    one = f"Select A.v {FROM} Where A.k = B.k and B.k = C.k"
    plan = compiled(one, f"Select A.v {FROM} Where A.k = B.k")
    assert windows_of(plan, "q0", "q1") == [(A, "k"), (B, "k")]
    assert windows_of(plan, "q0") == []
    assert windows_of(compiled(one), "q0") == [(A, "k"), (B, "k"), (C, "k")]


@pytest.mark.parametrize(
    ("where", "name", "why"),
    [
        ("A.v < B.v", "v < v", "has no equal attributes"),
        (
            "A.v = B.v",
            "v",
            "has no window [Range …] or [Rows n] of a stream with an equal attribute",
        ),
    ],
)
def test_a_join_without_a_key_is_refused(where: str, name: str, why: str) -> None:
    windows = ("[Rows 3]", "[Rows 4]") if "<" in where else ("[Rows Unbounded]",) * 2
    text = f"Select A.k From A {windows[0]}, B {windows[1]} Where {where}"
    with pytest.raises(
        Refused, match=re.escape(f"in query 'q' the join of A and B on {name!r} {why}")
    ) as told:
        unit(text, retention="universe")
    words = str(told.value)
    assert words.startswith("retention = universe refused: ")
    assert words.endswith("allowed: off, or retained_queries with the names of others")
    assert unit(text, retention="universe", retained_queries="other").inexact == ""


def unit(text: str, **knobs: Any) -> NetworkUnit:
    settings = KnobSettings.defaults(STREAM.knobs, knobs)
    queries = (parse_query("q", text, SCHEMAS),)
    made = STREAM.unit(UnitJob("u", tuple(SCHEMAS), SCHEMAS, queries), settings)
    assert isinstance(made, NetworkUnit)
    return made
