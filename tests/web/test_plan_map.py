"""The plan as a map: its lanes, its levels of detail, what zooming shows, who keeps up."""

from __future__ import annotations

import random
from itertools import combinations, pairwise
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.web.conftest import Ask
from tests.web.plans import network, random_plan

pytestmark = pytest.mark.web
#: The graph's width on a page of 1 440 px, and what of a window of 900 px one and a half are.
WIDE, SCREEN = 1180, 900
_FRAME: Final = {"w": 1180, "h": 500}


def laid_out(ask: Ask, plan: dict[str, Any], level: str, width: int = WIDE) -> dict[str, Any]:
    expression = "import('/vendor/dagre.esm.js').then((d) => m.layoutPlan(plan, width, d, level))"
    found: dict[str, Any] = ask("graph_layout", expression, plan=plan, width=width, level=level)
    return found


def ends(place: dict[str, float]) -> tuple[float, float, float, float]:
    return place["x"], place["y"], place["x"] + place["w"], place["y"] + place["h"]


def lies_apart(a: dict[str, float], b: dict[str, float]) -> bool:
    left, top, right, bottom = ends(a)
    other_left, other_top, other_right, other_bottom = ends(b)
    aside = right <= other_left or other_right <= left
    return aside or bottom <= other_top or other_bottom <= top


