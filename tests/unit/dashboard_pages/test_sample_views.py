"""Windows that keep samples on the Shedding page, and what is estimated from them on Results."""

from __future__ import annotations

from typing import Any

from dashboard.panels.common import tap
from dashboard.panels.common.answer_parts import draw_answer, draw_tuples
from dashboard.panels.contract import Sheet
from dashboard.systems.cals.shed import shed_words
from dashboard.views.answers import AnswerView, RelationView, told_columns
from dashboard.views.results import TuplesView
from dashboard.views.taps import TapView
from storage.vocabulary.taps import TapSample
from tests.unit.dashboard_pages.test_cals_views import OWN, context_of, windows


def test_a_sample_is_chosen_by_chance_with_a_probability() -> None:
    own = {name: OWN[name] for name in ("resident_tuples", "expected_accuracy", "shed_tuples")}
    (window,) = windows({**own, "inclusion_prob": 0.25}, [])
    assert (window.algorithm, window.inclusion, window.expected) == ("chance", 0.25, 0.7)
    assert shed_words(window).endswith("8 tuples were shed in this batch by chance.")
    assert windows(OWN, [])[0].inclusion is None


def test_estimates_are_told_with_their_intervals() -> None:
    names = ["c", "n", "n_low", "n_high", "t", "t_low", "t_high"]
    assert told_columns(names, ["n"]) == [(0, False), (1, True), *((k, False) for k in (4, 5, 6))]
    assert told_columns(names[:3], ["n"]) == [(k, False) for k in range(3)]
    rows: list[list[str | None]] = [
        ["x", "512", "498.25", "527.5"],
        ["y", "7", "7.0", "7.0"],
        ["z", "2.5", None, None],
        ["z", None, None, None],
    ]
    numeric = [False, True, True, True]
    view = TuplesView("q", names[:4], numeric, rows, [1] * 4, [], [1] * 4, [0] * 4)
    for intervals, texts in (
        (["n"], ["≈ 512 [498.2, 527.5]", "7", "≈ 2.5", "NULL"]),
        ([], ["512", "7", "2.5", "NULL"]),
    ):
        table: Any = draw_tuples(view, intervals)
        cells = [row["cells"][4] for row in table.rows]
        assert [cell["text"] for cell in cells] == texts
    relation = RelationView(names[:4], [(tuple(rows[0]), 1)], 1, True)
    _, table = draw_answer(AnswerView("q", "answer_tuples", [(1, 2.0)], relation), ["n"])
    (_, shown) = table.children
    assert [column["title"] for column in shown.columns] == ["c", "n", "count"]


def test_timestamps_are_times_where_ticks_are() -> None:
    view = TuplesView("q", ["v"], [True], [["3"]], [1], [], [1], [22_667_578])
    table: Any = draw_tuples(view)
    assert table.rows[0]["cells"][2] == 22_667_578
    table = draw_tuples(view, (), 60e6)
    assert table.rows[0]["cells"][2] == {"text": "2013-02-05 08:58:00", "sort": 22_667_578}


def test_a_tapped_edge_is_shown_in_the_order_of_time() -> None:
    """Each row is followed by its place in the sample, whose order is that of turns."""
    rows = [[22_667_578, 1, 1, "b"], [22_667_570, 1, 1, "a"]]
    view = TapView(
        node="q",
        title="o → p",
        batch=3,
        nearest=3,
        sample=TapSample("u", "o", 2, ("v",), rows),
        is_timed=True,
        tick_us=60e6,
    )
    (table,) = tap.draw(view, Sheet(context_of(3))).body.children
    cells = [row["cells"] for row in table.rows]
    assert [cell[1]["text"] for cell in cells] == ["2013-02-05 08:50:00", "2013-02-05 08:58:00"]
    assert [cell[-1]["tree"][1]["data-tap-row"] for cell in cells] == ["1", "0"]
