"""The operator without Spark: results never depend on order or profile; counts are the oracle's."""

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

from backend.model.conditions import Call, Fixed, Reference, TableName, WindowMember
from backend.model.filters import Filter, ProbeRule, Probing
from backend.model.functions import Function, Functions, Parameter
from backend.model.schema import Schema
from backend.operators.filters import operator as filter_operator
from backend.operators.filters.evaluators import (
    CallEvaluator,
    Evaluator,
    WindowEvaluator,
    make_evaluator,
)
from backend.operators.filters.operator import (
    ALIVE,
    ARRIVAL,
    BITS,
    FIRST,
    FLAW,
    MISFIT,
    RAW,
    REPORT,
    FilterOperator,
    Report,
    merged,
)
from backend.operators.filters.timing import Stopwatch
from backend.operators.flags import PROFILED, RECENT
from backend.workloads.functions import PrefixTable
from backend.workloads.library import lookup, probe
from backend.workloads.relations import SlidingRelation
from backend.workloads.sources import MemorySource
from tests.oracles import filter_executor


def scalar(number: int) -> Any:
    """Filter ``number``: digit of ``code`` says 0 drop, 1 pass, 2 raise, 3 unknown."""

    def function(code: str) -> bool | None:
        if code[number] == "2":
            raise ValueError(f"filter {number} cannot say")
        return {"0": False, "1": True, "3": None}[code[number]]

    return function


def evaluators(order: Sequence[int]) -> tuple[Evaluator, ...]:
    return tuple(CallEvaluator(scalar(x), False, ("code",), (None,), False) for x in order)


def batch_of(
    codes: Sequence[str | None], first: Sequence[int], bits: Sequence[int], profiled: Sequence[bool]
) -> pa.RecordBatch:
    n = len(codes)
    return pa.RecordBatch.from_pydict(
        {
            "code": pa.array(codes, pa.string()),
            FIRST: pa.array(first, pa.int32()),
            BITS: pa.array(bits, pa.int64()),
            RAW: pa.array([None] * n, pa.string()),
            FLAW: pa.array([None] * n, pa.string()),
            PROFILED: pa.array(profiled, pa.bool_()),
            RECENT: pa.array([False] * n, pa.bool_()),
            ARRIVAL: pa.array(range(n), pa.int64()),
        }
    )


def ran(operator: FilterOperator, batches: Sequence[pa.RecordBatch]) -> tuple[list[Any], Report]:
    rows, reports = [], []
    for batch in operator.run(iter(batches)):
        for row in batch.to_pylist():
            if row[REPORT] is None:
                rows.append(row[operator.attributes[0]])
            else:
                reports.append(row[REPORT])
    return rows, merged(reports, len(operator.order))


def two_batches(
    data: st.DataObject, codes: Sequence[str], native: Sequence[int], profiled: Sequence[bool]
) -> list[pa.RecordBatch]:
    """What native filters let through, or profile, cut anywhere."""
    drops = [[c[x] == "0" for x in native] for c in codes]
    first = [next((i for i, drop in enumerate(row) if drop), ALIVE) for row in drops]
    bits = [sum(1 << i for i, drop in enumerate(row) if drop) for row in drops]
    through = [i for i, f in enumerate(first) if f == ALIVE or profiled[i]]
    cut = data.draw(st.integers(0, len(through)))
    return [
        batch_of(
            [codes[i] for i in part],
            [first[i] for i in part],
            [bits[i] for i in part],
            [profiled[i] for i in part],
        )
        for part in (through[:cut], through[cut:])
    ]


@given(st.data())
@settings(max_examples=60)
def test_the_operator_is_the_pipeline(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 4))
    n_native = data.draw(st.integers(0, n - 1))
    order = [
        *data.draw(st.permutations(range(n_native))),
        *data.draw(st.permutations(range(n_native, n))),
    ]
    code = st.text("01", min_size=n, max_size=n)
    codes = data.draw(st.lists(code, max_size=30))
    profiled = data.draw(st.lists(st.booleans(), min_size=len(codes), max_size=len(codes)))
    rule: ProbeRule = data.draw(st.sampled_from(["all", "one", "next", "none"]))
    names = [f"F{x}" for x in order]
    probing = Probing(rule, data.draw(st.sampled_from(names)) if rule == "one" else None)

    operator = FilterOperator(
        ("code",), tuple(names), n_native, evaluators(order[n_native:]), probing
    )
    batches = two_batches(data, codes, order[:n_native], profiled)
    with patch.object(filter_operator, "SHOWN_TOGETHER", data.draw(st.sampled_from([1, 3, 4096]))):
        rows, report = ran(operator, batches)

    drops = [[c[x] == "0" for x in range(n)] for c in codes]
    slow = filter_executor.execute(drops, [f"F{x}" for x in range(n)], names, probing, profiled)
    assert rows == [c for c in codes if "0" not in c]
    asked = dict(zip(names, report.evaluated, strict=True))
    assert {k: v for k, v in asked.items() if k in names[n_native:]} == {
        k: v for k, v in slow.evaluated.items() if k in names[n_native:]
    }
    assert report.dropped[n_native:] == [slow.dropped[k] for k in names[n_native:]]
    assert report.profile().tolist() == slow.outcomes.tolist()
    assert report.n_passed == slow.n_passed
    assert report.errors == []


