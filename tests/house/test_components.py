"""Shared components: formats, tables, static trees, links, tiles, badges, panels."""

from __future__ import annotations

import json
import math
from typing import Any

import plotly.utils
import pytest
from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs
from dashboard.components.badges import glyph, state_badge
from dashboard.components.drawn import Icon, KnobCard
from dashboard.components.formats import THIN, UNKNOWN, Format, age, clock, duration, show, stamp
from dashboard.components.kinds import EVENTS
from dashboard.components.links import jump
from dashboard.components.panels import twinned
from dashboard.components.rows import CellData, RowTable, TableColumn, drawn, live
from dashboard.components.static import NotStatic, static, tree_of
from dashboard.components.tiles import live_value, tile, tiles
from storage.vocabulary.records import Command, Knob
from tests.unit.dashboard_shell.samples import context


def as_json(component: Component) -> Any:
    """The component as it goes over the wire."""
    return json.loads(json.dumps(component, cls=plotly.utils.PlotlyJSONEncoder))


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (12345, "int", f"12{THIN}345"),
        (999.96, "si", "1.0k"),
        (12345, "si", "12.3k"),
        (123456, "si", "123k"),
        (2.5e6, "si", "2.5M"),
        (0.25, "si", "0.2"),
        (0.613, "pct", f"61.3{THIN}%"),
        (131.4, "ms", f"131{THIN}ms"),
        (1310, "ms", f"1.31{THIN}s"),
        (2 / 3, "f2", "0.67"),
        (2 / 3, "f3", "0.667"),
        ("JFK", "f2", "JFK"),
        (True, "int", "True"),
        (None, "int", UNKNOWN),
        (math.nan, "f2", UNKNOWN),
        ("", "text", UNKNOWN),
    ],
)
def test_show(value: object, form: Format, text: str) -> None:
    assert show(value, form) == text


def test_times_are_utc_and_ages_have_one_unit() -> None:
    assert clock(0.0) == "00:00:00"
    assert stamp(86399.0) == "1970-01-01 23:59:59"
    assert clock(None) == stamp(None) == age(None) == UNKNOWN
    ages = [age(s) for s in (-1, 0.84, 42, 600, 9000, 400000)]
    assert ages == ["0.0 s", "0.8 s", "42 s", "10 min", "2.5 h", "5 d"]


def test_durations_have_their_two_largest_units() -> None:
    told = [duration(s) for s in (-1, 0.44, 9.96, 42.4, 60, 250, 3599.7, 7500, 86400 * 3 + 59)]
    assert told[:5] == ["0.0 s", "0.4 s", "10 s", "42 s", "1 min"]
    assert told[5:] == ["4 min 10 s", "1 h", "2 h 5 min", "3 d"]


def test_attributes() -> None:
    assert attrs(aria_label="x", data_pw_at=3, hidden=None) == {
        "aria-label": "x",
        "data-pw-at": "3",
    }
    assert attrs(aria_pressed=False) == {"aria-pressed": "false"}


def test_a_table_is_plain_data_with_sort_keys() -> None:
    columns = (TableColumn("Name"), TableColumn("Share", "pct", "of all"))
    rows: list[list[CellData]] = [["a", 0.5], ["b", {"text": "noon", "sort": 12}]]
    marks = [attrs(data_pw_node="asc:a"), {}]
    shown = as_json(RowTable("Things", columns, rows, ["x", "y"], marks, total=7))
    assert (shown["type"], shown["props"]["total"]) == ("RowTable", 7)
    assert shown["props"]["columns"] == [
        {"title": "Name", "form": None, "unit": "", "hint": ""},
        {"title": "Share", "form": "pct", "unit": "of all", "hint": ""},
    ]
    assert shown["props"]["rows"] == [
        {"key": "x", "cells": ["a", 0.5], "attributes": {"data-pw-node": "asc:a"}},
        {"key": "y", "cells": ["b", {"text": "noon", "sort": 12}], "attributes": {}},
    ]


def test_cells_follow_the_stream_or_hold_html() -> None:
    assert live("asc:a", "drop_prob", 0.5, "pct") == {
        "text": 0.5,
        "form": "pct",
        "live": ["asc:a", "drop_prob"],
    }
    button = html.Button("Back", **attrs(data_pw_revert="{}"))
    assert drawn(button, 3) == {"tree": ["button", {"data-pw-revert": "{}"}, "Back"], "sort": 3}
    with pytest.raises(NotStatic):
        drawn(html.Button("x", id={"type": "x", "index": 1}))


def test_static_trees_flatten_children_and_keep_own_drawings() -> None:
    tree = tree_of(html.P(["a", 1, None, Icon("M0 0"), html.B("c", title=None)], className="x"))
    assert tree == ["p", {"className": "x"}, "a", 1, None, ["@Icon", {"path": "M0 0", "size": 18}],
                    ["b", {}, "c"]]  # fmt: skip


@pytest.mark.parametrize("part", [dcc.Store(id="s"), html.Div(id={"type": "x", "index": 1})])
def test_what_a_callback_may_touch_is_not_static(part: Component) -> None:
    with pytest.raises(NotStatic):
        static(html.Div(part))


def test_plain_ids_are_allowed_where_asked_for() -> None:
    assert as_json(static(html.Div(id="pw-x")))["props"]["tree"] == ["div", {"id": "pw-x"}]


def test_jumps_are_links_that_keep_the_rest() -> None:
    link = as_json(jump(context(at=12), "why?", "/decisions", 9))["props"]
    assert link["href"] == "/decisions?run=r1&at=9"
    assert link["data-pw-path"] == "/decisions"
    assert link["data-pw-at"] == "9"
    now = as_json(jump(context(at=12), "now", at="now"))["props"]
    assert now["href"] == "?run=r1"
    assert now["data-pw-at"] == "now"
    unpinned = as_json(jump(context(), "unpin", node=""))["props"]
    assert unpinned["data-pw-node"] == ""


def test_live_values_say_what_they_follow() -> None:
    value = as_json(live_value("asc:a", "drop_prob", None, "pct"))["props"]
    assert value["children"] == UNKNOWN
    assert value["data-live"] == "asc:a|drop_prob"
    assert value["data-form"] == "pct"


def test_tiles_and_twins_are_described() -> None:
    text = json.dumps(as_json(tiles([tile("Rate", "4", "tuples/s", "note", "hint")])))
    assert '"Dl"' in text
    assert '"title": "hint"' in text
    twin = as_json(twinned("Plan", html.Div("f"), html.Div("t"), id="x"))["props"]
    assert twin["data-twin"] == "figure"
    assert twin["id"] == "x"


def test_marks_carry_words() -> None:
    assert as_json(state_badge("below_threshold"))["props"]["children"] == "below threshold"
    for kind, row in EVENTS.items():
        assert row.word in json.dumps(as_json(glyph(kind)))
    assert "landing" in json.dumps(as_json(glyph("landing")))


def test_a_knob_card_follows_what_is_still_requested() -> None:
    knob = Knob("mu", "float", 0.1, 0.1, "", "help", 0.0, 1.0)
    waiting = Command(5, "r1", "knob", {"knob": "mu", "value": 0.3}, "page", "", 1.0)
    card = as_json(KnobCard({"type": "k", "name": "mu"}, "r1", knob, "why", True, waiting))
    assert card["namespace"] == "planwatch_components"
    assert card["props"]["pending"] == {"id": 5, "value": 0.3}
    assert card["props"]["disabled"] == "why"
    assert card["props"]["knob"]["choices"] == []
