"""Bounds that refute all queries of a plan, by bitmaps and value by value."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.conditions import And, Comparison, ContinuousQuery
from backend.model.events import SelectionPlan
from backend.systems.asc import layouts
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.shipping import shipped_plan
from backend.workloads.row_groups import UNKNOWN, Bounds
from tests.oracles.refuted import Range, is_refuted
from tests.strategies import NUMBERS_SCHEMA, conjunctive_queries

RANGES: st.SearchStrategy[Range] = st.one_of(
    st.none(),
    st.tuples(st.integers(-2, 16), st.integers(0, 6), st.booleans()).map(
        lambda r: (r[0] / 2, (r[0] + r[1]) / 2, r[2])
    ),
)


def bounds_of(known: Range) -> Bounds:
    """As statistics say it."""
    return UNKNOWN if known is None else Bounds(pa.array(known[:2], pa.float64()), known[2])


@given(
    conjunctive_queries(),
    st.fixed_dictionaries({name: RANGES for name in NUMBERS_SCHEMA.names}),
    st.booleans(),
)
def test_bitmaps_refute_what_no_value_suits(
    queries: list[ContinuousQuery], ranges: dict[str, Range], in_tiles: bool
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        if in_tiles:
            patch.setattr(layouts, "WHOLE_BYTES", 0)
        plan = SelectionPlan(1, "early drop", constructs.attributes)
        refuting = shipped_plan(constructs, plan, "drop").refuting
    known = {name: bounds_of(own) for name, own in ranges.items()}
    for _ in range(2):  # the second time from what is remembered
        assert refuting(known.__getitem__) == is_refuted(queries, ranges, NUMBERS_SCHEMA)


def test_ends_that_say_nothing_refute_nothing() -> None:
    query = ContinuousQuery("q", "S", "", And((Comparison("A1", "=", 3),)))
    constructs = build_constructs([query], NUMBERS_SCHEMA)
    plan = SelectionPlan(1, "early drop", constructs.attributes)
    refuting = shipped_plan(constructs, plan, "drop").refuting
    nan = float("nan")
    for ends, expected in (((5.0, 9.0), True), ((nan, nan), False), ((5.0, 1.0), False)):
        bounds = Bounds(pa.array(ends, pa.float64()), True)
        assert refuting({"A1": bounds}.__getitem__) is expected
    assert refuting(lambda a: Bounds(pa.array([], pa.float64()), True))
