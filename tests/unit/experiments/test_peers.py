"""The predicate indexes of the bench find exactly the satisfied predicates."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.peers_build import PEERS, Predicate

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ANY = st.lists(
    st.tuples(st.sampled_from(sorted(COMPARE)), st.integers(0, 90)),
    min_size=1,
    max_size=150,
    unique=True,
)
EQUALITIES = st.lists(st.tuples(st.just("="), st.integers(0, 90)), min_size=1, unique=True)


def satisfied(predicates: list[Predicate], value: int) -> list[int]:
    return [j for j, (op, c) in enumerate(predicates) if COMPARE[op](value, c)]


@pytest.mark.parametrize("name", PEERS)
@settings(deadline=None, max_examples=30)
@given(st.one_of(ANY, EQUALITIES), st.lists(st.integers(-2, 93), min_size=1, max_size=20))
def test_an_index_finds_the_satisfied_predicates(
    name: str, predicates: list[Predicate], values: list[int]
) -> None:
    out = np.zeros((len(values), -(-len(predicates) // 64)), dtype=np.uint64)
    PEERS[name](predicates)(np.array(values), out)
    bits = np.unpackbits(out.view(np.uint8), axis=1, bitorder="little")[:, : len(predicates)]
    for row, value in zip(bits, values, strict=True):
        assert np.flatnonzero(row).tolist() == satisfied(predicates, value)
