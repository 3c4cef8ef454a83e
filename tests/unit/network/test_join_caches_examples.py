"""The worked examples of caches in pipelines (Babu 2005, 5.1.1, 5.4.1 to 5.4.4, 5.7.1; cards 6, 9,
11), and whole queries with windows of all kinds under tunings."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.joins.cache_rules import check_caches
from backend.operators.network.joins.join_tuning import CacheSpec, JoinTuning, Segment
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.stream.compiling import compile_queries
from storage.vocabulary.memory import PAGE_BYTES
from tests.unit.network.query_runs import run_plan
from tests.unit.network.query_texts import RELATIONS, SECOND, STREAMS, inputs, parsed
from tests.unit.network.test_join_caches_rules import OF_R1, PATH, path
from tests.unit.network.tuned_joins import fitting_together, possible_caches


def test_an_update_goes_through_its_pipeline() -> None:
    """5.1.1: <1> of R1 has two partners in R2, of which one has a partner in R3."""
    run = path()
    for row in ((1, 2), (1, 3), (2, 3)):
        run.one(1, row)
    run.one(2, (2,))
    assert run.one(0, (1,)) == [((1, 1, 2, 2), 0, 1)]
    assert run.operator.counts[0, :, 1].tolist() == [2, 1]


def test_a_cache_of_the_segment_of_r1() -> None:
    """5.4.1 to 5.4.3: a miss, a hit, an insert that counts and one that is ignored."""
    run = path(OF_R1)
    for row in ((1, 2), (1, 3), (2, 3)):
        run.one(1, row)
    run.one(2, (2,))
    assert run.one(0, (1,)) == [((1, 1, 2, 2), 0, 1)]
    assert run.entries(OF_R1) == {(1,): {(0, 0): 1}}
    assert run.one(0, (1,)) == [((1, 1, 2, 2), 0, 1)]
    assert run.profile.caches[OF_R1.id].hits == 1
    run.one(2, (3,))
    assert run.entries(OF_R1) == {(1,): {(0, 0): 1, (1, 1): 1}}
    assert run.profile.caches[OF_R1.id].inserts == 1
    assert sorted(run.one(0, (1,))) == [((1, 1, 2, 2), 0, 1), ((1, 1, 3, 3), 0, 1)]


def test_a_segment_without_the_prefix_invariant() -> None:
    """5.4.4: R2, R1 in the pipeline of R3, as R2 is joined with R3 first."""
    spec = CacheSpec("0,1|1", (0, 1), (1,), (Segment(2, 0, 1),), PAGE_BYTES)
    with pytest.raises(ValueError, match="the pipeline of input 1 does not begin with"):
        check_caches((spec,), (), PATH, 3)


def test_a_globally_consistent_cache_where_a_plain_one_has_no_place() -> None:
    """5.7.1: R6 reads R2, R3; {2, 3} fails, and with R1 as a witness it has the invariant."""
    texts = ("23456", "13546", "21456", "51236", "42316", "23451")
    orders = tuple(tuple(int(c) - 1 for c in text) for text in texts)
    work = JoinOp((tuple((i, 0) for i in range(6)),), None, orders)
    plain = CacheSpec("1,2|0", (1, 2), (0,), (Segment(5, 0, 1),), PAGE_BYTES)
    with pytest.raises(ValueError, match=r"the pipeline of input 1 does not begin with \[2\]"):
        check_caches((plain,), (), work, 6)
    check_caches((replace(plain, witnesses=(0,)),), (), work, 6)


def test_the_candidates_of_a_six_way_join() -> None:
    """5.5.1 (card 10.3): plain caches of two windows and more with the prefix invariant."""
    texts = ("23456", "13546", "21456", "51236", "42316", "21453")
    orders = tuple(tuple(int(c) - 1 for c in text) for text in texts)
    work = JoinOp((tuple((i, 0) for i in range(6)),), None, orders)
    plain = [one for one in possible_caches(work, orders) if not one.witnesses]
    found = {one.windows: sorted(r.pipeline + 1 for r in one.readers) for one in plain}
    assert found == {
        (0, 1): [3, 4, 6],
        (3, 4): [1, 2, 3, 6],
        (0, 1, 2): [4, 5],
        (0, 1, 2, 3, 4): [6],
    }


QUERIES = (
    "Select S.b, U.c, T.d From S [Range 2], T [Rows 2], U [Range 3] Where S.a = T.a and S.b = U.e",
    "Select S.a, x.a From S [Now], S [Rows 3] x, T [Rows 2] Where S.a = x.a and x.b = T.d",
    "Select S.a From S [Partition By a Rows 1], T [Range 4], U [Range 1] "
    "Where S.a = T.a and T.d = U.d",
    "Select S.a From S [Rows 2], R, T [Range 3] Where S.c = R.c and T.a = S.a and T.d > R.a",
    "Select x.a From (Select a, count(*) n From S [Range 3] Group By a) x, T [Rows 2], U [Range 2] "
    "Where x.a = T.a and x.n = U.d",
)


@st.composite
def tunings(draw: st.DrawFn, plan: NetworkPlan) -> dict[str, JoinTuning]:
    """For each join of the plan any orders, with caches."""
    found = {}
    for one in plan.operators:
        n = len(one.inputs)
        if isinstance(one.work, JoinOp) and n > 2:
            ways = [list(permutations([j for j in range(n) if j != i])) for i in range(n)]
            orders = tuple(draw(st.sampled_from(found)) for found in ways)
            work = replace(one.work, orders=orders)
            caches = draw(st.permutations(possible_caches(work, orders)))
            some = fitting_together(work, n, caches)
            found[one.id] = JoinTuning(orders, some, (0.3,) * n, two_phase=draw(st.booleans()))
    return found


@settings(deadline=None, max_examples=25)
@given(st.data(), st.sampled_from(QUERIES), inputs(6), st.integers(1, 3))
def test_queries_answer_the_same_under_tunings_that_change(
    data: st.DataObject, text: str, rows: dict[str, Any], n_shards: int
) -> None:
    """Windows of all kinds, stored relations, inputs whose tuples leave in any order, shards."""
    query = parsed(text)
    plan = compile_queries([query], since={"q": 0}, tick_us=SECOND, joins="mjoin")
    schemas, ends = {**STREAMS, **RELATIONS}, (2, 4, 5, 12)
    changing = [data.draw(tunings(plan)) for _ in ends]
    plain = run_plan(plan, rows, schemas, (12,))
    assert any(changing[0].values())
    assert run_plan(plan, rows, schemas, ends, n_shards, tunings=changing) == plain
