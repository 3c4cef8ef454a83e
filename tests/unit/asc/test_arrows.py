"""Micro-arrows as a matrix and after a change of queries; the ways of single tuples."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.conditions import ContinuousQuery
from backend.model.events import MicroArrow
from backend.model.schema import Schema
from backend.operators.values import plain
from backend.systems.asc.arrows import arrow_matrix, carried_arrows
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.cost import PlanShape
from backend.systems.asc.matching import StopRule, sample_regions
from backend.systems.asc.paths import PathFinder
from backend.systems.asc.walk import jump_tables, walk_plan
from tests.strategies import NUMBERS_SCHEMA, conjunctive_queries, number_rows
from tests.unit.asc.papers import L12_QUERIES, L12_ROWS, L12_SCHEMA, C, columns, l12, query
from tests.unit.asc.stream import Stream, a_filters, settings
from tests.unit.asc.test_hybrid import ARROWS, SCHEMA_ORDER, some_arrows

Rows = list[dict[str, Any]]
HYBRID = PlanShape("hybrid", SCHEMA_ORDER, ARROWS)
ALL = sample_regions(l12(), columns(L12_ROWS))


def test_the_matrix_of_l12() -> None:
    matrix = arrow_matrix(l12(), ALL, HYBRID, "drop")
    assert (matrix.name, matrix.kind, matrix.n) == ("arrows", "arrows", 7)
    assert matrix.columns == SCHEMA_ORDER
    assert len(matrix.rows) == len(matrix.values) == 4 * 6
    at = matrix.rows.index("A2: (60, +inf)")
    assert matrix.values[at] == (None, None, None, 1.0)
    assert matrix.values[at - 1] == (None,) * 4
    stats = {name: vector[at] for name, vector in matrix.row_stats.items()}
    assert stats == {
        "place": 1,
        "row": 5,
        "support": 1,
        "gain": 1.0,
        "hit_prob": pytest.approx(3 / 7),  # t2, t5, t6
        "followed_prob": pytest.approx(3 / 7),
    }
    assert matrix.row_stats["support"][at - 1] is None
    json.dumps([matrix.values, dict(matrix.row_stats)])


def test_the_matrix_without_a_sample_and_of_many_regions() -> None:
    matrix = arrow_matrix(l12(), ALL[:0], HYBRID, "drop")
    assert set(matrix.row_stats["hit_prob"]) == {None}
    many = build_constructs(
        [query(f"q{j}", C("x", "=", j), C("y", "<", 3)) for j in range(600)],
        Schema.parse("x int, y int"),
    )
    regions = sample_regions(many, {"x": [1, 1, 4], "y": [1, 2, 5]})
    shape = PlanShape("hybrid", ("x", "y"), (MicroArrow("x", 1000, "y", 20, 0.25),))
    found = arrow_matrix(many, regions, shape, "drop")
    assert found.rows == ("x: = 1", "x: = 4", "x: = 499", "y: (-inf, 3)", "y: (3, +inf)")
    assert found.row_stats["hit_prob"][0] == pytest.approx(2 / 3)


def test_arrows_of_split_merged_and_vanished_regions() -> None:
    """§13: split regions inherit, merged ones lose, arrows to vanished constructs are dropped."""
    arrows = (
        MicroArrow("A1", 0, "A2", 1, 0.0),
        MicroArrow("A1", 3, "A2", 9, 0.5),  # (30, 70)
        MicroArrow("A1", 5, "A4", 9, 0.5),  # (70, +inf)
        MicroArrow("A2", 2, "A3", 9, 0.5),  # = 20
    )
    split = build_constructs([*L12_QUERIES, query("q5", C("A1", "=", 50))], L12_SCHEMA)
    found = carried_arrows(arrows, l12(), split)
    assert {(a.attribute, a.region, a.target) for a in found} == {
        ("A1", 0, "A2"),
        ("A1", 3, "A2"),  # (30, 50)
        ("A1", 4, "A2"),  # = 50
        ("A1", 5, "A2"),  # (50, 70)
        ("A1", 7, "A4"),  # (70, +inf)
        ("A2", 2, "A3"),
    }
    assert {a.support for a in found if a.region == 4} == {9}
    back = carried_arrows(found, split, l12())
    kept = {(a.attribute, a.region) for a in back}
    assert ("A1", 3) not in kept  # (30, 50), = 50 and (50, 70) were merged
    assert kept == {("A1", 0), ("A1", 5), ("A2", 2)}
    fewer = build_constructs([L12_QUERIES[0]], L12_SCHEMA)  # A1 < 70, A3 >= 50
    assert carried_arrows(arrows, l12(), fewer) == ()


@given(conjunctive_queries(), conjunctive_queries(), number_rows(), st.integers(0, 99))
def test_carried_arrows_lead_values_where_they_led(
    old: list[ContinuousQuery], new: list[ContinuousQuery], rows: Rows, seed: int
) -> None:
    before = build_constructs(old, NUMBERS_SCHEMA)
    after = build_constructs(new, NUMBERS_SCHEMA)
    arrows = some_arrows(before, seed)
    found = carried_arrows(arrows, before, after)
    jump_tables(after, found)
    led = {(a.attribute, a.region): a.target for a in arrows}
    for arrow in found:
        construct = after.constructs[arrow.attribute]
        for row in rows:
            if construct.region_of(row[arrow.attribute]) == arrow.region:
                origin = before.constructs[arrow.attribute].region_of(row[arrow.attribute])
                assert led[arrow.attribute, origin] == arrow.target


def test_the_way_of_t6() -> None:
    """Example 7: A1, then A2 and A4 along micro-arrows, where it is dropped."""
    (path,) = PathFinder(l12()).paths(HYBRID, "drop", [L12_ROWS[5]], ALL[5:6])
    assert path["values"] == L12_ROWS[5]
    assert path["end"] == "dropped"
    assert path["steps"] == [
        {"attribute": "A1", "row": 5, "left": 2, "by": "first", "region": "(70, +inf)"},
        {"attribute": "A2", "row": 5, "left": 1, "by": "micro", "region": "(60, +inf)"},
        {"attribute": "A4", "row": 3, "left": 0, "by": "micro", "region": "(10, 40)"},
    ]
    (seventh,) = PathFinder(l12()).paths(HYBRID, "drop", [L12_ROWS[6]], ALL[6:])
    assert [s["by"] for s in seventh["steps"]] == ["first", "micro", "macro", "macro"]
    assert seventh["end"] == "matched"


@given(
    conjunctive_queries(),
    number_rows(),
    st.integers(0, 99),
    st.sampled_from(["resolved", "drop"]),
)
def test_ways_are_those_of_the_plan(
    queries: list[ContinuousQuery], rows: Rows, seed: int, rule: StopRule
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    regions = sample_regions(constructs, columns(rows))
    shape = PlanShape("hybrid", constructs.attributes, some_arrows(constructs, seed))
    walked = walk_plan(constructs, regions, shape.order, shape.arrows, rule)
    for t, path in enumerate(PathFinder(constructs).paths(shape, rule, rows, regions)):
        ways = [step["attribute"] for step in path["steps"]]
        was = {a for a, v in zip(shape.order, walked.visited[t], strict=True) if v}
        assert len(ways) == len(was) == walked.visits[t]
        assert set(ways) == was
        assert (path["end"] == "matched") == bool(walked.grb[t].any() or not ways)
        left = [step["left"] for step in path["steps"]]
        assert left == sorted(left, reverse=True)
    free = PlanShape("no early drop", constructs.attributes)
    for path in PathFinder(constructs).paths(free, rule, rows, regions):
        assert [step["attribute"] for step in path["steps"]] == list(free.order)


def test_values_are_written_as_json_can() -> None:
    assert plain(date(2013, 1, 2)) == "2013-01-02"
    assert plain(datetime(2013, 1, 2, 3)) == "2013-01-02T03:00:00"
    assert plain(float("nan")) == "nan"
    assert plain(np.int64(7)) == 7
    assert plain(None) is None


def test_the_last_sampled_tuples_are_followed() -> None:
    stream = Stream(settings(), profile_prob=1.0)
    values = a_filters(1000)
    stream.run(values)
    decision = list(stream.decisions())[-1]
    paths = decision.detail["paths"]
    assert len(paths) == 6
    last = [{a: v[t] for a, v in values.items()} for t in range(994, 1000)]
    assert [path["values"] for path in paths] == last
