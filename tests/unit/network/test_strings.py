"""Codes of strings: found again after an attach, and ranked as strings are ordered."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings

TEXTS = st.text(st.characters(max_codepoint=0x1F600), max_size=4)
#: Strings that come in a batch; whether ranks are asked for at its end.
BATCHES = st.lists(st.tuples(st.lists(TEXTS, max_size=30), st.booleans()), max_size=6)


@given(BATCHES, st.sampled_from(["", "one"]))
def test_ranks_are_the_order_of_all_strings_whenever_they_were_asked_for(
    batches: Any, name: str
) -> None:
    regions, seen = MemoryRegions(), dict[str, int]()
    for texts, is_ranked in batches:
        strings = Strings(regions, name)  # as at every attach
        for text in texts:
            assert strings.code(text) == seen.setdefault(text, len(seen))
        assert [strings.text(code) for code in seen.values()] == list(seen)
        if is_ranked:
            ordered = sorted(seen)
            assert strings.ranks().tolist() == [ordered.index(text) for text in seen]
        if name:
            strings.keep()
    assert len(Strings(regions)) == len(seen)


@given(st.lists(st.tuples(st.integers(0, 1), st.booleans(), st.lists(TEXTS)), max_size=8))
def test_what_stays_decoded_is_that_of_the_same_strings(batches: Any) -> None:
    """Two dictionaries of one name, as of a state that was lost and is rebuilt; a batch that fails
    keeps nothing."""
    held = [MemoryRegions(), MemoryRegions()]
    seen: list[dict[str, int]] = [{}, {}]
    for which, is_done, texts in batches:
        strings = Strings(held[which], "two")
        for text in texts:
            assert strings.code(text) == seen[which].setdefault(text, len(seen[which]))
        assert [strings.text(code) for code in range(len(strings))] == list(seen[which])
        ordered = sorted(seen[which])
        assert strings.ranks().tolist() == [ordered.index(text) for text in seen[which]]
        if is_done:
            strings.keep()


def test_many_strings_outgrow_their_regions() -> None:
    regions = MemoryRegions()
    texts = [f"{(k * 7919) % 10_007}-{'x' * (k % 40)}" for k in range(5_000)]
    for begin in range(0, len(texts), 500):
        strings = Strings(regions)
        for text in texts[begin : begin + 500]:
            strings.code(text)
        ranks = strings.ranks()
        assert [strings.text(int(code)) for code in np.argsort(ranks)] == sorted(
            texts[: begin + 500]
        )
