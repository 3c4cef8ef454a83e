"""The Matrix views and figures: labels, unknown cells, choices; the figures at a glance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.systems.asc.matrix_figure import draw_regions, draw_selectivity, regions_height
from dashboard.systems.asc.matrix_view import (
    QueryColumn,
    build_choices,
    build_regions,
    build_selectivity,
    part_of,
    pick,
    query_columns,
    refuted,
    region_label,
)
from dashboard.views.book import Book
from storage.vocabulary.records import Entity, Matrix
from tests.unit.dashboard_pages.figures import checked

REGIONS = Matrix(
    "regions:dep_delay",
    "regions",
    ("NULL", "(-inf, 60)", "= 60", "(60, +inf)"),
    ("late", "early"),
    [[0, 0], [0, 1], [0, 0], [1, 0]],
    n=500,
    row_stats={"hit_prob": [0.1, 0.6, 0.1, 0.2]},
)
SELECTIVITY = Matrix(
    "selectivity",
    "selectivity",
    ("a", "b"),
    ("q1", "q2"),
    [[0.5, None], [0.1, 0.9]],
    n=500,
    row_stats={"drop_prob": [0.2, None]},
)


def test_regions_keep_their_order_and_write_infinity_as_people_do() -> None:
    view = build_regions(REGIONS, "dep_delay", {"late": QueryColumn("late", "Select * From F")})
    assert view.attribute == "dep_delay"
    assert view.regions == ["NULL", "(\u2212∞, 60)", "= 60", "(60, +∞)"]
    assert view.queries[0].text.startswith("Select")
    assert view.queries[1].text == ""
    assert view.hit_prob == [0.1, 0.6, 0.1, 0.2]
    assert region_label("= -inf") == "= -inf"


def test_missing_hit_shares_are_unknown_not_zero() -> None:
    view = build_regions(Matrix("regions:a", "regions", ("NULL",), ("q",), [[0]]), "a", {})
    assert view.hit_prob == [None]


def test_absent_selectivities_stay_none() -> None:
    assert build_selectivity(SELECTIVITY, {}).values == [[0.5, None], [0.1, 0.9]]


def test_a_construct_refutes_a_share_of_the_queries_still_open() -> None:
    """a leaves 0.5 of q1 and does not know q2; b leaves 0.1 and 0.9 of what is open."""
    assert refuted(SELECTIVITY) == pytest.approx([1 - 1.5 / 2, 1 - (0.05 + 0.9) / 1.5])
    closed = replace(SELECTIVITY, values=((0.0, 0.0), (None, None)))
    assert refuted(closed) == [1.0, None]


def test_choices_follow_the_plan_then_the_alphabet() -> None:
    entities = [
        Entity("u/b", "operator", "b", {"n_regions": 5, "n_queries": 2}, role="selection"),
        Entity("u/a", "operator", "a", role="selection"),
        Entity("u/z", "operator", "z", role="selection"),
        Entity("u/q", "query", "q", {"text": "Select", "attributes": ["a"]}, role="query"),
    ]
    choices = build_choices(Book(entities), ["u/b", "u/gone"])
    assert [choice.attribute for choice in choices] == ["b", "a", "z"]
    assert (choices[0].place, choices[0].size) == (1, "5 × 2")
    assert part_of(2, choices[0].n_queries, "queries") == "2 queries"
    assert part_of(2, 1819, "queries") == "2 of 1819 queries"
    assert part_of(2, None, "queries") == "2 queries"
    assert (choices[1].place, choices[1].size) == (None, "")
    assert pick(choices, "u/a") == "a"
    assert pick(choices, "u/gone") == "b"
    assert pick([], "a") is None
    assert query_columns(entities) == {"q": QueryColumn("q", "Select", ("a",))}


def test_the_bitmap_figure_has_cells_bars_and_room_for_every_label() -> None:
    view = build_regions(REGIONS, "dep_delay", {})
    figure = checked(draw_regions(view, "dark"))
    cells, bars = figure.data
    assert [list(row) for row in cells.z] == REGIONS.values
    assert list(bars.x) == [0.1, 0.6, 0.1, 0.2]
    assert "hit by 60.0\u2009% of n = 500" in cells.customdata[1][0]
    assert list(figure.layout.yaxis.ticktext) == view.regions
    assert figure.layout.paper_bgcolor is None
    assert figure.layout.template.layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert regions_height(view) >= 4 * 20


def test_the_selectivity_figure_greys_absent_cells_and_outlines_the_choice() -> None:
    figure = checked(draw_selectivity(build_selectivity(SELECTIVITY, {}), "light", chosen="b"))
    absent, cells, numbers, drops = figure.data
    assert [list(row) for row in absent.z] == [[None, 0], [None, None]]
    assert [list(row) for row in cells.z] == [[0.5, None], [0.1, 0.9]]
    assert list(numbers.text) == ["0.50", "0.10", "0.90"]
    assert list(drops.x) == [0.2, None]
    assert list(drops.text) == ["20.0\u2009%", "—"]
    assert len(figure.layout.shapes) == 1
    assert not checked(
        draw_selectivity(build_selectivity(SELECTIVITY, {}), None, "no")
    ).layout.shapes


def test_text_cannot_smuggle_markup_into_hover_labels() -> None:
    matrix = Matrix("regions:a", "regions", ("(-inf, <b>)",), ("q<i>",), [[1]])
    figure = checked(
        draw_regions(build_regions(matrix, "a", {"q<i>": QueryColumn("q<i>", "a < 'x'")}), "dark")
    )
    assert "&lt;" in figure.data[0].customdata[0][0]
    assert "<i>" not in figure.data[0].customdata[0][0]


def test_an_empty_cell_says_whether_it_is_not_used_or_not_reached() -> None:
    columns = {"q2": QueryColumn("q2", "", ("a",))}
    reached = (
        checked(draw_selectivity(build_selectivity(SELECTIVITY, columns))).data[0].customdata[0][1]
    )
    unused = checked(draw_selectivity(build_selectivity(SELECTIVITY, {}))).data[0].customdata[0][1]
    assert "no sampled tuple got that far" in reached
    assert "q2 does not use a" in unused
