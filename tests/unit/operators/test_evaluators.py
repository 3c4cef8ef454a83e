"""Filters that are called: what they answer, raise and take, in any order of the pipeline."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.model.conditions import Fixed, FunctionPredicate, Reference, TableName, WindowMember
from backend.model.filters import Filter, ProbeRule, Probing
from backend.model.functions import Function, Functions, Parameter
from backend.model.schema import Schema
from backend.operators.contract import Chunk
from backend.operators.filters import pipeline
from backend.operators.filters.counts import FilterCounts
from backend.operators.filters.evaluators import ARRIVAL, WindowEvaluator, make_evaluator
from backend.operators.filters.pipeline import PipelineOperator
from backend.operators.filters.timing import Stopwatch
from backend.workloads.functions import PrefixTable
from backend.workloads.library import lookup, probe
from backend.workloads.relations import SlidingRelation
from backend.workloads.sources import MemorySource
from tests.oracles import filter_executor


def scalar(number: int) -> Function:
    """Filter ``number``: digit of ``code`` says 0 drop, 1 pass, 2 raise, 3 unknown."""

    def function(code: str) -> bool | None:
        if code[number] == "2":
            raise ValueError(f"filter {number} cannot say")
        return {"0": False, "1": True, "3": None}[code[number]]

    return Function(f"F{number}", (Parameter("code", "string"),), function)


def ran(
    order: Sequence[int],
    probing: Probing,
    codes: Sequence[str | None],
    profiled: Sequence[bool],
    cut: int = 0,
) -> tuple[list[Any], list[tuple[Any, str]], FilterCounts]:
    """Codes emitted, codes kept aside with their errors, and counts; of two chunks."""
    functions = Functions({f"F{x}": scalar(x) for x in order})
    filters = tuple(
        Filter(f"F{x}", "", "function", FunctionPredicate(f"F{x}", (Reference("code"),)))
        for x in order
    )
    schema = Schema.parse("code string")
    operator = PipelineOperator("q", schema, filters, functions, {}, probing, 0.5)
    work, emitted, aside = operator.open(0, 0), [], []
    for part in (slice(0, cut), slice(cut, None)):
        tuples = pa.RecordBatch.from_pydict({"code": pa.array(codes[part], pa.string())})
        draws = np.where(np.array(profiled[part], dtype=bool), 0, 2**32 - 1).astype(np.uint32)
        found = work.take(Chunk(tuples, draws))
        emitted += [codes[part][row] for row in found.rows]
        aside += [(codes[part][row], text) for row, text in found.flaws.items()]
        assert found.query_ids.to_pylist() == [["q"]] * len(found.rows)
    return emitted, aside, operator.merged([work.report()])


@given(st.data())
@settings(max_examples=60)
def test_the_operator_is_the_pipeline(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 4))
    order = data.draw(st.permutations(range(n)))
    codes = data.draw(st.lists(st.text("01", min_size=n, max_size=n), max_size=30))
    profiled = data.draw(st.lists(st.booleans(), min_size=len(codes), max_size=len(codes)))
    rule: ProbeRule = data.draw(st.sampled_from(["all", "one", "next", "none"]))
    names = [f"F{x}" for x in order]
    probing = Probing(rule, data.draw(st.sampled_from(names)) if rule == "one" else None)
    cut = data.draw(st.integers(0, len(codes)))
    with patch.object(pipeline, "SHOWN_TOGETHER", data.draw(st.sampled_from([1, 3, 4096]))):
        emitted, aside, counts = ran(order, probing, codes, profiled, cut)

    drops = [[c[x] == "0" for x in range(n)] for c in codes]
    slow = filter_executor.execute(drops, [f"F{x}" for x in range(n)], names, probing, profiled)
    assert emitted == [c for c in codes if "0" not in c]
    assert counts.evaluated == slow.evaluated
    assert counts.dropped == slow.dropped
    assert counts.outcomes.tolist() == slow.outcomes.tolist()
    assert counts.n_passed == slow.n_passed
    assert aside == []


@given(st.lists(st.text("0123", min_size=3, max_size=3), max_size=25), st.integers(0, 9))
def test_what_is_emitted_and_kept_aside_does_not_depend_on_the_order(
    codes: list[str], seed: int
) -> None:
    rng = random.Random(seed)
    seen = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]):
        profiled = [rng.random() < 0.5 for _ in codes]
        emitted, aside, _ = ran(order, Probing("all"), codes, profiled)
        seen.append((emitted, sorted((raw, sorted(text.split("; "))) for raw, text in aside)))
    assert all(found == seen[0] for found in seen)
    emitted, aside_sorted = seen[0]
    assert emitted == [c for c in codes if set(c) <= {"1"}]
    kept = sorted(c for c in codes if "2" in c and set(c) <= {"1", "2"})
    assert [raw for raw, _ in aside_sorted] == kept
    if kept:
        number = kept[0].index("2")
        assert aside_sorted[0][1][0] == f"F{number}: ValueError: filter {number} cannot say"


def test_null_is_unknown_and_dropped() -> None:
    emitted, aside, counts = ran([0], Probing("all"), [None, "1"], [True, True])
    assert (emitted, aside) == (["1"], [])
    assert counts.outcomes.tolist() == [[1]]
    assert ran([0], Probing("all"), [], [])[2].n_evaluated == 0


SCHEMA = Schema.parse("a string, k bigint, x double")
FUNCTIONS = Functions(
    {
        "lookup": Function("lookup", (Parameter("address", "string"),), lookup),
        "probe": Function("probe", (Parameter("key", "bigint"),), probe, whole_columns=True),
        "half": Function("half", (Parameter("x", "double"),), lambda x: x / 2),
        "inverse": Function(
            "inverse", (Parameter("x", "double"),), lambda x: 1 / x.astype(int) > 0, True
        ),
        "short": Function("short", (Parameter("x", "double"),), lambda x: np.array([True]), True),
        "always": Function("always", (), lambda: True),
    },
    {"homes": PrefixTable(["10.0.0.0/8"])},
)
TUPLES = pa.RecordBatch.from_pydict(
    {
        "a": ["10.1.2.3", None, "8.8.8.8", "home"],
        "k": [5, 20_000, None, 7],
        "x": [1.0, 0.0, None, -2.0],
        ARRIVAL: pa.array([0, 1, 2, 3], pa.int64()),
    }
)


def asked(
    condition: FunctionPredicate | WindowMember, rows: Sequence[int] = (0, 1, 2, 3)
) -> tuple[Any, Any]:
    source = MemorySource([["8.8.8.8"], ["home"], ["x"], [None]], Schema.parse("v string"))
    relations = {}
    if isinstance(condition, WindowMember):
        relations[condition] = SlidingRelation(source, condition.column, condition.rows)
    made = make_evaluator(Filter("f", "", "function", condition), FUNCTIONS, relations)
    made.prepare(TUPLES)
    found = made.evaluate(TUPLES, np.array(rows, dtype=np.intp))
    return found.values.tolist(), found.errors


PASS, DROP, RAISE = 0, 1, 2


@pytest.mark.parametrize(
    ("condition", "values", "errors"),
    [
        (
            FunctionPredicate("lookup", (Reference("a"), TableName("homes"))),
            [PASS, DROP, DROP, RAISE],
            {3: "ValueError: 'home' is no IPv4 address"},
        ),
        (
            FunctionPredicate("lookup", (Reference("a"), TableName("homes")), negated=True),
            [DROP, DROP, PASS, RAISE],
            {3: "ValueError: 'home' is no IPv4 address"},
        ),
        (FunctionPredicate("probe", (Reference("k"), Fixed(3))), [PASS, DROP, DROP, PASS], {}),
        (
            FunctionPredicate("probe", (Reference("k"), Fixed(3)), True),
            [DROP, PASS, DROP, DROP],
            {},
        ),
        (FunctionPredicate("always", ()), [PASS] * 4, {}),
        (
            FunctionPredicate("half", (Reference("x"),)),
            [RAISE, RAISE, DROP, RAISE],
            {
                0: "TypeError: it returned 0.5; expected True, False or None",
                1: "TypeError: it returned 0.0; expected True, False or None",
                3: "TypeError: it returned -1.0; expected True, False or None",
            },
        ),
        (
            FunctionPredicate("short", (Reference("x"),)),
            [PASS, PASS, DROP, PASS],
            {},
        ),
        (WindowMember("a", "T", "v", 2), [DROP, DROP, DROP, DROP], {}),
        (WindowMember("a", "T", "v", 3), [DROP, DROP, PASS, PASS], {}),
        (WindowMember("a", "T", "v", 3, True), [PASS, DROP, DROP, DROP], {}),
    ],
)
def test_evaluators(
    condition: FunctionPredicate | WindowMember, values: list[int], errors: Any
) -> None:
    assert asked(condition) == (values, errors)


def test_a_window_is_indexed_anew_only_for_what_is_not_covered() -> None:
    source = MemorySource([["x"], ["y"], ["z"], ["x"]], Schema.parse("v string"))
    evaluator = WindowEvaluator(SlidingRelation(source, "v", 1), "a", False)

    def asked_at(*arrivals: int) -> list[int]:
        values = pa.array(["x"] * len(arrivals))
        batch = pa.RecordBatch.from_pydict({"a": values, ARRIVAL: pa.array(arrivals, pa.int64())})
        evaluator.prepare(batch)
        found = evaluator.evaluate(batch, np.arange(len(arrivals)))
        return list(found.values)

    assert asked_at(0, 1, 2) == [PASS, DROP, DROP]
    index = evaluator.index
    assert asked_at(1) == [DROP]
    assert evaluator.index is index
    assert asked_at(2, 3) == [DROP, PASS]
    assert evaluator.index is not index


def test_a_whole_column_function_that_raises_is_asked_tuple_by_tuple() -> None:
    with np.errstate(divide="raise"):
        values, errors = asked(FunctionPredicate("inverse", (Reference("x"),)))
    assert values == [PASS, RAISE, DROP, DROP]
    assert list(errors) == [1]
    assert "FloatingPointError" in errors[1]


def test_costs_are_timed_by_selection() -> None:
    _, _, counts = ran([0, 1], Probing("all"), ["01", "11", "10", "11"], [True] * 4)
    asked_about = {name: [c.n_tuples for c in costs] for name, costs in counts.costs.items()}
    assert asked_about == {"F0": [4], "F1": [3, 1]}
    assert all(c.us > 0 for costs in counts.costs.values() for c in costs)
    assert counts.tuples_us > 0
    assert counts.profile_us > 0


def test_work_is_timed_by_the_processor_and_waiting_by_the_clock() -> None:
    watch = Stopwatch()
    time.sleep(0.02)
    assert watch.us() >= 20_000
    watch, started = Stopwatch(), time.perf_counter()
    assert sum(range(200_000)) > 0
    assert 0 < watch.us() <= (time.perf_counter() - started) * 1e6
