"""What queries are compiled to: where conditions and columns go, what is shared."""

from __future__ import annotations

import pickle
from dataclasses import replace
from textwrap import dedent, indent
from typing import Any, Final

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from backend.cql.answers import Implicit
from backend.cql.claims import NotRun
from backend.cql.nodes import Node
from backend.cql.parser import plan_of
from backend.cql.runnable import check
from backend.model.conditions import TRUE, ContinuousQuery
from backend.operators.network.core.job import Policy, Schedule
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import JoinTrees, OperatorWork
from backend.operators.network.expressions.expressions import compile_expression
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.select_project import ProjectOp, SelectOp
from backend.systems.stream.compiling import compile_queries
from backend.systems.stream.explaining import explain
from tests.unit.cql.queries import CATALOG, queries
from tests.unit.network.query_runs import run_plan
from tests.unit.network.query_texts import (
    RELATIONS,
    SECOND,
    STREAMS,
    compiled,
    inputs,
    parsed,
    query_texts,
)
from tests.unit.network.test_queries import CUTS, END, LAST, runnable

IMPLICIT: Final[tuple[Implicit, ...]] = ("unwindowed", "monotonic", "never")


def tree_of(text: str, joins: JoinTrees = "mjoin") -> str:
    """The operators of a query, without the line that says what is spread."""
    return "\n".join(explain(compiled(text, joins=joins)).splitlines()[1:])


# ---------------------------------------------------------------------- rewrites


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (
            "Select a From S [Range 5] Where b > 1",
            """
            seq-window [Range 5 Seconds]
              project a
                select b > 1
                  stream S, by a
            """,
        ),
        (
            "Select a From S [Rows 5] Where b > 1",
            """
            project a
              select b > 1
                seq-window [Rows 5]
                  stream S, by a
            """,
        ),
        (
            "Select b From S [Partition By a Rows 5] Where a = 1 and c > 'x'",
            """
            project b
              select a = 1 and c > 'x'
                seq-window [Partition By a Rows 5]
                  stream S
            """,
        ),
        (
            "Select S.b, T.d From S [Rows 9], T [Range 5] Where S.a = T.a and S.a > 10 and S.b < d",
            """
            project b, d
              binary-join a and b < d
                select a > 10
                  seq-window [Rows 9]
                    stream S
                seq-window [Range 5 Seconds]
                  select a > 10
                    stream T
            """,
        ),
        (
            "Select Istream(x.b) From S x, T y, U z Where x.a = y.a and y.a = z.d and y.d = x.a",
            """
            project b
              mjoin a = d
                stream S, by a
                project a
                  select a = d
                    stream T, by a
                stream U, by d
            """,
        ),
        (
            "Select a From (Select a, b From S [Now] Union Select a, d From T [Now]) Where b = 1",
            """
            union union
              seq-window [Now]
                project a
                  select b = 1
                    stream S, by a
              seq-window [Now]
                project a
                  select d = 1
                    stream T, by a
            """,
        ),
        (
            "Select a, sum(b) As n From S [Range 2] Group By a Having a > 1 and sum(b) > 2",
            """
            project a, sum(b)
              select sum(b) > 2
                aggregate sum(b) by a
                  seq-window [Range 2 Seconds]
                    select a > 1
                      stream S, by a
            """,
        ),
        (
            "Select min(b), min(Distinct b), count(*) From S [Now] Group By a",
            """
            project min(b), min(b), count(*)
              aggregate min(b), count(*) by a
                seq-window [Now]
                  stream S
            """,
        ),
        (
            "Istream(Select a + 1 As n From S [Rows Unbounded] Where b > 1)",
            """
            project a + 1
              select b > 1
                stream S, by a
            """,
        ),
        (
            "Select a From (Select a From S Where b > 1) [Rows 3]",
            """
            seq-window [Rows 3]
              i-stream Istream
                project a
                  select b > 1
                    stream S
            """,
        ),
        (
            "Select e From U [Now] Where e between 1 and 2 and d + 1 not in (Select a From R)",
            """
            project e
              antijoin not in: d + 1 = a
                project e, d + 1
                  seq-window [Now]
                    select e between 1.0 and 2.0
                      stream U, by e
                relation R
            """,
        ),
        (
            "Select S.a, U.d From S, U Where S.a = U.e",
            """
            project a, d
              binary-join a = e
                stream S
                stream U
            """,
        ),
        (
            "Select x.e From U x, U y Where x.e = y.e",
            """
            project e
              binary-join e
                select e = e
                  stream U, by e
                stream U, by e
            """,
        ),
        (
            "Select Distinct c From S Where 1 = 2",
            """
            duplicate-eliminate Distinct
              select 1 = 2
                stream S, by c
            """,
        ),
        (
            "Select 1 As x From S [Now] Having true",
            """
            project 1
              select true
                aggregate count(*)
                  seq-window [Now]
                    stream S
            """,
        ),
        (
            "Select count(*) From S [Range 5] Where c like 'x%'",
            """
            aggregate count(*)
              seq-window [Range 5 Seconds]
                select c like 'x%'
                  stream S
            """,
        ),
    ],
)
def test_operators_of_a_query(text: str, tree: str) -> None:
    assert tree_of(text) == indent(dedent(tree).strip(), "  ")


