"""Coalescing alone: runs after every element are the maximal intervals of what is there. Card B1"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from backend.operators.network.kinds.coalesce import CoalesceOp
from backend.operators.network.shedding.temporal import TemporalTuple, coalesced
from tests.oracles.network_operators import Element, Relation, relations
from tests.unit.network.playing import Player, fields_of

FIELDS = fields_of("a int, valid_from bigint, valid_to bigint")
N = 120


def history(seed: int) -> list[Element]:
    """An element a tick: intervals of two value groups that come and go in any order, most short,
    some of which hold all others together."""
    random = Random(seed)
    there: list[tuple[int | None, int, int]] = []
    elements: list[Element] = []
    for tick in range(N):
        if there and random.random() < 0.45:
            row = there.pop(random.randrange(len(there)))
            elements.append(Element(row, tick, -1))
            continue
        start = random.randrange(-6, 24)
        length = random.choice([1, 1, 2, 3, 12]) if random.random() < 0.9 else 40
        row = (random.choice([1, None]), start, start + length)
        there.append(row)
        elements.append(Element(row, tick, 1))
    return elements


def twin(bag: Relation) -> Relation:
    """The coalesced tuples of a bag."""
    rows = enumerate(bag.elements())
    runs = coalesced(TemporalTuple(n, (value,), start, end) for n, (value, start, end) in rows)
    return Counter((*run.values, run.start, run.end) for run in runs)


@pytest.mark.parametrize("seed", range(40))
def test_runs_are_maximal_after_every_element(seed: int) -> None:
    elements = history(seed)
    beats = [(tick, n) for n, tick in enumerate(range(0, N, 7))]
    player = Player(CoalesceOp(), [FIELDS], FIELDS)
    told = relations(player.play([elements], [*beats, (N, 0)]), N)
    expected = [twin(bag) for bag in relations(elements, N)]
    assert told == expected
    assert player.made().n_tuples == len(relations(elements, N)[-1])
