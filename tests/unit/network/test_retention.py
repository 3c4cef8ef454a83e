"""Joins whose windows keep some key groups: the join of what is kept, whatever cuts and shards."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from backend.cql import parse_query
from backend.model.schema import Schema
from backend.operators.network.core.blocks import Column64
from backend.operators.network.core.key_groups import N_GROUPS, KeyGroups
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import JoinTrees
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.retention import RetainedKey, retained_key
from backend.operators.network.stores.retaining import RetainTuning
from backend.systems.amri.core import AMRI
from backend.systems.cores import CoreKind
from backend.systems.stream.compiling import compile_queries
from tests.oracles.cql_semantics import Elements
from tests.oracles.network_windows import bag_at
from tests.oracles.retained_joins import retained_join_at
from tests.unit.network.query_runs import Answer, run_plan

SCHEMAS = {name: Schema.parse("k bigint, s string, v bigint") for name in ("A", "B", "C")}
LAST = 12
KEYS = (None, 0, 1, 2, 3, 5, 8, 13)
TWO = "Select A.k, A.s, A.v, B.k, B.s, B.v From A {a}, B {b} Where A.{on} = B.{on}"
THREE = (
    "Select A.k, A.s, A.v, B.k, B.s, B.v, C.k, C.s, C.v From A {a}, B {b}, C {c} "
    "Where A.{on} = B.{on} and B.v = C.v"
)


def compiled(
    *texts: str, kinds: Sequence[CoreKind] = (), sharing: bool = True, joins: JoinTrees = "mjoin"
) -> NetworkPlan:
    queries = [parse_query(f"q{n}", text, SCHEMAS) for n, text in enumerate(texts)]
    since = {query.name: 0 for query in queries}
    return compile_queries(
        queries, since=since, tick_us=1_000_000, kinds=kinds, sharing=sharing, joins=joins
    )


def key_of(plan: NetworkPlan) -> RetainedKey:
    ((joined, _),) = plan.working(JoinOp)
    key = retained_key(plan, joined.id)
    assert key is not None
    return key


def group_of(value: Any) -> int:
    """The group of a key, which is in no shard."""
    strings = Strings(MemoryRegions())
    is_text = isinstance(value, str)
    held = strings.code(value) if is_text else (value or 0)
    column = Column64(np.array([held]), np.array([value is not None]))
    return int(KeyGroups(strings if is_text else None).of(column)[0])


def tunings(key: RetainedKey, dropped: Sequence[int]) -> list[Mapping[str, Any]]:
    return [{id: RetainTuning(place, n) for id, place in key.windows} for n in dropped]


def bags(answer: Answer) -> list[Counter[Any]]:
    """The answer at each tick."""
    elements = [(row, tau, sign * n) for (row, tau, sign), n in answer.items()]
    return [bag_at(sorted(elements, key=lambda one: (one[1], -one[2])), t) for t in range(LAST)]


@st.composite
def histories(draw: Any) -> Elements:
    rows = st.tuples(st.sampled_from(KEYS), st.sampled_from("xyz"), st.integers(0, 2))
    times = st.lists(st.integers(0, LAST - 1), max_size=14)
    return [(draw(rows), tau) for tau in sorted(draw(times))]


WINDOWS = st.sampled_from(
    ["[Range 2 Seconds]", "[Range 9 Seconds]", "[Rows 3]", "[Range 4 Seconds Slide 3 Seconds]"]
    + ["[Now]", "[Rows Unbounded]", "[Partition By k Rows 1]"]
)


@given(st.data())
def test_the_answer_is_the_join_of_what_is_kept(data: st.DataObject) -> None:
    """At every tick, however the batches are cut, by a plan or an eddy, with shared stores or not;
    groups are dropped and kept again meanwhile."""
    kept = st.sampled_from(["[Range 3 Seconds]", "[Rows 4]"])
    text = data.draw(st.sampled_from([TWO, THREE])).format(
        a=data.draw(kept), b=data.draw(WINDOWS), c=data.draw(WINDOWS),
        on=data.draw(st.sampled_from("ks")),
    )  # fmt: skip
    kinds = data.draw(st.sampled_from([(), (AMRI,)]))
    plan = compiled(text, kinds=kinds, sharing=data.draw(st.booleans()))
    inputs = {name: data.draw(histories()) for name in SCHEMAS}
    turns = sorted(data.draw(st.sets(st.integers(1, LAST - 1), max_size=3)))
    levels = st.sampled_from([0, 1, 200, 512, 700, N_GROUPS - 1])
    dropped = [data.draw(levels) for _ in [*turns, LAST]]
    key = key_of(plan)
    found = run_plan(plan, inputs, SCHEMAS, [*turns, LAST], tunings=tunings(key, dropped))["q0"]
    every = list(range(1, LAST + 1))
    by_tick = [dropped[bisect_right(turns, tick - 1)] for tick in every]
    assert run_plan(plan, inputs, SCHEMAS, every, tunings=tunings(key, by_tick))["q0"] == found
    event(f"{len(key.windows)} windows, {'falls' if dropped != sorted(dropped) else 'rises'}")
    for tick, bag in enumerate(bags(found)):
        assert bag == retained_join_at(
            plan, inputs, dict(key.windows), group_of, lambda t: by_tick[t], tick
        ), (text, tick)


@given(st.data())
def test_it_is_a_subset_and_whole_again_once_windows_are(data: st.DataObject) -> None:
    text = THREE.format(a="[Range 3 Seconds]", b="[Range 2 Seconds]", c="[Rows 3]", on="k")
    plan, inputs = compiled(text), {name: data.draw(histories()) for name in SCHEMAS}
    dropped = [data.draw(st.integers(1, N_GROUPS - 1)), 0]
    whole = bags(run_plan(plan, inputs, SCHEMAS, [5, LAST])["q0"])
    kept = bags(
        run_plan(plan, inputs, SCHEMAS, [5, LAST], tunings=tunings(key_of(plan), dropped))["q0"]
    )
    assert all(part <= every for part, every in zip(kept, whole, strict=True))
    assert kept[9:] == whole[9:]
