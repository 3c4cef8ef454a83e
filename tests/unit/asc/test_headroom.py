"""What a selection plan says would change it next, against the rules it is built and kept by."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.conditions import ContinuousQuery
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.headroom import _overtakers
from backend.systems.asc.macro import macro_sequence, standing_places
from backend.systems.asc.matching import sample_regions
from storage.vocabulary.headroom import Headroom, read
from tests.oracles import selection_orders as oracle
from tests.oracles.selection import NaiveConstructs
from tests.strategies import NUMBERS_SCHEMA, conjunctive_queries, number_rows
from tests.unit.asc.papers import columns
from tests.unit.asc.stream import Stream, a_filters, b_filters, settings

Rows = list[dict[str, Any]]


@given(conjunctive_queries(), number_rows().filter(bool), st.data())
def test_pairs_of_an_order_are_told_by_the_text_of_the_rule(
    queries: list[ContinuousQuery], rows: Rows, data: st.DataObject
) -> None:
    """Of any order: by how much each attribute lags the one before, of what gets there."""
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    order = data.draw(st.permutations(naive.attributes))
    regions = sample_regions(constructs, columns(rows))
    for place, found in enumerate(standing_places(constructs, regions, order)):
        prefix = list(order[:place])
        alive = 1 - oracle.dropping_ratio(naive, prefix, rows)
        assert found.alive_prob == pytest.approx(float(alive))
        for one in _overtakers(found):
            if oracle.covered(naive, prefix) != naive.covered:
                scores = [
                    oracle.selectivity(naive, prefix, a, rows) for a in (one.entity, one.over)
                ]
                expected = max(Fraction(0), scores[0] - scores[1])
            else:
                drops = [
                    oracle.dropping_ratio(naive, [*prefix, a], rows) for a in (one.over, one.entity)
                ]
                expected = (drops[0] - drops[1]) / alive
            assert one.missing == pytest.approx(float(expected))
            assert 0 <= one.near <= 1


@given(conjunctive_queries(), number_rows().filter(bool))
def test_nothing_has_overtaken_in_an_order_just_built(
    queries: list[ContinuousQuery], rows: Rows
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    regions = sample_regions(constructs, columns(rows))
    order = macro_sequence(constructs, regions).order
    for place in standing_places(constructs, regions, order):
        assert place.step.chosen == order[len(order) - len(place.step.candidates)]
        assert all((one.missing or 0) >= 0 for one in _overtakers(place))


def told(stream: Stream, verdict: str) -> list[list[Headroom]]:
    return [read(one.detail) for one in stream.decisions() if one.verdict == verdict]


def test_a_kept_order_says_where_the_trigger_stands_and_who_is_next() -> None:
    stream = Stream(settings(mu=0.3), profile_prob=0.5)
    for seed in range(8):
        stream.run(b_filters(500, seed))
    (*_, last) = told(stream, "below_threshold")
    trigger = next(one for one in last if not one.entity)
    assert re.match(
        r"the order is built anew when visits per tuple come to [\d.]+ or", trigger.words
    )
    decision = [one for one in stream.decisions() if one.verdict == "below_threshold"][-1]
    assert decision.lhs is not None
    assert trigger.near == pytest.approx(decision.lhs / 0.3)
    init = decision.detail["visits"]["init"]
    assert trigger.missing == pytest.approx((0.3 - decision.lhs) * init)
    pairs = [one for one in last if one.entity]
    assert 1 <= len(pairs) <= 3
    order = stream.core.plan.order
    assert all(order.index(one.over) < order.index(one.entity) for one in pairs)
    assert [one.near for one in last] == sorted((one.near for one in last), reverse=True)


def test_what_is_held_back_says_how_long() -> None:
    stream = Stream(settings(mu=0.05, cooldown_tuples=10_000), profile_prob=0.5)
    stream.run(b_filters(500))
    for seed in range(6):
        stream.run(a_filters(500, seed))
    held = told(stream, "cooldown")
    assert held
    waits = next(one for one in held[0] if one.unit == "tuples")
    assert waits.missing is not None
    assert 0 < waits.missing < 10_000
    assert "of the cool-down have to come first" in waits.words


def test_a_rearrangement_says_from_where_on_the_next_one_comes() -> None:
    stream = Stream(settings(mu=0.1), profile_prob=0.5)
    for seed in range(3):
        stream.run(b_filters(500, seed))
        stream.run(a_filters(500, seed))
    for decision in stream.decisions():
        if decision.verdict not in ("switched", "kept"):
            continue
        told = read(decision.detail)
        again = next(one for one in told if "is built anew when visits" in one.words)
        init = decision.detail["visits_init"]
        assert again.missing == pytest.approx(0.1 * init)
        assert again.near == 0.0
        others = [one for one in told if one is not again]
        assert bool(others) == (decision.verdict == "kept")
