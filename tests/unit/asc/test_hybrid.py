"""Hybrid-sequences: the papers' examples, and decisions and routes against the oracle."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.conditions import ContinuousQuery
from backend.model.events import MicroArrow
from backend.model.schema import Schema
from backend.operators.selection.tickets import ticket_seed
from backend.systems.asc.constructs import ConstructSet, build_constructs
from backend.systems.asc.hybrid import (
    Compare,
    Rules,
    candidate_arrows,
    hybrid_sequence_by_period,
)
from backend.systems.asc.matching import StopRule, sample_regions, trace
from backend.systems.asc.ticket import Lottery, ticket_trace
from backend.systems.asc.walk import Walked, jump_tables, walk_plan
from tests.oracles import selection_hybrid as oracle
from tests.oracles.selection import NaiveConstructs
from tests.strategies import NUMBERS_SCHEMA, conjunctive_queries, number_rows
from tests.unit.asc.papers import L12_ROWS, C, columns, hybrid_sequence, l12, query

Rows = list[dict[str, Any]]
SCHEMA_ORDER = ("A1", "A2", "A3", "A4")
RULES = st.sampled_from(["resolved", "drop"])
SEEDS = st.integers(0, 2**64)


def regions_of(rows: Rows) -> Any:
    """Rows of [L12] Fig. 1 as regions."""
    return sample_regions(l12(), columns(rows))


def test_candidate_arrows_of_l12() -> None:
    """cab of ra[1..5]: the constructs a region's bitmap still has queries for, its own left out."""
    tables = {
        "A1": "0111 0111 0111 0101 0101",
        "A2": "1011 1011 1010 1010 1011",
        "A3": "1101 0101 0101 1101 1101",
        "A4": "1010 1110 1010 1110 1110",
    }
    for attribute, expected in tables.items():
        found = [candidate_arrows(l12(), attribute, region).astype(int) for region in range(1, 6)]
        assert " ".join("".join(map(str, row)) for row in found) == expected


def test_example_6_of_l12() -> None:
    """Level 1 on t4: A1.ra[5] → A2, where the macro-arrow leads, too (s = 0; A4 has 1/2);
    level 2 on t5: A2.ra[5] → A4 (d = 1 against 0)."""
    periods = [regions_of([L12_ROWS[3]]), regions_of([L12_ROWS[4]]), regions_of(L12_ROWS)[:0]]
    found = hybrid_sequence_by_period(l12(), periods, SCHEMA_ORDER, Rules("drop", min_support=1))
    first, second = found.decisions
    assert (first.attribute, first.region, first.target) == ("A1", 5, "A2")
    assert (first.metric, first.score, first.macro_score) == ("selectivity", 0.0, 0.0)
    assert (second.attribute, second.region, second.target) == ("A2", 5, "A4")
    assert (second.metric, second.score, second.macro_score) == ("dropping ratio", 1.0, 0.0)
    assert found.arrows == (MicroArrow("A1", 5, "A2", 1, 0.0), MicroArrow("A2", 5, "A4", 1, 1.0))


ARROWS = (
    MicroArrow("A1", 5, "A2", 1, 0.0),
    MicroArrow("A2", 5, "A4", 1, 1.0),
    MicroArrow("A4", 5, "A3", 1, 0.0),
)


def path(walked: Walked, order: tuple[str, ...]) -> set[str]:
    """The constructs the only tuple visited."""
    return {a for a, was in zip(order, walked.visited[0].tolist(), strict=True) if was}


def test_example_7_of_l12() -> None:
    t6 = walk_plan(l12(), regions_of([L12_ROWS[5]]), SCHEMA_ORDER, ARROWS, "drop")
    assert path(t6, SCHEMA_ORDER) == {"A1", "A2", "A4"}
    assert (t6.visits.tolist(), t6.n_unmatched, t6.dropped.tolist()) == ([3], 1, [0, 0, 0, 1])
    assert (t6.followed.tolist(), t6.n_macro, t6.micro_ratio) == ([1, 1, 0], 0, 1.0)
    t7 = walk_plan(l12(), regions_of([L12_ROWS[6]]), SCHEMA_ORDER, ARROWS, "drop")
    assert (t7.visits.tolist(), t7.n_unmatched, t7.alive.tolist()) == ([4], 0, [1, 1, 1, 1])
    assert (t7.followed.tolist(), t7.n_macro) == ([1, 0, 0], 2)  # then A3, then A4


