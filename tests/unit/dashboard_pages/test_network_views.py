"""Views of networks: relations from their last changes, parts of plans, queues, chains, graphs."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dashboard.panels.contract import Sheet
from dashboard.systems.stream.chains import draw as draw_chains_panel
from dashboard.systems.stream.chains_figure import draw_chains
from dashboard.systems.stream.chains_view import build_chains
from dashboard.systems.stream.curves import draw as draw_curves_panel
from dashboard.systems.stream.curves_figure import draw_curves
from dashboard.systems.stream.curves_view import MOST_LANES, build_curves
from dashboard.views.answers import build_answer, build_relation
from dashboard.views.book import Book
from dashboard.views.monitor import Asked, address, build_monitor, picked
from dashboard.views.plan import graph_values, sizes_of
from dashboard.views.plan_parts import leading_to, outputs_of, shared_by
from dashboard.views.results import build_tuples
from storage.tables.rows import SeriesData, StoredMatrix, StoredResult
from storage.vocabulary.records import SIGN, TAU, Decision, Entity, Matrix, PlanVersion
from storage.vocabulary.relations import relation_matrix
from tests.unit.dashboard_pages.figures import checked
from tests.unit.dashboard_shell.samples import context

#: Changes of a bag: a value that comes, or the place (modulo) of one there is, which goes.
MOVES = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=60)


def changes(moves: list[tuple[bool, int]]) -> tuple[list[StoredResult], Counter[int]]:
    """Moves as elements, oldest first, and what is there in the end."""
    there: list[int] = []
    found: list[StoredResult] = []
    for place, (comes, number) in enumerate(moves):
        if comes or not there:
            there.append(number)
            value, sign = number, 1
        else:
            value, sign = there.pop(number % len(there)), -1
        found.append(element(place, value, sign))
    return found, Counter(there)


def element(id: int, value: Any, sign: int, batch: int = 0) -> StoredResult:
    return StoredResult(id, batch, {"v": value, TAU: id, SIGN: sign}, ("q",), "")


@given(MOVES, st.integers(0, 60))
def test_a_relation_is_told_from_its_last_changes_as_far_as_they_go(
    moves: list[tuple[bool, int]], kept: int
) -> None:
    elements, there = changes(moves)
    last = elements[len(elements) - min(kept, len(elements)) :][::-1]
    view = build_relation(last, sum(there.values()))
    known = {int(row[0] or 0): n for row, n in view.rows}
    assert all(n <= there[value] for value, n in known.items())
    assert view.whole == (Counter(known) == there)
    if kept >= len(elements):
        assert view.whole


def series(values: list[float]) -> SeriesData:
    n, numbers = len(values), np.array(values, float)
    return SeriesData(
        "query:q", "answer_tuples", "tuples", np.arange(n), numbers,
        numbers, numbers, numbers, np.ones(n, np.int64), False,
    )  # fmt: skip


KEY = ("query:q", "answer_tuples")


def test_changes_end_where_one_is_not_stored() -> None:
    results = [element(9, "b", 1, 2), element(8, "a", 1, 2), element(5, "c", 1, 1)]
    whole = build_answer("query:q", True, results, {KEY: series([0, 1, 2])}, None)
    cut = build_answer("query:q", True, results, {KEY: series([0, 1, 3])}, 7.0)
    assert whole.relation is not None
    assert cut.relation is not None
    assert (whole.relation.n_known, whole.relation.size, whole.relation.whole) == (3, None, False)
    assert (cut.relation.n_known, cut.relation.size, cut.relation.whole) == (2, 7, False)
    missing = build_answer("query:q", True, results[2:], {KEY: series([0, 1, 2])}, None)
    assert missing.relation is not None
    assert missing.relation.rows == []
    assert build_answer("query:q", False, results, {}, None).relation is None


def test_a_relation_on_record_is_told_whole_until_it_changes_again() -> None:
    rows: dict[tuple[Any, ...], int] = {(2, None): 1, (1, "x"): 2}
    stored = StoredMatrix(4, 0.0, relation_matrix("q", ["v", "w"], rows))
    for n, is_whole in ((0.0, True), (3.0, False)):
        course = {KEY: series([0, 1, 0, 2, 7, n])}
        relation = build_answer("query:q", True, [], course, 3.0, 5, stored).relation
        assert relation is not None
        assert relation.whole is is_whole
        assert relation.rows == ([(("1", "x"), 2), (("2", None), 1)] if is_whole else [])
    gone = StoredMatrix(4, 0.0, relation_matrix("q", ["v", "w"], None))
    unknown = build_answer("query:q", True, [], {}, 900.0, 5, gone).relation
    assert unknown is not None
    assert not unknown.whole


def test_tuples_of_a_query_that_had_the_name_before_are_left_out() -> None:
    selected = StoredResult(3, 1, {"v": "old"}, ("q",), "")
    elements = [element(9, "b", 1, 2), element(8, "a", 1, 2)]
    later = build_tuples("q", [*elements, selected], [])
    assert (later.columns, later.rows) == (["v"], [["b"], ["a"]])
    assert (later.signs, later.taus) == ([1, 1], [9, 8])
    found = build_answer("query:q", True, [*elements, selected], {KEY: series([0, 1, 2])}, 2.0)
    assert found.relation is not None
    assert found.relation.rows == [(("a",), 1), (("b",), 1)]
    before = build_tuples("q", [selected, *elements], [["v", "string"]])
    assert (before.rows, before.signs, before.taus) == ([["old"]], [], [])


def plan() -> PlanVersion:
    """S feeds a window that two outputs read; T only one of them; a store of the window."""
    roles = {
        "s": "source", "t": "source", "w": "window", "stub": "stub", "store": "store",
        "j": "join", "o1": "output", "o2": "output",
    }  # fmt: skip
    edges = ["s>w", "stub>w", "store>stub", "w>j", "t>j", "j>o1", "w>o2"]
    nodes = [{"id": id, "role": role, "name": id.upper()} for id, role in roles.items()]
    pairs = [edge.split(">") for edge in edges]
    graph = {"nodes": nodes, "edges": [{"source": a, "target": z, "queue": "q"} for a, z in pairs]}
    return PlanVersion(1, 0, "network", ("w", "j"), graph, "abc", "because")


def test_a_part_of_a_plan_is_what_leads_to_an_output() -> None:
    whole = plan()
    part = leading_to(whole, "o2")
    assert {node["id"] for node in part.graph["nodes"]} == {"s", "w", "stub", "store", "o2"}
    assert part.order == ("w",)
    assert part.hash != whole.hash
    assert leading_to(whole, "nobody") is whole
    assert [(one.name, one.chosen) for one in outputs_of(whole, "o2")] == [
        ("O1", False),
        ("O2", True),
    ]
    assert outputs_of(part, None) == []
    assert shared_by(whole) == {id: ["O1", "O2"] for id in ("w", "stub", "store")}


def test_several_sizes_are_told_in_one_order() -> None:
    queue = {"flow_tuples": 9.0, "size_tuples": 1.0, "queue_peak_tuples": 4.0, "in_per_s": 3.0}
    assert sizes_of(queue) == [9.0, 4.0, 1.0]
    store = {"size_tuples": 5.0, "saved_bytes": 80.0, "state_bytes": 9.0}
    assert sizes_of(store) == [5.0, 9.0, 80.0, None]
    assert sizes_of({"size_tuples": 5.0, "state_bytes": 9.0}) == [5.0, 9.0]
    assert sizes_of({"flow_tuples": 9.0, "size_tuples": 1.0}) == 9.0
    assert graph_values({"q": queue}, {"q": Entity("q", "queue", "Q")}) == {"q": [9.0, 4.0, 1.0]}


def test_graphs_in_an_address_have_titles_and_name_queries() -> None:
    book = Book([Entity("u/query:x", "query", "x", {"text": "Select 1"}, role="query")])
    show = "@x|answer_value=the longest~u/query:x|matched_total~@y|answer_value~@x|answer_value"
    asked = picked(show, book)
    assert asked == [
        Asked("@x", "u/query:x", "answer_value", "the longest"),
        Asked("u/query:x", "u/query:x", "matched_total"),
        Asked("@y", "@y", "answer_value"),
    ]
    assert picked(address(asked), book) == asked
    view = build_monitor(asked, True, book, {}, {})
    assert [graph.whose for graph in view.graphs] == ["the longest", "x", "y"]
    assert [(graph.query, graph.text) for graph in view.graphs] == [
        ("x", "Select 1"),
        ("", "Select 1"),
        ("", ""),
    ]
    assert view.graphs[1].without == "@x|answer_value=the longest~@y|answer_value"
    assert view.address == address(asked)
    offered = {"u/query:x": {"matched_total": 1.0, "matched_tuples": 2.0, "answer_tuples": None}}
    view = build_monitor(asked, True, book, offered, {})
    assert view.choices == {"x · Matched": "u/query:x|matched_tuples"}


def test_queues_that_hold_least_are_stacked_as_one() -> None:
    n = MOST_LANES + 2
    rows = tuple(f"q{k}" for k in range(n))
    values = [[k, None, k + 1] for k in range(n)]
    peaks = {"peak": [k + 5 for k in range(n)]}
    matrix = Matrix("queue curve", "queue curve", rows, ("3", "4", "9"), values, row_stats=peaks)
    view = build_curves(matrix, Book(), 7)
    assert view.times == [3, 4, 9]
    assert [lane.name for lane in view.lanes][:2] == [f"q{n - 1}", f"q{n - 2}"]
    assert view.lanes[-1].name == "3 others"
    assert view.lanes[-1].held == [0 + 1 + 2, 0 + 1 + 2, 1 + 2 + 3]
    assert view.totals == [sum(range(n)), sum(range(n)), sum(range(n + 1))]
    assert [sum(held) for held in zip(*(lane.held for lane in view.lanes), strict=True)] == (
        view.totals
    )


def test_chains_before_and_now_are_marked_on_the_path() -> None:
    detail = {
        "chains": [{"operators": ["a", "b"], "slope": 2.0}, {"operators": ["c"], "slope": 1.0}],
        "chains_before": [
            {"operators": ["a"], "slope": 3.0},
            {"operators": ["b"], "slope": 2.0},
            {"operators": ["c"], "slope": 1.0},
        ],
        "charts": [{"operators": ["a", "b", "c"], "points": [[0, 1], [1, 0.9], [2, 0.3], [4, 0]]}],
    }
    decision = Decision(
        4, 9, "chain", "chains", "switched", "memory_gain", 0.2, ">=", 0.05, 500, 900, 0,
        "other chains", [], [], None, None, None, detail=detail,
    )  # fmt: skip
    view = build_chains(decision)
    assert view.adopted
    assert [one.moved for one in view.fresh] == [True, False]
    assert [one.moved for one in view.before] == [True, True, False]
    (path,) = view.paths
    assert (path.edges, path.edges_before) == ([0, 2, 3], [0, 1, 2, 3])
    assert path.points[2] == (2.0, 0.3)


def test_a_path_of_absurd_estimates_does_not_stretch_the_axes_of_the_others() -> None:
    absurd = [[[0, 1], [1.6e94, 0]], [[0, 1], [2, 1e30], [3, 0]], [[0, 1], [math.inf, 0]]]
    points: list[Any] = [[[0, 1], [4, 0]], *absurd]
    charts = [{"operators": ["a", "b"][: len(each) - 1], "points": each} for each in points]
    told = {"chains": [], "charts": charts}
    made = Decision(
        4, 9, "chain", "chains", "switched", "memory_gain", 0.2, ">=", 0.05, 500, 900, 0,
        "other chains", [], [], None, None, None, detail=told,
    )  # fmt: skip
    view = build_chains(made)
    (line,) = checked(draw_chains(view)).data
    assert list(line.x) == [0, 4]
    drawn = draw_chains_panel(view, Sheet(context()))
    assert "3 paths have estimates beyond a day of work" in str(drawn.note)
    assert draw_chains_panel(view._replace(paths=view.paths[1:]), Sheet(context())).figure is None


def test_queues_in_which_nothing_waited_are_a_sentence_and_no_axis() -> None:
    for peak, words in ((0, "Nothing waited in batch 7"), (2, "Queue")):
        peaks = {"peak": [peak]}
        matrix = Matrix("queue curve", "queue curve", ("q",), ("3", "4"), [[0, 0]], row_stats=peaks)
        drawn = draw_curves_panel(build_curves(matrix, Book(), 7), Sheet(context()))
        assert drawn.figure is None
        assert words in str(drawn.body)


def test_names_of_operators_are_no_tags_in_figures() -> None:
    name = "b < 5 and c > 1"
    told = {"chains": [], "charts": [{"operators": [name], "points": [[0, 1], [1, 0]]}]}
    decision = Decision(
        4, 9, "chain", "chains", "switched", "memory_gain", 0.2, ">=", 0.05, 500, 900, 0,
        "other chains", [], [], None, None, None, detail=told,
    )  # fmt: skip
    (path,) = checked(draw_chains(build_chains(decision))).data
    assert path.text == ("arrives", "behind b &lt; 5 and c &gt; 1")
    assert path.name == "path to b &lt; 5 and c &gt; 1"
    peak = {"peak": [2]}
    matrix = Matrix("queue curve", "queue curve", (name,), ("3", "4"), [[1, 2]], row_stats=peak)
    curves = build_curves(matrix, Book(), 7)
    assert [line.name for line in checked(draw_curves(curves)).data] == ["b &lt; 5 and c &gt; 1"]
