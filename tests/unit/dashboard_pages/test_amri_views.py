"""The bit budget, routes and regret of eddies with adaptive indexes; bits on cards of the plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dashboard.systems.amri import bits
from dashboard.systems.amri.bits_view import StateBits, build_states
from dashboard.systems.amri.lanes_figure import draw_lanes
from dashboard.systems.amri.lanes_view import MOST_LANES, build_lanes
from dashboard.systems.amri.regret_view import StateRegret, build_regret, regret_words
from dashboard.systems.amri.routes_view import MOST_ORDERS, build_routes
from dashboard.systems.amri.words import NODES, UNREPLAYED, WORDS
from dashboard.views.book import Book
from dashboard.views.plan import plan_nodes
from storage.tables.rows import DecisionEntry, StoredMatrix
from storage.vocabulary.amri import AMRI, PATTERN_COLUMNS
from storage.vocabulary.records import Decision, Entity, Knob, Matrix, PlanVersion
from tests.unit.dashboard_pages.figures import checked

UNIT = "u"
NAN = float("nan")


def entity(role: str, id: str, name: str, port: int) -> Entity:
    kind: Any = "synopsis" if role == "stem" else "index"
    return Entity(id, kind, name, {"node": "eddy", "port": port}, unit_id=UNIT, role=role)


BOOK = Book(
    [
        Entity("eddy", "operator", "S ⋈ T", {}, unit_id=UNIT, role="join"),
        entity("stem", "s:T", "T", 1),
        entity("stem", "s:S", "S", 0),
        entity("bit index", "i:S", "S", 0),
    ]
)


def stored(kind: str, rows: Any, columns: Any, values: Any, **facts: Any) -> StoredMatrix:
    matrix = Matrix(f"{kind} of x", kind, tuple(rows), tuple(columns), values, "", 0,
                    row_stats=facts, unit_id=UNIT)  # fmt: skip
    return StoredMatrix(7, 0.0, matrix)


def partitions(state: str, values: list[list[int]], moves: list[bool]) -> StoredMatrix:
    rows = [str(10 + place) for place in range(len(values))]
    facts = {"state": [state], "tuples": [100] * len(rows), "migrating": moves, "next": [2, 3]}
    return stored("bits by partition", rows, ("a", "b"), values, **facts)


def patterns(state: str, rows: dict[str, list[float | None]]) -> StoredMatrix:
    return stored("access patterns", rows, PATTERN_COLUMNS, list(rows.values()), state=[state])


def knob(value: int) -> dict[str, Knob]:
    return {"index_bits": Knob("index_bits", "int", value, 12, "bits", "B.", entity="eddy")}


def states(**more: Any) -> list[StateBits]:
    told = {
        "partitions": [partitions("s:S", [[4, 1], [2, 3]], [True, False])],
        "patterns": [
            patterns(
                "s:S",
                {
                    "<a,b>": [5, 0.1, None, 0.2, 1, 0, 1, 5, 0],
                    "<a,*>": [45, 0.9, 0.9, 0.8, 8, 1, 4, 45, 0],
                },
            )
        ],
        "knobs": knob(8),
        **more,
    }
    values = {"s:S": {"state_tuples": 200.0}, "i:S": {"index_bytes": 4096.0}}
    return build_states(BOOK, values, **told)


def test_a_state_has_its_bits_partitions_and_what_is_asked_of_it() -> None:
    (one,) = states()
    assert (one.name, one.eddy, one.bits, one.spent, one.budget) == ("S", "S ⋈ T", (2, 3), 5, 8)
    assert [(p.number, p.bits, p.migrating) for p in one.partitions] == [
        ("10", (4, 1), True),
        ("11", (2, 3), False),
    ]
    assert one.migrating == 1
    told = [(p.pattern, p.reported, p.predicted) for p in one.patterns]
    assert told == [("<a,*>", 0.9, 0.8), ("<a,b>", None, 0.2)]
    assert one.values == {"state_tuples": 200.0, "index_bytes": 4096.0}


def test_states_stand_in_the_order_of_their_ports() -> None:
    both = [partitions(state, [[1, 1]], [False]) for state in ("s:T", "s:S")]
    assert [one.name for one in states(partitions=both)] == ["S", "T"]


def test_a_state_that_nothing_was_asked_of_has_no_patterns() -> None:
    (one,) = states(patterns=[patterns("s:T", {"<a>": [1, 1, 1, 1, 1, 1, 1, 1, 1]})])
    assert (one.patterns, one.asked) == ((), None)


def test_a_budget_that_fell_below_the_bits_in_force_is_theirs() -> None:
    assert states(knobs=knob(3))[0].budget == 5
    assert states(knobs={})[0].budget is None


def test_of_many_partitions_the_newest_are_drawn_and_all_are_in_the_table() -> None:
    n = bits.MOST_STRIPS + 5
    found = states(partitions=[partitions("s:S", [[1, 1]] * n, [False] * n)])
    strips, words = bits._strips(found[0])
    assert len(strips.children) == bits.MOST_STRIPS
    assert strips.children[-1].to_plotly_json()["props"]["data-partition"] == str(9 + n)
    assert f"of {n} partitions" in words.children


ROUTES = {
    "A → B → C": [9.0, None, None, 0],
    "A → C → B": [3.0, 0.98, 20.0, 1],
    "B → A → C": [None, 1.0, 7.0, 1],
}


def test_routes_are_told_by_origin_the_cheapest_first() -> None:
    view = build_routes(
        stored("routes by origin", ROUTES, ("price", "share", "compared", "in force"),
               list(ROUTES.values()))
    )  # fmt: skip
    told = [(one.origin, one.order, one.ratio, one.in_force) for one in view.lines]
    assert told == [
        ("A", "C → B", 1.0, True),
        ("A", "B → C", 3.0, False),
        ("B", "A → C", None, True),
    ]
    assert (view.total, view.batch) == (3, 7)


def test_the_order_in_force_is_listed_however_dear_it_is() -> None:
    n = MOST_ORDERS + 4
    rows = [f"A → X{place}" for place in range(n)]
    values = [[float(place + 1), None, None, int(place == n - 1)] for place in range(n)]
    view = build_routes(
        stored("routes by origin", rows, ("price", "share", "compared", "in force"), values)
    )
    assert [one.order for one in view.lines] == [
        *(f"X{place}" for place in range(MOST_ORDERS)),
        f"X{n - 1}",
    ]
    assert view.total == n


def test_regret_is_of_the_states_that_were_accounted() -> None:
    values = {
        "s:S": {"regret_spent": 12.0, "regret_fixed": 10.0, "regret_sequence": 8.0},
        "s:T": {"regret_spent": NAN, "regret_fixed": 1.0, "regret_sequence": 1.0},
    }
    (one,) = build_regret(BOOK, values)
    assert one.name == "S"
    assert one.over_fixed == pytest.approx(0.2)
    assert one.over_sequence == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("spent", "words"), [(12.0, "20.0\u2009% more than"), (9.0, "10.0\u2009% less than"),
                         (10.0, "as much as")],
)  # fmt: skip
def test_regret_is_said_in_a_sentence(spent: float, words: str) -> None:
    told = regret_words([StateRegret("S", spent, 10.0, 8.0)])
    assert told.startswith(f"Searches and migrations cost {words} the best bits that never change")


def test_nothing_is_said_of_nothing_spent() -> None:
    assert regret_words([StateRegret("S", 0.0, 0.0, 0.0)]).startswith("Nothing was spent")


def move(seq: int, batch: int, state: str, old: list[int], new: list[int]) -> DecisionEntry:
    detail = {"eddy": "e", "state": state, "attributes": ["a", "b"]}
    decision = Decision(
        seq, batch, "amri", "index bits", "switched", "m", 2.0, ">", 1.0, 9, 9, 0, "it moved",
        {"bits": old}, {"bits": new}, detail=detail,
    )  # fmt: skip
    return DecisionEntry(decision, float(batch), None)


def test_a_lane_goes_from_the_first_batch_to_the_last() -> None:
    moves = [move(5, 7, "S", [3, 1], [2, 2]), move(2, 4, "S", [4, 0], [3, 1])]
    route = move(3, 5, "T", [1, 1], [1, 1])
    other = replace(route, decision=replace(route.decision, kind="route"))
    (lane,) = build_lanes([*moves, other], (0, 0.0), (9, 9.0))
    assert [(one.batch, one.bits) for one in lane.points] == [
        (0, (4, 0)),
        (4, (3, 1)),
        (7, (2, 2)),
        (9, (2, 2)),
    ]
    assert lane.n_moves == 2
    drawn = checked(draw_lanes([lane], "dark"))
    assert [list(trace.y) for trace in drawn.data] == [[4, 3, 2, 2], [0, 1, 2, 2]]
    assert drawn.layout.yaxis.range == (0, 4)


def test_lanes_are_of_the_states_whose_bits_moved_most() -> None:
    names = [f"S{place:02}" for place in range(MOST_LANES + 1)]
    once = [move(place + 1, 1, name, [1, 0], [0, 1]) for place, name in enumerate(names)]
    again = [move(place + 50, 2, name, [0, 1], [1, 0]) for place, name in enumerate(names[1:])]
    lanes = build_lanes([*once, *again], (0, 0.0), (9, 9.0))
    assert [lane.state for lane in lanes] == names[1:]
    assert len({one.yaxis for one in checked(draw_lanes(lanes)).data}) == MOST_LANES


def test_a_card_of_a_state_tells_its_bits() -> None:
    facts = {"attributes": ["a", "b"], "bits": [3, 0]}
    graph = {"nodes": [{"id": "s", "role": "stem", "name": "S", "properties": facts},
                       {"id": "j", "role": "join", "name": "J", "properties": facts}],
             "edges": []}  # fmt: skip
    nodes = plan_nodes(PlanVersion(1, 0, "network", ("j",), graph, "h", "", unit_id=UNIT))
    told = {node.id: (node.cells, node.note) for node in nodes}
    assert told["s"] == ((("a", 3), ("b", 0)), "a 3, b 0")
    assert told["j"][0] is None


def test_all_that_is_published_has_words() -> None:
    assert set(AMRI.properties) <= set(WORDS)
    assert set(AMRI.roles) == set(NODES)
    assert set(UNREPLAYED) <= set(WORDS)