def test_visits_of_l12_under_fixed_orders() -> None:
    """23 to 26 visits, 24 in schema order: a plan without arrows is its macro order."""
    totals = {
        order: int(walk_plan(l12(), regions_of(L12_ROWS), order, (), "drop").visits.sum())
        for order in permutations(SCHEMA_ORDER)
    }
    assert (min(totals.values()), max(totals.values())) == (23, 26)
    assert (totals["A1", "A4", "A2", "A3"], totals[SCHEMA_ORDER]) == (23, 24)
    hybrid = walk_plan(l12(), regions_of(L12_ROWS), SCHEMA_ORDER, ARROWS, "drop")
    assert hybrid.visits.tolist() == [3, 4, 3, 2, 3, 3, 4]  # 22: below any order


def test_one_arrow_a_region_to_another_construct() -> None:
    for wrong, said in (
        ((*ARROWS, MicroArrow("A1", 5, "A3", 1, 0.0)), "one micro-arrow a region"),
        ((MicroArrow("A1", 5, "A1", 1, 0.0),), "to another construct"),
        ((MicroArrow("A1", 6, "A2", 1, 0.0),), "fits none of the constructs A1, A2, A3, A4"),
        ((MicroArrow("A1", 5, "B", 1, 0.0),), "fits none"),
    ):
        with pytest.raises(ValueError, match=said):
            jump_tables(l12(), wrong)


def test_without_a_choice_there_is_no_arrow() -> None:
    schema = Schema.parse("x int, y int")
    for queries in ([], [query("q", C("x", "=", 1))]):
        constructs = build_constructs(queries, schema)
        regions = sample_regions(constructs, {"x": [1, 2], "y": [0, 0]})
        found = hybrid_sequence(constructs, regions, constructs.attributes, Rules("drop"))
        assert (found.arrows, found.decisions) == ((), ())
        walked = walk_plan(constructs, regions, constructs.attributes, (), "drop")
        assert walked.visits.tolist() == [len(queries)] * 2
        assert walked.micro_ratio is None


def test_periods_must_suffice() -> None:
    with pytest.raises(ValueError, match=r"2 periods given; 3 are needed \(one a level\)"):
        hybrid_sequence_by_period(l12(), [regions_of(L12_ROWS)] * 2, SCHEMA_ORDER, Rules("drop"))


def test_thin_regions_stay_undecided() -> None:
    found = hybrid_sequence(l12(), regions_of(L12_ROWS), SCHEMA_ORDER, Rules("drop", "local", 4))
    assert {(d.attribute, d.region, d.support) for d in found.decisions} == {("A1", 5, 5)}
    assert found.n_thin == 6


def some_arrows(constructs: ConstructSet, seed: int) -> tuple[MicroArrow, ...]:
    """Any micro-arrows at all, good or not."""
    rng = random.Random(seed)
    found = []
    for attribute, construct in constructs.constructs.items():
        others = [a for a in constructs.attributes if a != attribute]
        for region in range(construct.n_regions):
            target = rng.choice([None, *others])
            if target is not None:
                found.append(MicroArrow(attribute, region, target, 1, 0.0))
    return tuple(found)


