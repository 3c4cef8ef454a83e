"""An eddy as a hub: what goes each step, what is explored; how outcomes are said."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.systems.amri.hub_view import build_hub, sent
from dashboard.views.decision_card import build_card
from dashboard.views.decisions import saved_per_1000
from dashboard.views.postmortem import _cost
from storage.tables.rows import DecisionEntry, StoredMatrix
from storage.vocabulary.records import Decision, DecisionOutcome, Matrix

COLUMNS = ("price", "share", "compared", "in force", "elements", "fan-out 1", "fan-out 2")


def stored(
    rows: Mapping[str, list[float | None]], columns: tuple[str, ...] = COLUMNS
) -> StoredMatrix:
    names, values = tuple(rows), list(rows.values())
    matrix = Matrix("routes by origin of e", "routes by origin", names, columns, values)
    return StoredMatrix(7, 0.0, matrix)


@given(
    st.integers(1, 5000),
    st.integers(0, 5000),
    st.tuples(*[st.floats(0, 9)] * 2),
)
def test_what_goes_a_step_is_what_came_out_of_the_one_before(
    n: int, explored: int, fan_outs: tuple[float, float]
) -> None:
    most, fewest = max(n, explored), min(n, explored)
    rows: dict[str, list[float | None]] = {
        "S → T → U": [2.0, most / (n + explored), 1.0, 1, most, *fan_outs],
        "S → U → T": [3.0, fewest / (n + explored), 1.0, 0, fewest, 1.0, 1.0],
        "T → S → U": [2.0, 0.0, None, 1, 0, 1.0, 1.0],
    }
    hub = build_hub(stored(rows))
    assert (hub.title, hub.states, hub.batch) == ("e", ("S", "T"), 7)
    origin, idle = hub.origins
    assert [step.state for step in origin.steps] == ["T", "U"]
    for place, step in enumerate(origin.steps):
        assert step.requests == pytest.approx((n + explored) * prod(fan_outs[:place]))
    assert origin.results == pytest.approx((n + explored) * prod(fan_outs))
    assert origin.explored == pytest.approx(fewest / (n + explored))
    assert [(other.states, other.share) for other in origin.others] == (
        [(("U", "T"), fewest / (n + explored))] if fewest else []
    )
    assert (idle.elements, idle.explored, idle.others) == (0, None, ())


def test_in_the_batch_of_a_switch_what_is_explored_is_what_most_did_not_take() -> None:
    hub = build_hub(
        stored({"S → T": [2.0, 0.02, 9.0, 1, 2, 0.5], "S → U": [3.0, 0.98, 9.0, 0, 98, 2.0]},
               COLUMNS[:-1])
    )  # fmt: skip
    (origin,) = hub.origins
    assert origin.explored == pytest.approx(0.02)
    assert origin.elements == 100
    assert [other.share for other in origin.others] == [0.98]


def test_a_record_without_traffic_has_the_routes_all_the_same() -> None:
    hub = build_hub(stored({"S → T → U": [4.0, None, None, 1]}, COLUMNS[:4]))
    (origin,) = hub.origins
    assert [step.requests for step in origin.steps] == [None, None]
    assert (origin.elements, origin.explored, origin.results) == (None, None, None)
    assert sent(hub)["origins"][0]["steps"][1] == {
        "state": "U", "requests": None, "fan_out": None,
    }  # fmt: skip


BITS = {
    "cost_unit": "work per search request",
    "samples": "search requests",
    "followed": {"what": "index bits", "on": "search requests", "alike": "same patterns"},
}
ROUTE = {
    "cost_unit": "work per element",
    "followed": {"what": "route", "on": "elements sent the old way", "alike": "same batches"},
}


def entry(
    detail: Mapping[str, object], verdict: str = "switched", measured: bool = True
) -> DecisionEntry:
    decision = Decision(
        1, 4, "amri", "index bits", verdict, "m", 2.0, ">", 1.0, 600, 2000, 0, "it moved",
        {"kind": "bits", "order": ["a"]}, {"kind": "bits", "order": ["a"]}, 30.0, 20.0,
        detail=detail,
    )  # fmt: skip
    outcome = DecisionOutcome(1, 9, 21.0, 5000, 20.5, 30.5, 4000) if measured else None
    return DecisionEntry(decision, 0.0, outcome)


def test_what_bits_brought_is_said_of_search_requests() -> None:
    card = build_card(entry(BITS), [], [])
    assert card.saved_words == (
        "saved 10\u2009000 units of work per 1 000 search requests "
        "(estimated on 4\u2009000 search requests)"
    )
    assert [(cost.label, cost.cost.value) for cost in card.costs] == [
        ("old index bits, predicted", 30.0),
        ("new index bits, predicted", 20.0),
        ("new index bits, measured", 21.0),
        ("new index bits, same patterns", 20.5),
        ("old index bits, same patterns", 30.5),
    ]
    assert card.costs[2].basis == "measured on 5\u2009000 search requests"


def test_what_a_route_brought_is_said_of_elements_that_went_the_old_way() -> None:
    card = build_card(entry(ROUTE), [], [])
    assert card.saved_words.endswith(
        "per 1 000 elements (estimated on 4\u2009000 elements sent the old way)"
    )
    assert _cost(entry(ROUTE)) == (
        "; it saved 10.00 work per element (20.50 against 30.50 of the plan before, "
        "on 4\u2009000 elements sent the old way)"
    )


def test_what_acted_without_another_plan_shows_its_outcome_once_there_is_one() -> None:
    assert saved_per_1000(entry(BITS, "acted")).value == pytest.approx(10_000)
    waiting = build_card(entry(BITS, "acted", measured=False), [], [])
    assert waiting.saved_words == "nothing was switched"
    assert len(waiting.costs) == 2