def test_expressions_that_double_at_each_level_stay_small() -> None:
    text = "S"
    for _ in range(25):
        text = f"(Select a + a As a From {text})"
    plan = compiled(f"Select a From {text} Where a > 1")
    assert max(len(repr(one.work)) for one in plan.operators) < 20_000
    rows: dict[str, Any] = {"S": [((1, 0, "x"), 0)]}
    found = run_plan(plan, rows, STREAMS, [1])["q0"]
    assert found == {((2**25,), 0, 1): 1}


def test_binary_joins_begin_with_what_is_equal() -> None:
    text = "Select x.a, y.d, z.c From S x, U z, T y Where x.a = y.a and y.d = z.d and x.b < z.e"
    tree = """
        project a, d, c
          binary-join d and b < e
            project a, b, d
              binary-join a
                stream S
                stream T
            stream U
    """
    assert tree_of(text, "binary") == indent(dedent(tree).strip(), "  ")


def test_only_columns_that_are_needed_are_read() -> None:
    plan = compiled("Select count(*) From S [Range 5] Where c like 'x%'")
    (read,) = (one.work for one in plan.operators if isinstance(one.work, StreamInput))
    assert read == StreamInput("S", (2,))


@pytest.mark.parametrize(
    ("text", "is_fifo"),
    [
        ("Select a, b From S [Rows 3] Where a > b", True),
        ("Select a + 1 From S [Range 3]", True),
        ("Select a From S [Partition By a Rows 2]", False),
        ("Select Distinct a From S [Rows 3]", False),
        ("Select S.a From S [Rows 3], T Where S.a = T.a", False),
        ("Select S.a From S, T Where S.a = T.a", True),
        ("Select a, count(*) From S Group By a", False),
        ("Select a From S Except Select a From T", False),
    ],
)
def test_some_elements_are_taken_away_in_the_order_they_came(text: str, is_fifo: bool) -> None:
    plan = compiled(text)
    assert plan.operator(plan.answers["q0"].operator).fifo is is_fifo


# ---------------------------------------------------------------------- sharing


def ids(plan: NetworkPlan) -> set[str]:
    return {one.id for one in plan.operators}


def test_what_several_queries_do_alike_is_one_operator() -> None:
    first = "Select S.a, b From S [Range 5], T [Rows 2] Where S.a = T.a"
    second = "Select T.a, sum(b) From S [Range 5], T [Rows 2] Where S.a = T.a Group By T.a"
    alone = [ids(compiled(text)) for text in (first, second)]
    both = compiled(first, second)
    assert ids(both) == alone[0] | alone[1]
    assert len(alone[0] & alone[1]) >= 5
    assert len(both.groups) == 1
    later = compiled(first, second, since=(0, 3))
    assert len(ids(later)) == len(alone[0]) + len(alone[1])
    assert len(later.groups) == 2