@given(conjunctive_queries(), number_rows(), st.data(), RULES)
def test_routes_are_those_of_the_text(
    queries: list[ContinuousQuery], rows: Rows, data: st.DataObject, rule: StopRule
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    order = data.draw(st.permutations(constructs.attributes))
    arrows = some_arrows(constructs, data.draw(SEEDS))
    found = walk_plan(constructs, sample_regions(constructs, columns(rows)), order, arrows, rule)
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    targets = {(a.attribute, a.region): a.target for a in arrows}
    expected = [oracle.route(naive, order, targets, row, rule) for row in rows]
    visited = [[a in t.visited for a in order] for t in expected]
    assert found.visited.tolist() == visited
    assert found.reached.tolist() == [sum(column) for column in zip(*visited, strict=True)]
    assert found.n_micro == sum(map(oracle.n_micro, expected))
    assert found.n_micro + found.n_macro == sum(max(0, len(t.visited) - 1) for t in expected)
    died = [t.visited[-1] for t in expected if t.visited and not t.live]
    assert found.dropped.tolist() == [died.count(a) for a in order]
    for level, alive in enumerate(found.alive.tolist(), start=1):
        partial = [oracle.Traveller(naive, order, row, rule).travel(targets, level) for row in rows]
        assert alive == sum(bool(t.live) for t in partial)


@given(conjunctive_queries(), number_rows(), st.data(), RULES)
def test_matches_are_those_of_any_fixed_order(
    queries: list[ContinuousQuery], rows: Rows, data: st.DataObject, rule: StopRule
) -> None:
    """F1; and each construct is visited at most once, useful ones only."""
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    regions = sample_regions(constructs, columns(rows))
    order = data.draw(st.permutations(constructs.attributes))
    fixed = trace(constructs, regions, order, rule)
    found = walk_plan(constructs, regions, order, some_arrows(constructs, data.draw(SEEDS)), rule)
    assert (found.grb == fixed.grb).all()
    plain = walk_plan(constructs, regions, order, (), rule)
    assert plain.visits.tolist() == fixed.visits.tolist()
    assert plain.reached.tolist() == fixed.reached.tolist()


@given(
    conjunctive_queries(),
    st.lists(number_rows(8), min_size=4, max_size=4),
    st.data(),
    RULES,
    st.sampled_from(["local", "global"]),
    st.integers(1, 3),
    st.booleans(),
)
def test_arrows_are_those_of_the_text(
    queries: list[ContinuousQuery],
    periods: list[Rows],
    data: st.DataObject,
    rule: StopRule,
    compare: Compare,
    min_support: int,
    is_one_sample: bool,
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    order = data.draw(st.permutations(constructs.attributes))
    rules = Rules(rule, compare, min_support)
    if is_one_sample:
        periods = periods[:1] * 4
        regions = sample_regions(constructs, columns(periods[0]))
        found = hybrid_sequence(constructs, regions, order, rules)
    else:
        each = [sample_regions(constructs, columns(rows)) for rows in periods]
        found = hybrid_sequence_by_period(constructs, each, order, rules)
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    expected = oracle.hybrid_sequence(naive, periods, order, rule, compare, min_support)
    assert {(d.attribute, d.region): d.target for d in found.decisions} == expected
    assert all(d.support >= min_support for d in found.decisions)
    assert all(a.gain >= 0 for a in found.arrows)


@given(conjunctive_queries(), number_rows(), st.data(), RULES, SEEDS)
def test_ticket_routes_are_those_of_the_text(
    queries: list[ContinuousQuery], rows: Rows, data: st.DataObject, rule: StopRule, seed: int
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    order = data.draw(st.permutations(constructs.attributes))
    regions = sample_regions(constructs, columns(rows))
    found = ticket_trace(constructs, regions, order, rule, Lottery(seed))
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    routes, tickets = oracle.ticket_routes(naive, order, rows, rule, Lottery(seed).draw)
    assert found.visited.tolist() == [[a in way for a in order] for way in routes]
    assert list(found.tickets) == tickets
    assert found.dropped.tolist() == [n - 1 for n in tickets]
    assert (found.grb == trace(constructs, regions, order, rule).grb).all()


def test_split_mix_64() -> None:
    """The first numbers of the published generator from seed 0."""
    lottery = Lottery(0)
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [lottery.draw(1 << 64) for _ in known] == known


def test_tickets_go_to_the_construct_that_drops() -> None:
    regions = np.repeat(regions_of([L12_ROWS[0]]), 200, axis=0)  # A1, A3, A4 and A2 in some order
    found = ticket_trace(l12(), regions, SCHEMA_ORDER, "drop", Lottery(ticket_seed(3, 7)))
    assert sum(found.tickets) == 4 + 200
    later = ticket_trace(l12(), regions, SCHEMA_ORDER, "drop", Lottery(5), found.tickets)
    assert sum(later.tickets) == 4 + 400
    assert ticket_seed(3, 7, 1) != ticket_seed(3, 7) != ticket_seed(3, 8)
