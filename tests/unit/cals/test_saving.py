"""A window under a limit that was saved and restored goes on as if it had not been."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.shedding.options import Audit
from backend.operators.network.shedding.receipts import ShedReceipt
from backend.operators.network.shedding.saving import ShedStateRefused, packed, unpacked
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.temporal import TemporalTuple
from tests.unit.cals.cases import ALL, B4, ShedCase, shed_cases, streams


def through_text(window: SheddingWindow, case: ShedCase) -> SheddingWindow:
    """As a process finds it that goes on."""
    state = unpacked(packed(window.state()))
    return SheddingWindow.restored(state, case.extent, case.answer)


def played(
    case: ShedCase, stream: list[TemporalTuple], audit: Audit, saved: frozenset[int]
) -> list[tuple[list[ShedReceipt], float, bool, bool, int]]:
    """What is told after each arrival. saved: before which the window is saved and restored."""
    options = case.options._replace(audit=audit, audit_groups=2)
    window = SheddingWindow(options, case.extent, case.answer)
    told, turns = [], dict(case.turns)
    for new in stream:
        if new.number in saved:
            window = through_text(window, case)
        receipts: list[ShedReceipt] = []
        if new.number in turns:
            receipts += window.turn(window.options._replace(memory_tuples=turns[new.number]))
        if new.number - 2 in case.opens and new.number - 2 in window.memory:
            window.extend(new.number - 2, window.memory.tuple_of(new.number - 2).end)
        receipts += window.arrive(new, new.number in case.opens)
        marks = window.is_measurable, window.is_whole, window.n_exact
        told.append((receipts, window.expected_accuracy, *marks))
    return told


@given(
    shed_cases(),
    streams(),
    st.sampled_from(["exact", "sampled", "off"]),
    st.frozensets(st.integers(1, 30), max_size=6),
)
def test_receipts_are_those_of_a_window_that_was_left_alone(
    case: ShedCase, stream: list[TemporalTuple], audit: Audit, saved: frozenset[int]
) -> None:
    assert played(case, stream, audit, saved) == played(case, stream, audit, frozenset())


def test_a_damaged_state_is_refused_in_a_sentence() -> None:
    window = SheddingWindow(ShedCase("cals", ALL, 3).options, ALL)
    for new in B4:
        window.arrive(new)
    text = packed(window.state())
    assert unpacked(text) == window.state()
    for damaged, sentence in [
        (text.replace('"version":1', '"version":7'), "it is of version 7; 1 is read"),
        (text[:-9], "it is damaged: "),
        (text.replace('"marks"', '"others"'), "it is damaged: 'marks'"),
        (text.replace('"low_water":1.0', '"low_water":0.0'), "low_water = 0 refused; allowed"),
    ]:
        with pytest.raises(ShedStateRefused) as refusal:
            unpacked(damaged)
        assert sentence in str(refusal.value)