def test_an_operator_stands_behind_its_inputs_and_in_one_group() -> None:
    texts = ["Select a From S", "Select a, max(b) From S [Rows 3] Group By a", "Select d From T"]
    plan = compiled(*texts)
    seen: set[str] = set()
    for one in plan.operators:
        assert set(one.inputs) <= seen
        seen.add(one.id)
    grouped = [id for group in plan.groups for id in group.operators]
    assert sorted(grouped) == sorted(seen)


def test_what_runs_in_one_shard_is_apart_from_what_every_shard_reads() -> None:
    spread = "Select S.a From S [Now], R Where S.b > R.a"
    alone = "Select max(S.a) From S [Now], R Where S.b > R.a"
    plan = compiled(spread, alone)
    assert [bool(group.keys) for group in plan.groups] == [True, False]


@settings(deadline=None, max_examples=30)
@given(
    st.lists(query_texts(), min_size=2, max_size=3),
    inputs(LAST),
    CUTS,
    st.integers(1, 2),
    st.sampled_from(["fifo", "round_robin", "greedy", "chain"]),
    st.integers(1, 3),
)
def test_queries_answer_the_same_beside_others(
    texts: list[str],
    rows: dict[str, Any],
    cuts: list[int],
    n_shards: int,
    policy: Policy,
    block: int,
) -> None:
    queries = [replace(runnable(text), name=f"q{n}") for n, text in enumerate(texts)]
    since = {query.name: 0 for query in queries}
    schemas = {**STREAMS, **RELATIONS}
    plan = compile_queries(queries, since=since, tick_us=SECOND)
    schedule = Schedule(policy=policy, block_tuples=block, work=1.0, load=4.0)
    together = run_plan(plan, rows, schemas, [*cuts, END], n_shards, schedule)
    for query in queries:
        own = compile_queries([query], since=since, tick_us=SECOND)
        assert ids(own) <= ids(plan)
        assert run_plan(own, rows, schemas, [END])[query.name] == together[query.name]


def test_one_shard_shares_what_keys_would_part() -> None:
    by_a = parsed("Select a, count(*) As n From S [Range 5] Group By a")
    by_b = replace(parsed("Select b, count(*) As n From S [Range 5] Group By b"), name="r")
    since = {"q": 0, "r": 0}
    parted = compile_queries([by_a, by_b], since=since, tick_us=SECOND)
    shared = compile_queries([by_a, by_b], since=since, tick_us=SECOND, keyed=False)
    assert {len(group.keys) for group in parted.groups} == {1}
    assert all(not group.keys for group in shared.groups)
    assert "There is one shard" in shared.groups[0].why
    rows = {"S": [((1, 2, "x"), 0), ((1, 3, None), 4)], "T": [], "U": [], "R": []}
    schemas = {**STREAMS, **RELATIONS}
    assert run_plan(shared, rows, schemas, [END]) == run_plan(parted, rows, schemas, [END])


# ---------------------------------------------------------------------- any query


@settings(deadline=None, max_examples=200)
@given(queries(), st.sampled_from(["mjoin", "binary"]), st.sampled_from(IMPLICIT))
def test_whatever_runs_is_compiled(text: str, joins: JoinTrees, implicit: Implicit) -> None:
    found = plan_of(text, CATALOG)
    try:
        check(found)
    except NotRun:
        reject()
    query = ContinuousQuery("q", "S", text, TRUE, plan=found)
    plan = compile_queries(
        [query], implicit_istream=implicit, since={"q": 0}, tick_us=SECOND, joins=joins
    )
    assert pickle.loads(pickle.dumps(plan)) == plan
    top = plan.operator(plan.answers["q"].operator)
    assert [one.type for one in top.fields] == [one.type for one in found.fields]
    strings = Strings(MemoryRegions())
    for one in plan.operators:
        fields = [field for id in one.inputs for field in plan.operator(id).fields]
        for node in expressions_of(one.work):
            compile_expression(node, fields, strings)


def expressions_of(work: OperatorWork) -> list[Node]:
    if isinstance(work, SelectOp):
        return [work.condition]
    if isinstance(work, JoinOp):
        return [] if work.residual is None else [work.residual]
    return list(work.expressions) if isinstance(work, ProjectOp) else []