class TestLayers:
    """Maps of modules/graph_layers.js."""

    @pytest.mark.parametrize("level", ["dot", "chip", "card"])
    @pytest.mark.parametrize("seed", range(8))
    def test_any_graph_without_a_circle_is_a_map(self, ask: Ask, seed: int, level: str) -> None:
        plan = random_plan(random.Random(seed))
        found = laid_out(ask, plan, level)
        assert set(found["places"]) == {node["id"] for node in plan["nodes"]}
        assert len(found["lines"]) == len(plan["edges"])
        for a, b in combinations(found["places"].values(), 2):
            assert lies_apart(a, b)
        for place in found["places"].values():
            left, top, right, bottom = ends(place)
            assert -0.01 <= left < right <= found["width"] + 0.01
            assert -0.01 <= top < bottom <= found["height"] + 0.01

    @pytest.mark.parametrize("level", ["dot", "chip"])
    def test_sources_stand_left_and_outputs_right(self, ask: Ask, level: str) -> None:
        plan = network(12, random.Random(1))
        places = laid_out(ask, plan, level)["places"]
        roles = {node["id"]: node["role"] for node in plan["nodes"]}
        middles = {id: place["x"] + place["w"] / 2 for id, place in places.items()}
        for role, side in (("source", min), ("output", max)):
            own = {round(places[id]["x"], 3) for id in roles if roles[id] == role}
            others = [places[id]["x"] for id in roles if roles[id] != "synopsis"]
            assert own == {round(side(others), 3)}
        for edge in plan["edges"]:
            if edge.get("queue"):
                assert middles[edge["source"]] < middles[edge["target"]]

    @pytest.mark.parametrize(("n_queries", "screens"), [(11, 0.5), (42, 1.5)])
    def test_queries_are_lanes_close_to_each_other(
        self, ask: Ask, n_queries: int, screens: float
    ) -> None:
        plan = network(n_queries, random.Random(n_queries))
        found = laid_out(ask, plan, "chip")
        assert found["drawn"] * 0.88 <= WIDE
        assert found["height"] <= screens * SCREEN
        outputs = sorted(
            found["places"][node["id"]]["y"] for node in plan["nodes"] if node["role"] == "output"
        )
        gaps = sorted(b - a for a, b in pairwise(outputs))
        assert gaps[0] >= 20
        assert gaps[len(gaps) // 2] <= 28

    def test_the_lanes_lie_in_the_same_order_at_all_levels(self, ask: Ask) -> None:
        plan = network(20, random.Random(4))
        orders = []
        for level in ("dot", "chip", "card"):
            places = laid_out(ask, plan, level)["places"]
            own = [node["id"] for node in plan["nodes"] if node["role"] == "output"]
            orders.append(sorted(own, key=lambda id: places[id]["y"]))
        assert orders[0] == orders[1] == orders[2]

    def test_state_is_a_mark_at_the_first_that_reads_it(self, ask: Ask) -> None:
        plan = network(6, random.Random(2))
        places = laid_out(ask, plan, "chip")["places"]
        for edge in plan["edges"]:
            if not edge.get("queue"):
                state, reader = places[edge["source"]], places[edge["target"]]
                assert 0 < state["x"] - reader["x"] - reader["w"] < 4
                assert abs(state["y"] + state["h"] / 2 - reader["y"] - reader["h"] / 2) < 0.01

    def test_names_of_a_plan_with_few_lanes_are_whole_on_two_lines(self, ask: Ask) -> None:
        plan = network(8, random.Random(3))
        operators = [node for node in plan["nodes"] if node["role"] == "operator"]
        for node in operators:
            node["name"] = "avg(dep_delay) > 45 min"
        places = laid_out(ask, plan, "chip")["places"]
        script = "m.nameLines('x avg(dep_delay) > 45 min', w, 11, w - m.textWidth(' · 12'))"
        for place in (places[node["id"]] for node in operators):
            lines = ask("fitting", script, w=place["w"] - 14)
            assert "".join(lines) == "x avg(dep_delay) > 45 min"
            assert place["h"] >= 15 * len(lines)

    @pytest.mark.parametrize("wide", [44, 48, 52, 68])
    def test_words_of_a_chip_stay_inside_of_it(self, ask: Ask, wide: int) -> None:
        """Room that a number leaves of a second line may be none: the name is on the first then."""
        for name in ("probe_5", "dep_delay", "airport_within", "source_in_Suspects", "temp"):
            script = "m.numberedLines(`ƒ ${name}`, name, '51.5 %', wide)"
            lines = ask("fitting", script, name=name, wide=wide)
            assert lines[-1].endswith("51.5 %")
            for line in lines:
                assert ask("fitting", "m.textWidth(line)", line=line) <= wide, lines
        whole = ask("fitting", "m.numberedLines('ƒ probe_5', 'probe_5', '51.5 %', 48)")
        assert whole == ["probe_5", "51.5 %"]

    def test_where_chips_are_small_marks_of_state_lie_below_them(self, ask: Ask) -> None:
        plan = network(8, random.Random(3))
        for width, is_below in ((1400, False), (700, True)):
            places = laid_out(ask, plan, "chip", width)["places"]
            for edge in plan["edges"]:
                if not edge.get("queue"):
                    mark, chip = places[edge["source"]], places[edge["target"]]
                    assert (mark["x"] < chip["x"] + chip["w"]) is is_below
                    assert (mark["y"] == pytest.approx(chip["y"] + chip["h"] + 1)) is is_below

    def test_another_query_leaves_the_lanes_in_their_order(self, ask: Ask) -> None:
        plan = network(14, random.Random(9))
        gone = plan["nodes"][-1]["id"]
        fewer = {
            **plan,
            "nodes": [node for node in plan["nodes"] if node["id"] != gone],
            "edges": [edge for edge in plan["edges"] if edge["target"] != gone],
        }
        kept = [node["id"] for node in fewer["nodes"] if node["role"] == "output"]
        orders = []
        for one in (plan, fewer):
            places = laid_out(ask, one, "chip")["places"]
            orders.append(sorted((places[id]["y"], id) for id in kept))
        orders = [[id for _, id in order] for order in orders]
        assert orders[0] == orders[1]


def layouts(level: str) -> dict[str, Any]:
    """A row of nodes, as large as the level makes them; what it is written as in JavaScript is
    below."""
    size = {"dot": 20, "chip": 100, "card": 160}[level]
    places = {f"n{i}": {"x": i * size, "y": i * size / 2, "w": 12, "h": 12} for i in range(30)}
    return {
        "places": places,
        "level": level,
        "width": 30 * size,
        "drawn": 30 * size,
        "height": 15 * size,
    }


GIVEN: Final = {"all": {level: layouts(level) for level in ("dot", "chip", "card")}}


class TestZoom:
    """modules/graph_zoom.js."""

    def test_a_plan_opens_at_the_nearest_level_at_which_it_fits(self, ask: Ask) -> None:
        sizes = {"tree": (2000, 1800), "chip": (1100, 400), "dot": (400, 200)}
        made = {k: {"level": k, "drawn": w, "height": h, "width": w} for k, (w, h) in sizes.items()}
        opening = "m.openingLevel((level) => all[level], n, wide, screen)"
        for wide, n, wanted in ((1180, 30, "chip"), (360, 30, "dot"), (2000, 30, "chip")):
            assert ask("graph_zoom", opening, all=made, n=n, wide=wide, screen=900) == wanted
        made["tree"]["height"] = 600
        assert ask("graph_zoom", opening, all=made, n=30, wide=2000, screen=900) == "tree"
        assert ask("graph_zoom", opening, all=made, n=300, wide=2000, screen=900) == "chip"
        made["chip"]["height"] = 1500
        assert ask("graph_zoom", opening, all=made, n=300, wide=1180, screen=900) == "dot"

    @settings(
        deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        st.floats(0, 1180),
        st.floats(0, 500),
        st.lists(st.sampled_from([0.7, 1.2, 1.5]), max_size=9),
    )
    def test_what_is_at_the_pointer_stays_there(
        self, ask: Ask, x: float, y: float, factors: list[float]
    ) -> None:
        """Where the edge of the layout does not hold it back."""
        steps = ask(
            "graph_zoom",
            "(() => { const layouts = (level) => all[level];"
            " const fit = Math.min(1, frame.w / all.chip.drawn);"
            " const opening = m.wholeMap(all.chip, fit, frame); let view = opening;"
            " const told = []; for (const factor of factors) {"
            "  const before = view;"
            "  const next = m.zoomedMap(view, opening, layouts, frame, at, factor);"
            "  view = next || opening;"
            "  told.push([before, { ...view, zoomed: next !== null }]); } return told; })()",
            **GIVEN,
            frame=_FRAME,
            at={"x": x, "y": y},
            factors=factors,
        )
        for before, after in steps:
            layout = GIVEN["all"][after["level"]]
            for axis, size, seen in (("x", "drawn", "w"), ("y", "height", "h")):
                wide = _FRAME[seen] / after["scale"]
                slack = layout[size] - wide
                lowest, highest = min(0, slack) - wide / 2, max(0, slack) + wide / 2
                assert lowest - 1e-6 <= after[axis] <= highest + 1e-6
                within = lowest + 1e-6 < after[axis] < highest - 1e-6
                if before["level"] == after["level"] and within and after["zoomed"]:
                    point = {"x": x, "y": y}[axis]
                    was = before[axis] + point / before["scale"]
                    assert after[axis] + point / after["scale"] == pytest.approx(was)

    def test_a_place_out_of_sight_comes_to_the_middle(self, ask: Ask) -> None:
        view = {"level": "card", "scale": 1, "x": 0, "y": 0}
        given = {**GIVEN, "view": view, "frame": _FRAME}
        shown = "m.mapShowing(view, all.card, frame, all.card.places[id])"
        assert ask("graph_zoom", shown, **given, id="n1") == view
        found = ask("graph_zoom", shown, **given, id="n15")
        place = GIVEN["all"]["card"]["places"]["n15"]
        assert found["x"] + _FRAME["w"] / 2 == pytest.approx(place["x"] + 6)
        assert found["y"] + _FRAME["h"] / 2 == pytest.approx(place["y"] + 6)


class TestVerdict:
    """modules/graph_verdict.js."""

    @pytest.mark.parametrize(
        ("peaks", "wanted"),
        [
            ([10, 10], {"a": "ok", "b": "ok", "c": "ok"}),
            ([10, 95], {"a": "ok", "b": "blocked", "c": "busy"}),
            ([95, 10], {"a": "blocked", "b": "busy", "c": "ok"}),
            ([95, 95], {"a": "blocked", "b": "blocked", "c": "busy"}),
            ([95, None], {"a": "blocked", "b": "busy"}),
        ],
    )
    def test_a_full_queue_blocks_who_fills_it(
        self, ask: Ask, peaks: list[int | None], wanted: dict[str, str]
    ) -> None:
        nodes = [{"id": name, "name": name.upper()} for name in "abc"]
        edges = [
            {"source": "a", "target": "b", "queue": "q"},
            {"source": "b", "target": "c", "queue": "r"},
        ]
        told = zip("qr", peaks, strict=True)
        values = {queue: [1000, peak, 0] for queue, peak in told if peak is not None}
        found = ask(
            "graph_verdict",
            "[...m.verdictsOf(plan, facts)].map(([id, v]) => [id, v.word, m.verdictWords(v)])",
            plan={"nodes": nodes, "edges": edges},
            facts={"values": values, "limits": {"q": 100, "r": 100}, "n": 1000},
        )
        assert {id: word for id, word, _ in found} == wanted
        words = {id: text for id, _, text in found}
        for id, word in wanted.items():
            if word == "blocked":
                assert words[id] == f"blocked by {chr(ord(id) + 1).upper()}"

    def test_nothing_is_said_of_queues_without_a_limit(self, ask: Ask) -> None:
        plan = {"nodes": [], "edges": [{"source": "a", "target": "b", "queue": "q"}]}
        facts = {"values": {"q": [9, 9, 9]}, "limits": {}, "n": 9}
        assert ask("graph_verdict", "m.verdictsOf(plan, facts).size", plan=plan, facts=facts) == 0
        assert ask("graph_verdict", "m.verdictWords(undefined)", plan=plan) == ""