@given(st.lists(st.text("0123", min_size=3, max_size=3), max_size=25), st.integers(0, 9))
def test_what_is_emitted_and_kept_aside_does_not_depend_on_the_order(
    codes: list[str], seed: int
) -> None:
    rng = random.Random(seed)
    seen = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]):
        profiled = [rng.random() < 0.5 for _ in codes]
        batch = batch_of(codes, [ALIVE] * len(codes), [0] * len(codes), profiled)
        names = tuple(f"F{x}" for x in order)
        operator = FilterOperator(("code",), names, 0, evaluators(order), Probing("all"))
        rows, report = ran(operator, [batch])
        aside = [(raw, sorted(error.split("; "))) for raw, error in report.errors]
        seen.append((rows, aside))
    assert all(found == seen[0] for found in seen)
    rows, aside = seen[0]
    assert rows == [c for c in codes if set(c) <= {"1"}]
    kept = [c for c in codes if "2" in c and set(c) <= {"1", "2"}]
    assert [raw for raw, _ in aside] == [f'{{"code": "{c}"}}' for c in kept]
    if kept:
        number = kept[0].index("2")
        assert aside[0][1][0] == f"F{number}: ValueError: filter {number} cannot say"


def test_misfits_and_null_and_an_empty_batch() -> None:
    batch = batch_of([None, "1", "x"], [ALIVE, ALIVE, MISFIT], [0, 0, 0], [True, True, True])
    raw = pa.array([None, None, "foo,bar"], pa.string())
    flaw = pa.array([None, None, "does not fit the schema"], pa.string())
    batch = batch.set_column(batch.schema.get_field_index(RAW), RAW, raw)
    batch = batch.set_column(batch.schema.get_field_index(FLAW), FLAW, flaw)
    operator = FilterOperator(("code",), ("F0",), 0, evaluators([0]), Probing("all"))
    rows, report = ran(operator, [batch, batch.slice(0, 0)])
    assert rows == ["1"]
    assert report.errors == [("foo,bar", "does not fit the schema")]
    assert report.profile().tolist() == [[1]]  # NULL: unknown, so it is dropped
    assert ran(operator, []) == ([], Report(1))


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


def asked(condition: Call | WindowMember, rows: Sequence[int] = (0, 1, 2, 3)) -> tuple[Any, Any]:
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
            Call("lookup", (Reference("a"), TableName("homes"))),
            [PASS, DROP, DROP, RAISE],
            {3: "ValueError: 'home' is no IPv4 address"},
        ),
        (
            Call("lookup", (Reference("a"), TableName("homes")), negated=True),
            [DROP, DROP, PASS, RAISE],
            {3: "ValueError: 'home' is no IPv4 address"},
        ),
        (Call("probe", (Reference("k"), Fixed(3))), [PASS, DROP, DROP, PASS], {}),
        (Call("probe", (Reference("k"), Fixed(3)), True), [DROP, PASS, DROP, DROP], {}),
        (Call("always", ()), [PASS] * 4, {}),
        (
            Call("half", (Reference("x"),)),
            [RAISE, RAISE, DROP, RAISE],
            {
                0: "TypeError: it returned 0.5; expected True, False or None",
                1: "TypeError: it returned 0.0; expected True, False or None",
                3: "TypeError: it returned -1.0; expected True, False or None",
            },
        ),
        (
            Call("short", (Reference("x"),)),
            [PASS, PASS, DROP, PASS],
            {},
        ),
        (WindowMember("a", "T", "v", 2), [DROP, DROP, DROP, DROP], {}),
        (WindowMember("a", "T", "v", 3), [DROP, DROP, PASS, PASS], {}),
        (WindowMember("a", "T", "v", 3, True), [PASS, DROP, DROP, DROP], {}),
    ],
)
def test_evaluators(condition: Call | WindowMember, values: list[int], errors: Any) -> None:
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
        values, errors = asked(Call("inverse", (Reference("x"),)))
    assert values == [PASS, RAISE, DROP, DROP]
    assert list(errors) == [1]
    assert "FloatingPointError" in errors[1]


def test_costs_are_timed_by_selection() -> None:
    codes = ["01", "11", "10", "11"]
    batch = batch_of(codes, [ALIVE] * 4, [0] * 4, [True] * 4)
    operator = FilterOperator(("code",), ("F0", "F1"), 0, evaluators([0, 1]), Probing("all"))
    _, report = ran(operator, [batch])
    assert [[c.n_tuples for c in costs] for costs in report.costs] == [[4], [3, 1]]
    assert all(c.us > 0 for costs in report.costs for c in costs)
    assert report.tuples_us > 0
    assert report.profile_us > 0


def test_work_is_timed_by_the_processor_and_waiting_by_the_clock() -> None:
    watch = Stopwatch()
    time.sleep(0.02)
    assert watch.us() >= 20_000
    watch, started = Stopwatch(), time.perf_counter()
    assert sum(range(200_000)) > 0
    assert 0 < watch.us() <= (time.perf_counter() - started) * 1e6
