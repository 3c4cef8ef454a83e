"""Pipelined filters against the definition, whatever the order, the profile and the chunks."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.cql import parse_query
from backend.model.conditions import Comparison, Condition, FunctionPredicate, WindowMember
from backend.model.filters import DROPPED, PASSED, WHOLE_EVERY, Filter, Probing
from backend.model.functions import Function, Functions, Parameter
from backend.model.schema import Schema
from backend.operators.filters.native import NativeEvaluator
from backend.operators.filters.pipeline import PipelineOperator
from backend.systems.agreedy.pipeline import pipeline_of
from backend.workloads.loading import built_in
from backend.workloads.relations import SlidingRelation
from backend.workloads.sources import MemorySource
from tests.oracles.filter_executor import execute
from tests.oracles.selection import truth
from tests.strategies import MIXED_SCHEMA, conditions
from tests.unit.operators.chunks import (
    CONSTANTS,
    OPS,
    SCHEMA,
    VALUES,
    batch_of,
    chunks_of,
    random_rows,
    run,
)

NARROW = Schema.parse("id int, i int, x double, s string")
TEXT = """
Select * From S Where i between 2 and 8 and (x > 1.5 or s is null) and id <> 7
  and matches(s, 'a') and fragile(i) and not contains(s, 'zz')"""


def fragile(i: int) -> bool:
    """Raises for 5, drops 3."""
    if i == 5:
        raise ValueError("five")
    return i != 3


FUNCTIONS = Functions(
    {
        **built_in().functions,
        "fragile": Function("fragile", (Parameter("i", "int"),), fragile),
    }
)
QUERY = parse_query("q", TEXT, {"S": NARROW}, FUNCTIONS)
FILTERS = {f.name: f for f in pipeline_of(QUERY)}
PAIRS = list(permutations(FILTERS, 2))


def holds(condition: Condition, values: list[Any], attribute: str, type_name: str) -> list[bool]:
    schema = Schema.parse(f"{attribute} {type_name}")
    batch = batch_of(schema, [{attribute: v} for v in values])
    rows = batch.to_pylist()
    found = NativeEvaluator(condition).evaluate(batch, list(range(len(values))))  # type: ignore[arg-type]  # any places
    expected = [truth(condition, row, schema) is True for row in naive(rows)]
    assert (found.values == PASSED).tolist() == expected
    return expected


def naive(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Timestamps as the reference takes them."""
    return [
        {a: v.replace(tzinfo=None) if hasattr(v, "tzinfo") else v for a, v in row.items()}
        for row in rows
    ]


@pytest.mark.parametrize("attribute", list(CONSTANTS))
def test_every_comparison_of_every_type(attribute: str) -> None:
    found = SCHEMA.find(attribute)
    assert found is not None
    beyond = [2**70, -(2**70), 10**400, math.inf, -math.inf] if found.is_numeric else []
    for op in OPS:
        for constant in CONSTANTS[attribute] + beyond:
            atom = Comparison(attribute, op, constant)
            holds(atom, [None, *VALUES[attribute]], attribute, found.type)


@given(conditions(MIXED_SCHEMA), st.integers(0, 99))
def test_any_condition(condition: Condition, seed: int) -> None:
    rows = random_rows(random.Random(seed), 30)
    rows = [{a: row["w" if a == "g" else a] for a in MIXED_SCHEMA.names} for row in rows]
    batch = batch_of(MIXED_SCHEMA, rows)
    some = random.Random(seed).sample(range(30), 20)
    found = NativeEvaluator(condition).evaluate(batch, some)  # type: ignore[arg-type]  # any places
    passed = [truth(condition, rows[k], MIXED_SCHEMA) is True for k in some]
    assert (found.values == PASSED).tolist() == passed


def tuples(n: int, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        {
            "id": k,
            "i": rng.choice([None, *range(10)]),
            "x": rng.choice([None, 1.0, 1.5, 2.5, float("nan"), float("inf")]),
            "s": rng.choice([None, "a", "ba", "b", "azz", "it's a \\"]),
        }
        for k in range(n)
    ]


def drops(filter_: Filter, row: dict[str, Any]) -> bool:
    """By the definition; what raises drops nothing."""
    condition = filter_.condition
    if isinstance(condition, FunctionPredicate):
        value = row["i" if filter_.name == "fragile" else "s"]
        if value is None:
            return True
        verdicts: dict[str, bool] = {
            "matches": "a" not in str(value),
            "fragile": value == 3,
            "contains": "zz" in str(value),
        }
        return verdicts[filter_.name]
    assert not isinstance(condition, WindowMember)
    return truth(condition, row, NARROW) is not True


def operator(order: Sequence[str], probing: Probing, p: float) -> PipelineOperator:
    filters = tuple(FILTERS[name] for name in order)
    return PipelineOperator("q", NARROW, filters, FUNCTIONS, {}, probing, p)


