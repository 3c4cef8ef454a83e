"""Which queries run under k-constraints, and what is said of those that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.model.functions import Functions
from backend.model.schema import Schema
from backend.systems.contract import Claim, Refusal
from backend.systems.registry import KMON
from backend.workloads.queries import read_query

SCHEMAS = {
    "R": Schema.parse("a int, b int"),
    "S": Schema.parse("b int, c int"),
    "T": Schema.parse("c int, a int"),
    "U": Schema.parse("b double"),
}
CYCLE = (
    "Select R.a From R [Rows 9], S [Rows 9], T [Rows 9] Where R.b = S.b and S.c = T.c and T.a = R.a"
)


def claimed(text: str, **keys: tuple[str, ...]) -> Claim | Refusal:
    schemas = {name: replace(one, key=keys.get(name, ())) for name, one in SCHEMAS.items()}
    return KMON.claim(read_query("q", text, schemas, Functions(), {}, {}))


@pytest.mark.parametrize(
    "keys", [{"S": ("b",), "T": ("c",)}, {"S": ("b",), "T": ("c",), "R": ("a",)}]
)
def test_a_cyclic_graph_is_spanned_by_many_one_joins(keys: dict[str, tuple[str, ...]]) -> None:
    assert claimed(CYCLE, **keys) == Claim("network")


def test_a_cyclic_graph_that_nobody_can_span_is_refused_with_the_key_it_lacks() -> None:
    assert claimed(CYCLE, S=("b",)) == Refusal(
        "nothing says that a tuple joins at most one of T, or one of T at most one of R: declare a"
        ' key among the attributes they are joined by, such as key = ["..."] in [streams.T]'
    )


def test_a_query_without_a_join_is_refused() -> None:
    told = claimed("Select Count(*) From R [Rows 9]")
    assert told == Refusal("it joins nothing, so no k-constraint applies")


ALLOWED = "k-Mon joins along equalities of attributes of one type, one of which is a key"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "Select R.a From R [Rows 9], S [Rows 9] Where R.a < S.b",
            "S is joined with R by R.a < S.b, which is no equality of two attributes of one type: ",
        ),
        (
            "Select R.a From R [Rows 9], U [Rows 9] Where R.b = U.b",
            "U is joined with R by R.b = U.b, which is no equality of two attributes of one type: ",
        ),
        ("Select R.a From R [Rows 9], S [Rows 9]", "no condition joins S with R: "),
        (
            "Select R.a From R [Rows 9], S [Rows 9], T [Rows 9] Where R.b = S.b and T.a > 3",
            "no condition joins T with R: ",
        ),
    ],
)
def test_a_join_along_no_equality_is_refused_with_what_joins_it_instead(
    text: str, reason: str
) -> None:
    """Each has its key."""
    assert claimed(text, S=("b",), U=("b",)) == Refusal(reason + ALLOWED)


def test_an_equality_without_a_key_is_refused_with_the_key_it_lacks() -> None:
    told = claimed("Select R.a From R [Rows 9], S [Rows 9] Where R.b = S.b and R.a < S.c")
    assert isinstance(told, Refusal)
    assert "declare a key among the attributes they are joined by" in str(told)
