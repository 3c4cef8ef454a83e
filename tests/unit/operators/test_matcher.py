"""The matching kernels against the Python that defines them, plan kind by plan kind."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from backend.model.conditions import And, Comparison, ContinuousQuery
from backend.model.events import MicroArrow
from backend.model.schema import Schema
from backend.operators.selection.layout import Matches
from backend.operators.selection.matcher import Matcher
from backend.operators.selection.tickets import FIRST_TICKETS
from backend.systems.asc import layouts
from backend.systems.asc.construct import slots_in
from backend.systems.asc.constructs import ConstructSet, build_constructs
from backend.systems.asc.interning import TILE_SLOTS
from backend.systems.asc.layouts import layout_of
from backend.systems.asc.matching import StopRule, sample_regions, trace
from backend.systems.asc.ticket import Lottery, ticket_trace
from backend.systems.asc.walk import walk_plan
from tests.strategies import MIXED_SCHEMA, mixed_queries, rows_of

RULES = st.sampled_from(["resolved", "drop"])


def final_bits(found: Matches, n_tuples: int) -> list[list[int]]:
    """Per tuple the slots that matched."""
    slots: list[list[int]] = [[] for _ in range(n_tuples)]
    for tuple_, slot in zip(found.tuples.tolist(), found.slots.tolist(), strict=True):
        slots[tuple_].append(slot)
    return slots


def in_order(regions: NDArray[np.intp], constructs: ConstructSet, order: Sequence[str]) -> Any:
    """intp[T, n] in schema order as the kernels take them."""
    columns = [constructs.attributes.index(attribute) for attribute in order]
    return np.ascontiguousarray(regions[:, columns].T.astype(np.int32))


def random_arrows(rng: random.Random, constructs: ConstructSet) -> list[MicroArrow]:
    """A micro-arrow on about half of the regions."""
    return [
        MicroArrow(a, region, rng.choice([b for b in constructs.attributes if b != a]), 1, 0.0)
        for a, construct in constructs.constructs.items()
        for region in range(construct.n_regions)
        if rng.random() < 0.5 and len(constructs.attributes) > 1
    ]


def check(
    constructs: ConstructSet, regions: NDArray[np.intp], rng: random.Random, rule: StopRule
) -> None:
    """All four kinds of plan on one set of tuples."""
    order = rng.sample(constructs.attributes, len(constructs.attributes))
    arrows = random_arrows(rng, constructs)
    block, resolved = in_order(regions, constructs, order), rule == "resolved"
    fixed = trace(constructs, regions, order, rule)
    expected = [slots_in(grb) for grb in fixed.grb]
    layouts = {kind: layout_of(constructs, order) for kind in ("early drop", "ticket")}
    layouts |= {"no early drop": layouts["ticket"], "hybrid": layout_of(constructs, order, arrows)}
    counted = {}
    for kind, layout in layouts.items():
        matcher = Matcher(layout, kind, resolved, FIRST_TICKETS, seed=5)
        assert final_bits(matcher.match(block), len(regions)) == expected
        counted[kind] = matcher.counts
    assert counted["no early drop"].reached.tolist() == [len(regions)] * len(order)
    assert counted["early drop"].reached.tolist() == fixed.reached.tolist()
    dropped = counted["early drop"].dropped
    live_at_start = len(regions) * bool(constructs.initial.any())
    assert (live_at_start - dropped.cumsum()).tolist() == fixed.alive.tolist()
    walked = walk_plan(constructs, regions, order, arrows, rule)
    assert counted["hybrid"].reached.tolist() == walked.reached.tolist()
    assert counted["hybrid"].dropped.tolist() == walked.dropped.tolist()
    drawn = ticket_trace(constructs, regions, order, rule, Lottery(5))
    assert counted["ticket"].reached.tolist() == drawn.reached.tolist()
    assert counted["ticket"].dropped.tolist() == drawn.dropped.tolist()
    assert counted["ticket"].tickets.tolist() == list(drawn.tickets)


@settings(max_examples=60)
@given(mixed_queries(), rows_of(MIXED_SCHEMA), st.integers(0, 99), RULES)
def test_kernels_do_what_the_definitions_say(
    queries: list[ContinuousQuery], rows: list[dict[str, Any]], seed: int, rule: StopRule
) -> None:
    constructs = build_constructs(queries, MIXED_SCHEMA)
    sample = {name: [row[name] for row in rows] for name in MIXED_SCHEMA.names}
    check(constructs, sample_regions(constructs, sample), random.Random(seed), rule)


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize(
    ("n_queries", "rule"), [(70, "resolved"), (600, "drop"), (6000, "resolved"), (6000, "drop")]
)
def test_bitmaps_of_many_words_and_tiles(
    n_queries: int, rule: StopRule, is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layouts, "WHOLE_BYTES", 2**26 if is_whole else 0)
    rng = random.Random(n_queries)
    schema = Schema.parse(", ".join(f"a{i} int" for i in range(6)))
    queries = [
        ContinuousQuery(
            f"q{j}",
            "S",
            "",
            And(
                tuple(
                    Comparison(a, rng.choice(("<", ">=", "=")), rng.randrange(20))
                    for a in rng.sample(schema.names, 1 + j % 3)
                )
            ),
        )
        for j in range(n_queries)
    ]
    constructs = build_constructs(queries, schema)
    assert n_queries < 6000 or constructs.n_slots > TILE_SLOTS
    values = {a: [rng.randrange(-1, 21) for _ in range(40)] for a in schema.names}
    check(constructs, sample_regions(constructs, values), rng, rule)


def test_there_is_room_for_every_match() -> None:
    schema = Schema.parse("a int")
    queries = [ContinuousQuery(f"q{j}", "S", "", Comparison("a", "<>", j)) for j in range(100)]
    constructs = build_constructs(queries, schema)
    for kind in ("early drop", "no early drop", "ticket"):
        matcher = Matcher(layout_of(constructs, ("a",)), kind, True)
        regions = np.full((1, 500), 1, dtype=np.int32)
        for _ in range(2):
            assert len(matcher.match(regions).slots) == 500 * 100
        assert matcher.counts.reached.tolist() == [1000]
        assert matcher.counts.dropped.tolist() == [0]


def test_one_word_bitmaps_find_room_too() -> None:
    constructs = build_constructs(
        [ContinuousQuery(f"q{j}", "S", "", Comparison("a", "<>", j)) for j in range(60)],
        Schema.parse("a int"),
    )
    for kind in ("early drop", "no early drop"):
        matcher = Matcher(layout_of(constructs, ("a",)), kind, True)
        found = matcher.match(np.full((1, 3000), 1, dtype=np.int32))
        assert np.bincount(found.tuples).tolist() == [60] * 3000
        assert matcher.counts.reached.tolist() == [3000]
