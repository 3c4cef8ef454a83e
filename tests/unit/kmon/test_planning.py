"""Which queries run under k-constraints, and what is said of those that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.model.functions import Functions
from backend.model.schema import Schema
from backend.operators.network.kinds.kmon import JoinEdge, KMonOp
from backend.operators.network.kmon.tuning import constraint_ids
from backend.systems.contract import Claim, Refusal
from backend.systems.kmon.planning import planned
from backend.systems.registry import KMON
from backend.systems.stream.compiling import operator_tree
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


ROAD = Schema.parse("cid int, sid int, xpos int")


def road_plan(text: str) -> list[KMonOp]:
    """The joins under constraints of a query over reports of cars, the topmost first."""
    query = read_query("q", text, {"Car": ROAD}, Functions(), {}, {})
    plan = planned(operator_tree(query.plan, 1_000_000)[0])
    assert not isinstance(plan, Refusal), plan
    return [part.work for part in plan.walk() if isinstance(part.work, KMonOp)]


LAST, ACTIVE = "Car [Partition By cid Rows 1] As L", "(Select Distinct cid From Car [Now]) As A"
STOPPED = (
    "(Select cid From Car [Partition By cid Rows 4] Group By cid Having Count(*) = 4 and "
    "Count(Distinct xpos) = 1) As S"
)


def test_relations_that_change_are_joined_by_the_keys_they_have_by_themselves() -> None:
    """The first one named is the parent."""
    (join,) = road_plan(f"Select L.cid From {LAST}, {ACTIVE} Where L.cid = A.cid")
    assert [(input.name, input.window) for input in join.inputs] == [
        ("last Car by cid", "changing"),
        ("distinct cid of Car", "changing"),
    ]
    assert join.edges == (JoinEdge(0, 1, ((0, 0),), one_one=False),)
    assert {id.type for id in constraint_ids(join)} == {"RIDS"}


def test_a_join_of_such_relations_has_the_key_of_its_root() -> None:
    seg = f"(Select L.cid, L.sid From {LAST}, {ACTIVE} Where L.cid = A.cid) As C"
    below, top = road_plan(f"Select Distinct C.sid From {seg}, {STOPPED} Where C.cid = S.cid")
    assert (len(top.inputs), len(below.inputs)) == (2, 2)
    assert top.inputs[0].key == (0,)
    assert [input.name for input in top.inputs] == ["join of Car", "groups of Car by cid"]
    assert (top.edges[0].parent, top.edges[0].child) == (0, 1)


def test_a_window_by_key_of_more_than_one_tuple_has_no_key() -> None:
    text = f"Select L.cid From Car [Partition By cid Rows 2] As L, {ACTIVE} Where L.cid = A.cid"
    (join,) = road_plan(text)
    assert join.inputs[0].key == ()
    assert [(edge.parent, edge.child) for edge in join.edges] == [(0, 1)]