@pytest.mark.parametrize(
    ("rule", "p", "n_spared"),
    [
        ("all", 0.0, 0),
        ("all", 1.0, 0),
        ("all", 0.8, 9),
        ("all", 1.0, 99),
        ("next", 0.4, 0),
        ("one", 0.4, 0),
        ("none", 1.0, 0),
    ],
)
def test_any_order_of_native_and_other_filters(rule: Any, p: float, n_spared: int) -> None:
    rows = tuples(500, 3)
    emitted, aside = set(), set()
    for turn in range(4):
        order = random.Random(turn).sample(list(FILTERS), len(FILTERS))
        spared = random.Random(turn).sample(PAIRS, min(n_spared, len(PAIRS)))
        probing = Probing(rule, order[3] if rule == "one" else None, frozenset(spared))
        ready = operator(order, probing, p)
        flaws: dict[int, str] = {}
        work, found = ready.open(0, 0), []
        for chunk in chunks_of(NARROW, rows, 1 + 3 * turn):
            done = work.take(chunk)
            ids = chunk.tuples.column("id").to_pylist()
            found += [ids[row] for row in done.rows]
            flaws |= {ids[row]: text for row, text in done.flaws.items()}
        counts = ready.merged([work.report()])
        emitted.add(tuple(found))
        aside.add(tuple(sorted(flaws.items())))

        table = [[drops(f, row) for f in FILTERS.values()] for row in rows]
        drawn = [d for c in chunks_of(NARROW, rows) for d in c.draws.tolist()]
        draws, whole = ([d < share * 2**32 for d in drawn] for share in (p, p / WHOLE_EVERY))
        slow = execute(table, list(FILTERS), order, probing, draws, whole)
        assert counts.n_evaluated == len(rows)
        assert list(counts.evaluated) == order
        assert counts.evaluated == slow.evaluated
        assert counts.dropped == slow.dropped
        assert len(found) == slow.n_matched - len(flaws)
        assert counts.n_passed == slow.n_passed
        assert sorted(counts.outcomes.tolist()) == sorted(slow.outcomes.tolist())
        assert (counts.whole is None) == (slow.whole is None) == (not spared)
        if counts.whole is not None and slow.whole is not None:
            assert counts.whole.n_passed == slow.whole.n_passed
            whole_rows = slow.outcomes[slow.whole.rows].tolist()
            assert sorted(counts.outcomes[counts.whole.rows].tolist()) == sorted(whole_rows)
        asked = {name: sum(c.n_tuples for c in costs) for name, costs in counts.costs.items()}
        assert asked == {name: slow.evaluated[name] + slow.probed[name] for name in order}
    assert len(emitted) == len(aside) == 1
    assert dict(aside.pop())
    assert emitted.pop()


def test_what_raised_and_was_dropped_by_none_is_kept_aside() -> None:
    rows = [{"id": k, "i": 5, "x": 2.0, "s": s} for k, s in enumerate(["a", "azz"])]
    order = ["fragile", *(name for name in FILTERS if name != "fragile")]
    ready = operator(order, Probing("all"), 1.0)
    work = ready.open(0, 0)
    (chunk,) = chunks_of(NARROW, rows, 1)
    done = work.take(chunk)
    assert (done.rows.tolist(), dict(done.flaws)) == ([], {0: "fragile: ValueError: five"})
    counts = ready.merged([work.report()])
    assert counts.raised["fragile"] == 2
    assert (counts.n_passed, counts.n_profiled) == (1, 2)
    assert counts.outcomes[0].tolist().count(DROPPED) == 1


def test_no_query_emits_nothing_and_counts_all() -> None:
    ready = PipelineOperator(None, NARROW, (), FUNCTIONS, {}, Probing("all"), 1.0)
    found, counts = run(ready, chunks_of(NARROW, tuples(50, 4)))
    assert (found, counts.n_evaluated, counts.n_profiled) == ({}, 50, 0)
    assert not ready.functions.functions
    assert ready.merged([]).outcomes.shape == (0, 0)


def test_a_window_is_looked_into_by_arrival_number() -> None:
    other = MemorySource([["a"], ["b"], ["c"], ["d"]], Schema.parse("s string"))
    member = WindowMember("s", "Other", "s", 2)
    window = Filter("w", "", "window", member)
    native = Filter("n", "", "native", Comparison("id", "<>", 2))
    relation = {member: SlidingRelation(other, "s", 2)}
    rows = [{"id": k, "i": 0, "x": 0.0, "s": s} for k, s in enumerate("aaabcd")]
    for order in ((window, native), (native, window)):
        ready = PipelineOperator("q", NARROW, order, FUNCTIONS, relation, Probing("all"), 1.0)
        found, counts = run(ready, chunks_of(NARROW, rows, 2))
        # as of tuple k the window holds the other stream's k-1 and k; its last two at the end
        assert sorted(found) == [0, 1, 4, 5]
        late = [DROPPED, PASSED] if order[0] is window else [PASSED, DROPPED]
        assert counts.outcomes.tolist() == [[DROPPED, DROPPED], late]
