"""The hybrid view: columns, cells and arrows of the engine's matrix, ways of sampled tuples."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from backend.systems.asc.arrows import arrow_matrices
from dashboard.systems.asc.hybrid_figure import CELL_PX, lay_out
from dashboard.systems.asc.hybrid_view import (
    MOST_REGIONS,
    NO_WAYS,
    Ways,
    build_hybrid,
    build_ways,
    named_decision,
)
from storage.tables.rows import DecisionEntry
from storage.vocabulary.records import Matrix
from tests.unit.asc.stream import Stream, a_filters, settings, tuples


def hybrid_stream() -> Stream:
    knobs = settings(ordering="hybrid", stop_rule="drop", no_drop_visit_cost=1.0)
    stream = Stream(knobs, profile_prob=0.5)
    stream.run(a_filters(3000))
    stream.run(tuples(3000, 4))
    assert stream.core.plan.arrows
    return stream


def engine_matrix(stream: Stream) -> Matrix:
    """The matrix as the store gives it back."""
    core = stream.core
    (data,) = arrow_matrices(core.constructs, core.profile_regions, core.plan, core.stop_rule)
    found = json.loads(json.dumps(asdict(data)))
    return Matrix(**{**found, "rows": tuple(found["rows"]), "columns": tuple(found["columns"])})


def engine_entries(stream: Stream) -> list[DecisionEntry]:
    rows = list(stream.decisions())
    entries = [
        DecisionEntry(replace(row, detail=json.loads(json.dumps(row.detail))), 1.0, None)
        for row in rows
    ]
    return entries[::-1]


def wide(n: int) -> Matrix:
    """One construct of n regions, the last but one with an arrow to the other construct."""
    rows = (*(f"a: r{i}" for i in range(n)), "b: NULL")
    stats = {
        "place": [0] * n + [1],
        "row": [*range(n), 0],
        "support": [12 if i == n - 2 else None for i in range(n + 1)],
        "gain": [0.5 if i == n - 2 else None for i in range(n + 1)],
        "hit_prob": [i / (n * n) for i in range(n)] + [0.0],
        "followed_prob": [0.0] * (n + 1),
    }
    cells = tuple((None, 0.5) if i == n - 2 else (None, None) for i in range(n + 1))
    return Matrix("arrows", "arrows", rows, ("a", "b"), cells, "", 100, stats)


def test_the_view_has_the_engines_constructs_and_arrows() -> None:
    stream = hybrid_stream()
    view = build_hybrid(engine_matrix(stream))
    plan = stream.core.plan
    assert [one.attribute for one in view.constructs] == list(plan.order)
    assert {(a.source, a.row, a.target, a.support, a.gain) for a in view.arrows} == {
        (a.attribute, a.region, a.target, a.support, a.gain) for a in plan.arrows
    }
    first = view.constructs[0]
    assert sum(region.hit_prob or 0 for region in first.regions) > 0.99
    assert view.n == len(stream.core.profile_regions)


def test_of_many_regions_those_with_arrows_and_the_most_hit_are_drawn() -> None:
    view = build_hybrid(wide(60), keep=[("a", 0)])
    regions = view.constructs[0].regions
    assert len(regions) == MOST_REGIONS + 1
    rows = [region.row for region in regions[:-1]]
    assert rows == sorted(r for r in rows if r is not None)
    assert {0, 58, 59} <= set(rows)
    assert regions[-1].label == "40 others"
    shares = [region.hit_prob or 0 for region in regions]
    assert sum(shares) == pytest.approx(sum(range(60)) / 3600)


def test_arrows_go_from_their_region_to_the_head_of_their_target() -> None:
    view = build_hybrid(wide(4))
    drawn = lay_out(view)
    (arrow,) = drawn["arrows"]
    cell = next(c for c in drawn["cells"] if (c["attribute"], c["row"]) == ("a", 2))
    head = drawn["heads"][1]
    assert arrow["d"].startswith(f"M{cell['x'] + cell['w']},{cell['y'] + CELL_PX / 2:g} H")
    assert arrow["d"].endswith(f"V{head['y'] - 3:g}")
    assert not arrow["taken"]
    assert "support 12 sampled tuples, gain 0.500" in arrow["words"]
    assert max(c["x"] + c["w"] for c in drawn["cells"]) < drawn["width"]
    assert max(c["y"] + c["h"] for c in drawn["cells"]) < drawn["height"]
    opacity = [c["opacity"] for c in drawn["cells"] if c["attribute"] == "a"]
    assert opacity == sorted(opacity)
    assert opacity[-1] > 0


def test_a_tuple_is_followed_cell_by_cell() -> None:
    stream = hybrid_stream()
    entries, plan = engine_entries(stream), stream.core.plan
    ways = build_ways(entries, plan.version, None)
    assert ways.followed is None
    assert ways.plan == plan.version
    way = next(w for w in ways.ways if w.end == "dropped")
    followed = build_ways(entries, plan.version, way.name).followed
    assert followed == way
    assert named_decision(way.name) == ways.decision
    left = [step.left for step in way.steps]
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0
    keep = [(step.attribute, step.row) for step in way.steps]
    whole = lay_out(build_hybrid(engine_matrix(stream), keep), way)
    n_micro = sum(step.by == "micro" for step in way.steps)
    assert sum(arrow["taken"] for arrow in whole["arrows"]) == n_micro
    drawn = whole["way"]
    assert [step["number"] for step in drawn["steps"]] == list(range(1, len(way.steps) + 1))
    assert drawn["end"] == "dropped"


def test_ways_of_an_older_plan_are_shown_as_such_and_none_without_any() -> None:
    entries = engine_entries(hybrid_stream())
    assert build_ways(entries, 10_000, None).plan != 10_000
    assert build_ways([], 1, "tuple:3.0") == Ways([], None, None, None, None) == NO_WAYS
    assert named_decision("asc:a") is None
    assert named_decision("tuple:x.y") is None
