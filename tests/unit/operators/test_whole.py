"""Bitmaps of every number of words up to 20: blocks of 8, 4, 2 and 1, and no room to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.operators.selection import matcher
from backend.operators.selection.layout import ConstructRows, Layout, TileRows, Words, make_layout
from backend.operators.selection.matcher import Matcher

N_REGIONS, N_TUPLES = 3, 50
Bits = NDArray[np.bool_]


class Plan(NamedTuple):
    """bool[slots], and per construct bool[slots] and bool[regions, slots]."""

    initial: Bits
    used: Sequence[Bits]
    rows: Sequence[Bits]

    def layout(self) -> Layout:
        constructs = [
            ConstructRows(
                N_REGIONS,
                words_of(used),
                [TileRows(np.arange(N_REGIONS, dtype=np.int32), words_of(rows))]
                if used.any()
                else [None],
            )
            for used, rows in zip(self.used, self.rows, strict=True)
        ]
        return make_layout(words_of(self.initial), len(self.initial) // 64, constructs, [])

    def walk(self, regions: NDArray[np.int32], kind: str, resolved: bool) -> Walked:
        """Slot by slot, as the stop rules are defined."""
        pairs = []
        reached, dropped = [0] * len(self.rows), [0] * len(self.rows)
        for t, hit in enumerate(regions.T):
            alive, last = self.initial.copy(), -1
            for place, region in enumerate(hit):
                if kind == "early drop" and not alive.any():
                    break
                if kind == "early drop" and resolved and not (alive & self.used[place]).any():
                    continue
                alive &= self.rows[place][region]
                reached[place] += 1
                last = place
            if alive.any():
                pairs += [(t, slot) for slot in np.flatnonzero(alive).tolist()]
            elif kind == "early drop" and last >= 0:
                dropped[last] += 1
        return Walked(pairs, reached, dropped)


class Walked(NamedTuple):
    """Pairs (tuple, slot), and the counts per construct."""

    pairs: list[tuple[int, int]]
    reached: list[int]
    dropped: list[int]


def words_of(bits: Bits) -> Words:
    """uint64[..., slots / 64]."""
    return np.packbits(bits, axis=-1, bitorder="little").view(np.uint64)


def random_plan(rng: np.random.Generator, n_words: int, n: int, share: float) -> Plan:
    """share: of the bits that are set. With more words than one, no query uses one construct."""
    used = [rng.random(64 * n_words) < 3 / n for _ in range(n)]
    used[n // 2] &= n_words == 1
    rows = [(rng.random((N_REGIONS, 64 * n_words)) < share) | ~one for one in used]
    return Plan(rng.random(64 * n_words) < 0.9, used, rows)


def assert_walks(plan: Plan, rng: np.random.Generator, kind: str, resolved: bool) -> None:
    regions = rng.integers(0, N_REGIONS, (len(plan.rows), N_TUPLES), dtype=np.int32)
    found = (ready := Matcher(plan.layout(), kind, resolved)).match(regions)
    expected = plan.walk(regions, kind, resolved)
    pairs = list(zip(found.tuples.tolist(), found.slots.tolist(), strict=True))
    assert pairs == expected.pairs
    assert ready.counts.reached.tolist() == expected.reached
    assert ready.counts.dropped.tolist() == expected.dropped


@pytest.mark.parametrize("share", [0.05, 0.8])
@pytest.mark.parametrize(
    ("kind", "resolved"), [("early drop", True), ("early drop", False), ("no early drop", True)]
)
def test_every_number_of_words(
    kind: str, resolved: bool, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matcher, "FIRST_ROOM", 1)
    rng = np.random.default_rng(3)
    for n_words in range(1, 21):
        assert_walks(random_plan(rng, n_words, 6, share), rng, kind, resolved)


@pytest.mark.parametrize("kind", ["early drop", "no early drop"])
def test_one_word_and_more_constructs_than_bits(kind: str) -> None:
    rng = np.random.default_rng(4)
    assert_walks(random_plan(rng, 1, 70, 0.5), rng, kind, True)
