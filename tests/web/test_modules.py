"""The pure modules of the page, each imported by itself and asked for its cases."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from playwright.sync_api import Browser

from dashboard.components.formats import Format, age, clock, show
from dashboard.serving.bundle import ASSETS
from tests.web.conftest import Ask, OpenPage
from tests.web.plans import edge, random_plan

pytestmark = pytest.mark.web


def _numbers() -> list[float]:
    rng = random.Random(11)
    spread = [rng.uniform(-1, 1) * 10 ** rng.randint(-5, 10) for _ in range(600)]
    halves = [n / 16 for n in range(-80, 80)] + [n + 0.5 for n in range(990, 1010)]
    edges = [0, 1, 3.0, 0.6133, 9.94, 99.94, 99.96, 999.4, 999.6, 1234.6, 123456, 2.5e6, 7e9]
    return [*spread, *halves, *edges, *(-edge for edge in edges), -0.0, 0.9995e3, 0.9994e6]


class TestFormat:
    """modules/format.js writes what dashboard/components/formats.py writes."""

    @pytest.mark.parametrize("form", get_args(Format))
    def test_numbers(self, ask: Ask, form: Format) -> None:
        numbers = [n for n in _numbers() if form != "text"]
        written = ask("format", "all.map((one) => m.show(one, form))", all=numbers, form=form)
        assert dict(zip(numbers, written, strict=True)) == {n: show(n, form) for n in numbers}

    def test_what_is_no_number(self, ask: Ask) -> None:
        nothing = [None, math.nan, ""]
        written = ask("format", "all.map((one) => m.show(one, 'f2'))", all=nothing)
        assert written == [show(one, "f2") for one in nothing] == ["—"] * 3
        assert ask("format", "m.show('a', 'text')") == show("a", "text") == "a"

    def test_times(self, ask: Ask) -> None:
        ages = [None, 0.04, 5.0, 9.96, 42.0, 42.5, 99.6, 600.0, 630.0, 5970.0, 9000.0, 2e5, 216e3]
        assert ask("format", "all.map(m.age)", all=ages) == [age(one) for one in ages]
        times = [0.0, 1763779929.25, 1763855999.75]
        assert ask("format", "all.map(m.clock)", all=times) == [clock(one) for one in times]

    def test_short_numbers(self, ask: Ask) -> None:
        numbers = [0, 1, 0.5, 1.2345, 12.345, 123.45, 12345.6]
        short = ["0", "1", "0.5", "1.23", "12.3", "123", "12346"]
        assert ask("format", "all.map(m.shortNumber)", all=numbers) == short


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("?run=r1&at=12&frozen=1", {"run": "r1", "at": 12, "frozen": True}),
        ("?at=-3&frozen=1", {}),
        ("?at=1e3&node=asc%3Ax&show=b%26c", {"node": "asc:x", "show": "b&c"}),
        ("?unit=u1&node=7", {"node": "7", "unit": "u1"}),
        ("?decision=7", {"node": "7"}),
        ("?node=a&decision=7", {"node": "a"}),
        (
            "?heat=visits&span=15m&tables=audit",
            {"heat": "visits", "span": "15m", "tables": "audit"},
        ),
        ("", {}),
    ],
)
def test_an_address_is_a_moment_and_back(
    ask: Ask, search: str, expected: dict[str, object]
) -> None:
    names = ("run", "at", "node", "show", "unit", "heat", "tables", "span", "scale", "tour")
    empty = {**dict.fromkeys((*names, "stage")), "frozen": False}
    moment = ask("address", "m.parse('/plan', text)", text=search)
    assert moment == {"path": "/plan", **empty, **expected}
    again = ask("address", "m.parse('/plan', m.search(moment))", moment=moment)
    assert again == moment


@pytest.mark.parametrize(
    ("keys", "up", "expected"),
    [
        ([3, 1, 2], True, [1, 2, 3]),
        ([3, 1, 2], False, [3, 2, 1]),
        (["b", None, "a", ""], True, ["a", "b", None, ""]),
        ([10, 9, "n", -1.5], True, [-1.5, 9, 10, "n"]),
    ],
)
def test_rows_are_sorted(ask: Ask, keys: list[object], up: bool, expected: list[object]) -> None:
    assert ask("sorting", "m.sorted(keys, (one) => one, up)", keys=keys, up=up) == expected


def test_rows_with_one_key_stay_as_they_were(ask: Ask) -> None:
    rows = [["a", 1], ["b", 1], ["c", 0], ["d", 1]]
    names = ask("sorting", "m.sorted(rows, (row) => row[1], true).map((row) => row[0])", rows=rows)
    assert names == ["c", "a", "b", "d"]


class TestPaths:
    """modules/paths.js."""

    def test_a_scale(self, ask: Ask) -> None:
        at = "[0, 5, 10].map(m.scale([0, 10], [100, 200]))"
        assert ask("paths", at) == [100, 150, 200]
        assert ask("paths", "m.scale([3, 3], [100, 200])(3)") == 100

    def test_lines_and_areas(self, ask: Ask) -> None:
        points = [[0, 1], [1, 3]]
        double = "(value) => 2 * value"
        line = ask("paths", f"m.linePoints(points, {double}, {double})", points=points)
        area = ask("paths", f"m.areaPoints(points, {double}, {double}, 9)", points=points)
        assert line == "0.0,2.0 2.0,6.0"
        assert area == "0.0,9 0.0,2.0 2.0,6.0 2.0,9"
        assert ask("paths", "m.areaPoints([], Number, Number, 9)") == ""

    def test_the_nearest_point(self, ask: Ask) -> None:
        points = [[0, 5], [4, 6], [9, 7]]
        assert ask(
            "paths", "[1.9, 2.1, 80].map((u) => m.nearest(points, u)[0])", points=points
        ) == [*(0, 4, 9)]

    def test_a_sparkline_keeps_noise_small(self, ask: Ask) -> None:
        assert ask("paths", "m.sparkPoints([1, null], 100, 16)") == ""
        assert ask("paths", "m.sparkPoints([0, null, 8], 100, 16)") == "0.0,16.0 100.0,0.0"
        noise = ask("paths", "m.sparkPoints([100, 101], 100, 16)")
        heights = [float(point.split(",")[1]) for point in noise.split()]
        assert max(heights) - min(heights) == pytest.approx(16 / 25.25, abs=0.1)


class TestPoints:
    """modules/points.js."""

    def test_every_batch_of_a_delta_is_a_point(self, ask: Ask) -> None:
        values = {"system": {"batch_ms": 9}, "queue:x": 4}
        delta = {"b": 8, "t": 2.0, "v": values, "pts": [[7, 1.0, 0.5, 2, 300, 80]]}
        points = ask("points", "m.pointsOf(delta)", delta=delta)
        assert [(point["b"], point["t"]) for point in points] == [(7, 1.0), (8, 2.0)]
        assert points[0]["v"]["system"]["tuples_per_s"] == 300
        assert points[1]["v"] == values

    def test_deltas_go_on_from_each_other(self, ask: Ask) -> None:
        first = {"b": 8, "t": 2.0, "v": {}, "pts": [[7, 1.0, 0, 0, 0, 0], [8, 2.0, 0, 0, 0, 0]]}
        again = {"b": 9, "t": 3.0, "v": {}, "pts": [[8, 2.0, 1, 0, 0, 0], [9, 3.0, 0, 0, 0, 0]]}
        one = "m.continued(m.continued([], first, 9), again, n).map(({ b }) => b)"
        assert ask("points", one, first=first, again=again, n=9) == [7, 8, 9]
        assert ask("points", one, first=first, again=again, n=2) == [8, 9]

    def test_a_figure_takes_what_it_does_not_have_yet(self, ask: Ask) -> None:
        batches = [{"b": b, "t": b, "v": {"a": {"p": 10 * b}}} for b in range(4)]
        live, edge = {"live": "a|p"}, {"band": "a|p", "edge": -1, "mu": 0.5}
        asked = "m.pointsAfter(trace, batches)"
        grown = ask("charts", asked, trace={"meta": live, "x": [0, 1]}, batches=batches)
        assert grown == [{"x": 2, "y": 20}, {"x": 3, "y": 30}]
        band = ask("charts", asked, trace={"meta": edge, "x": []}, batches=batches[:2])
        assert band == [
            {"x": "1970-01-01T00:00:00.000Z", "y": 0},
            {"x": "1970-01-01T00:00:01.000Z", "y": 5},
        ]
        assert ask("charts", asked, trace={"meta": {}, "x": []}, batches=batches) == []

    def test_values_with_and_without_properties(self, ask: Ask) -> None:
        values = {"system": {"batch_ms": 9}, "queue:x": 4}
        expression = "[m.valueOf(v, 'system', 'batch_ms'), m.valueOf(v, 'queue:x', 'size_tuples')]"
        assert ask("points", expression, v=values) == [9, 4]
        assert ask("points", "m.valueOf({}, 'x', 'y') === undefined") is True

    def test_a_size_is_no_other_property(self, ask: Ask) -> None:
        values = {"window": 4, "store": [5, 900, 80, 1], "synopsis": [5, 900], "unknown": None}
        asked = ["size_tuples", "saved_bytes", "state_bytes"]
        one = "((value) => value === undefined ? '-' : value)(m.valueOf(v, id, name))"
        every = f"Object.keys(v).map((id) => asked.map((name) => {one}))"
        told = ask("points", every, v=values, asked=asked)
        assert told == [[4, "-", "-"], [5, 80, 900], [5, "-", 900], [None, "-", "-"]]


class TestCards:
    """modules/graph_values.js."""

    PLAN = {  # noqa: RUF012 — plain data of this test
        "nodes": [
            {"id": "s", "role": "source", "entity": "system"},
            {"id": "a", "role": "step", "entity": "a"},
            {"id": "b", "role": "step", "entity": "b"},
            {"id": "j", "role": "operator", "entity": "j"},
        ],
        "edges": [
            {"source": "s", "target": "a", "queue": "q1"},
            {"source": "a", "target": "b", "queue": "q2"},
            {"source": "b", "target": "j", "queue": "q3"},
        ],
    }

    def test_drops_follow_the_edges(self, ask: Ask) -> None:
        values = {
            "system": {"n_tuples": 100, "tuples_per_s": 50, "n_matched": 10},
            "a": {"reached_tuples": 100, "survival_prob": 0.4, "drop_prob": 0.6},
            "b": {"reached_tuples": 40, "survival_prob": 0.1, "drop_prob": 0.75, "cost_us": 5},
        }
        facts = ask("graph_values", "m.cardValues(plan, v)", plan=self.PLAN, v=values)
        assert facts["cards"]["a"]["drops"] == pytest.approx(0.6)
        assert facts["cards"]["b"]["drops"] == pytest.approx(0.3)
        assert facts["cards"]["b"]["visits"] == pytest.approx(200 / 300)
        assert facts["cards"]["b"]["perSecond"] == pytest.approx(20)
        assert facts["matched"] == pytest.approx(0.1)
        shares = ask(
            "graph_values",
            "plan.nodes.map((node) => m.edgeShare(node, m.cardValues(plan, v)))",
            plan=self.PLAN,
            v=values,
        )
        assert shares == [1, 0.4, 0.1, None]

    def test_what_constructs_refute_is_a_heat_where_it_is_known(self, ask: Ask) -> None:
        heats = "m.heatsOf(m.cardValues(plan, {}, refuted)).includes('refuted')"
        assert ask("graph_values", heats, plan=self.PLAN, refuted={"a": 0.5, "b": None})
        assert not ask("graph_values", heats, plan=self.PLAN, refuted={})
        card = "m.cardValues(plan, {}, { a: 0.25 }).cards.a.refuted"
        assert ask("graph_values", card, plan=self.PLAN) == 0.25

    def test_the_top_of_the_scale_is_round(self, ask: Ask) -> None:
        tops = ask("graph_values", "all.map((n) => m.niceTop([n]))", all=[0.03, 0.21, 0.6, 0, 3])
        assert tops == [0.05, 0.5, 1, 1, 1]


class TestLayout:
    """modules/graph_layout.js."""

    CHAINS = json.loads((Path(__file__).parent / "chain_places.json").read_text(encoding="utf-8"))

    @pytest.mark.parametrize("case", CHAINS, ids=lambda c: f"{c['n']}-{c['kind'][:2]}-{c['width']}")
    def test_lanes_lie_as_ever_whatever_the_order_of_their_records(
        self, ask: Ask, case: dict[str, Any]
    ) -> None:
        ids = [f"n{place}" for place in range(case["n"] + 2)]
        nodes = [{"id": name, "role": "step"} for name in ids]
        edges = [edge(a, z) for a, z in pairwise(ids)]
        random.Random(5).shuffle(nodes)
        random.Random(6).shuffle(edges)
        plan = {"nodes": nodes, "edges": edges, "band": case["kind"] == "no early drop"}
        found = ask("graph_layout", "m.layoutPlan(plan, width)", plan=plan, width=case["width"])
        places = [[found["places"][name][key] for key in "xywh"] for name in ids]
        flat = [value for place in places for value in place]
        assert flat == pytest.approx([v for place in case["places"] for v in place], abs=1e-3)
        assert found["height"] == pytest.approx(case["height"], abs=1e-3)
        boxes = [[box[key] for key in "xywh"] for box in found["boxes"]]
        assert boxes == [pytest.approx(box, abs=1e-3) for box in case["boxes"]]

    @pytest.mark.parametrize("case", CHAINS, ids=lambda c: f"{c['n']}-{c['kind'][:2]}-{c['width']}")
    def test_a_lane_reads_from_left_to_right_and_goes_on_from_the_left(
        self, case: dict[str, Any]
    ) -> None:
        places = case["places"]
        for (x, y, w, _), (to_x, to_y, _, h) in pairwise(places):
            assert to_x >= x + w if to_y == y else to_y >= y + h
            assert to_y == y or to_x == places[0][0]
        rows = len({y for _, y, _, _ in places})
        assert (rows == 1) == (len(places) * 60 <= case["width"] - 12)
        assert all(x >= 0 and x + w <= case["width"] for x, _, w, _ in places)

    def _laid_out(self, ask: Ask, plan: dict[str, Any], width: int) -> dict[str, Any]:
        expression = "import('/vendor/dagre.esm.js').then((d) => m.layoutPlan(plan, width, d))"
        found: dict[str, Any] = ask("graph_layout", expression, plan=plan, width=width)
        return found

    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize("width", [420, 886, 1400])
    def test_any_graph_without_a_circle_is_drawn_apart(
        self, ask: Ask, seed: int, width: int
    ) -> None:
        plan = random_plan(random.Random(seed))
        found = self._laid_out(ask, plan, width)
        places = found["places"]
        assert set(places) == {node["id"] for node in plan["nodes"]}
        assert len(found["lines"]) == len(plan["edges"])
        boxes = list(places.values())
        for i, a in enumerate(boxes):
            assert a["x"] >= 0
            assert a["x"] + a["w"] <= found["width"] + 0.01
            assert a["y"] >= 0
            assert a["y"] + a["h"] <= found["height"] + 0.01
            for b in boxes[i + 1 :]:
                aside = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
                assert aside or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]

    def test_a_wide_page_reads_from_left_to_right_and_a_narrow_one_downwards(
        self, ask: Ask
    ) -> None:
        nodes = [{"id": name, "role": "operator"} for name in ("a", "b", "join", "out")]
        edges = [edge("a", "join"), edge("b", "join"), edge("join", "out")]
        plan = {"nodes": nodes, "edges": edges}
        wide = self._laid_out(ask, plan, 900)["places"]
        assert wide["a"]["x"] < wide["join"]["x"] < wide["out"]["x"]
        narrow = self._laid_out(ask, plan, 420)["places"]
        assert narrow["a"]["y"] < narrow["join"]["y"] < narrow["out"]["y"]

    def test_state_of_one_operator_stands_with_it(self, ask: Ask) -> None:
        nodes = [{"id": name, "role": "operator"} for name in ("a", "b", "join")]
        nodes += [{"id": "own", "role": "synopsis"}, {"id": "shared", "role": "store"}]
        edges = [edge("a", "join"), edge("b", "join"), edge("own", "join", False)]
        edges += [edge("shared", "join", False), edge("shared", "b", False)]
        places = self._laid_out(ask, {"nodes": nodes, "edges": edges}, 900)["places"]
        below = places["own"]["y"] - places["join"]["y"] - places["join"]["h"]
        assert 0 < below < 40
        assert abs(places["own"]["x"] - places["join"]["x"]) < 20


def test_a_knobs_slider_goes_there_and_back(ask: Ask) -> None:
    ends = {"low": 0.001, "high": 10.0, "default": 0.1}
    knob = {"name": "mu", "kind": "float", "scale": "log", **ends}
    values = [0.001, 0.01, 0.1, 1.0, 10.0]
    expression = "all.map((v) => m.knobValue(knob, m.knobPosition(knob, v)))"
    assert ask("knob_scale", expression, all=values, knob=knob) == pytest.approx(values)
    texts = ["", "x", "0", "11", "0.5", "0,5"]
    problems = ask("knob_scale", "all.map((t) => m.knobProblem(knob, t))", all=texts, knob=knob)
    ours = [*["a number, please"] * 2, "at least 0.001", "at most 10", ""]
    assert problems == [*ours, "with a decimal point, please: 0.5"]


def test_vendored_files_are_those_their_table_names() -> None:
    table = (ASSETS / "vendor" / "README.md").read_text(encoding="utf-8")
    named = dict(re.findall(r"^\| `([\w.]+)` .* `([0-9a-f]{64})` \|$", table, re.MULTILINE))
    kept = [
        path for path in (ASSETS / "vendor").iterdir() if path.suffix in (".js", ".gz", ".woff2")
    ]
    own = {path.name: path for path in kept}
    assert named.keys() == own.keys()
    for name, path in own.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == named[name]


def test_no_module_reads_the_kind_of_a_thing_from_its_id() -> None:
    kinds = "asc|filter|op|queue|query|monitor|view|race|syn|store"
    told = [
        path.name
        for path in (ASSETS / "modules").glob("*.js")
        if re.search(rf"[\"'`]({kinds}):", path.read_text(encoding="utf-8"))
    ]
    assert told == []


def test_the_first_page_waits_for_slow_modules_and_asks_for_everything_once(
    browser: Browser, open_page: OpenPage
) -> None:
    page = open_page("/healthz", rests=False)
    asked: list[str] = []
    page.on("request", lambda request: asked.append((request.post_data or "")[:60]))

    def late(route: Any) -> None:
        page.wait_for_timeout(400)  # sleeps: a slow network
        route.continue_()

    page.route("**/modules/strip.js", late)
    page.goto(page.url.replace("/healthz", "/plan?run=r1&at=100"))
    page.wait_for_selector("#plan-graph svg .pw-card")
    page.wait_for_load_state("networkidle")
    drawn = [text for text in asked if text.startswith('{"output":"pw-page.children"')]
    assert len(drawn) == 1


def test_a_line_to_type_keeps_its_words(ask: Ask) -> None:
    words = ["--set=mu=0.3", "--set=trigger=dropping ratio", "it's", "$HOME", "`x`", 'a"b', "", "µ"]
    written = ask("format", "all.map(m.shellWord)", all=words)
    assert shlex.split(" ".join(written)) == words
    assert written[0] == words[0]
