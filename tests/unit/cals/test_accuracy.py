"""R1, R2 and R3 against their definitions, in fractions; what holds of all of them. Card B2"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.shedding.accuracy import (
    AccuracyMetric,
    AccuracyParts,
    NotBounded,
    accuracy_parts,
    overlap,
)
from backend.operators.network.shedding.temporal import (
    RunSpan,
    TemporalTuple,
    ValidCondition,
    coalesced,
)
from tests.oracles import cals_shedding as slow
from tests.unit.cals.cases import B4, streams

METRICS: Final = get_args(AccuracyMetric)


@st.composite
def kept_parts(draw: st.DrawFn) -> tuple[list[TemporalTuple], list[TemporalTuple]]:
    """A window, and some of it."""
    window = draw(streams())
    which = draw(st.lists(st.booleans(), min_size=len(window), max_size=len(window)))
    return window, [one for one, is_kept in zip(window, which, strict=True) if is_kept]


@given(kept_parts(), st.integers(0, 8), st.one_of(st.none(), st.integers(0, 8)))
def test_accuracy_is_that_of_the_definition(
    kept: tuple[list[TemporalTuple], list[TemporalTuple]], least: int, most: int | None
) -> None:
    window, memory = kept
    condition = ValidCondition(least, most)
    parts = accuracy_parts(coalesced(window), coalesced(memory), condition)
    for metric in METRICS:
        wanted = slow.accuracy(window, memory, metric, condition.holds)
        assert parts.accuracy(metric) == pytest.approx(float(wanted), abs=1e-12)
        assert 0 <= parts.accuracy(metric) <= 1
    assert parts.exact == parts.unchanged + parts.shortened + parts.split + parts.lost


@given(kept_parts())
def test_accuracy_is_1_where_nothing_visible_was_lost_and_only_there(
    kept: tuple[list[TemporalTuple], list[TemporalTuple]],
) -> None:
    window, memory = kept
    parts = accuracy_parts(coalesced(window), coalesced(memory))
    is_same = set(coalesced(window)) == set(coalesced(memory))
    for metric in METRICS:
        assert (parts.accuracy(metric) == 1) is is_same


def test_the_worked_example_digit_for_digit() -> None:
    """Card B4: which tuple is dropped, value similarity, R1."""
    for gone, similarity, wanted in [
        (3, 1, Fraction(17, 18)),
        (1, 1, Fraction(8, 9)),
        (2, Fraction(3, 4), Fraction(5, 8)),
        (4, Fraction(2, 3), Fraction(2, 3)),
    ]:
        left = [one for one in B4 if one.number != gone]
        parts = accuracy_parts(coalesced(B4), coalesced(left))
        assert parts.value_similarity == pytest.approx(float(similarity))
        assert parts.accuracy() == pytest.approx(float(wanted))
        assert slow.accuracy(B4, left) == wanted


def test_parts_of_a_run_that_is_split_beside_one_that_is_lost() -> None:
    exact = [RunSpan((1,), 0, 10), RunSpan((2,), 0, 4), RunSpan((3,), 0, 2), RunSpan((4,), 0, 2)]
    kept = [RunSpan((1,), 0, 3), RunSpan((1,), 5, 9), RunSpan((2,), 1, 4), RunSpan((4,), 0, 2)]
    parts = accuracy_parts(exact, kept)
    assert parts == AccuracyParts(4, 3, 5, 0, 0.7 + 0.75 + 1, 0.35 + 0.75 + 1, 1, 1, 1, 1, 1)
    assert parts.interval_similarity == pytest.approx(2.45 / 4)
    assert parts.accuracy("R1") == pytest.approx(2.45 / 5)
    assert parts.accuracy("R2") == pytest.approx(3 / 5 * 2.45 / 4)
    assert parts.accuracy("R3") == pytest.approx(2.1 / 4)


def test_pieces_that_are_in_the_answer_by_being_pieces_are_stray() -> None:
    exact = [RunSpan((1,), 0, 10), RunSpan((2,), 0, 2)]
    kept = [RunSpan((1,), 0, 2), RunSpan((1,), 8, 10), RunSpan((2,), 0, 2)]
    parts = accuracy_parts(exact, kept, ValidCondition(0, 2))
    assert (parts.exact, parts.stray, parts.unchanged) == (1, 2, 1)
    assert parts.accuracy("R1") == pytest.approx(1 / 3)
    assert parts.value_similarity == pytest.approx(1 / 3)


def test_empty_answers() -> None:
    assert accuracy_parts([], []).accuracy() == 1
    some = [RunSpan((1,), 0, 4)]
    assert accuracy_parts(some, []).accuracy() == 0
    only_stray = accuracy_parts(some, [RunSpan((1,), 0, 1)], ValidCondition(0, 1))
    assert [only_stray.accuracy(metric) for metric in METRICS] == [0, 0, 0]


def test_answers_that_were_invented_are_found() -> None:
    some = [RunSpan((1,), 2, 4)]
    for kept in (RunSpan((1,), 2, 5), RunSpan((1,), 1, 3), RunSpan((2,), 2, 4)):
        with pytest.raises(NotBounded):
            accuracy_parts(some, [kept])


def test_overlap_is_the_share_of_the_first_interval() -> None:
    assert overlap((0, 4), (1, 9)) == 0.75
    assert overlap((0, 4), (4, 9)) == overlap((5, 6), (0, 2)) == 0
    assert overlap((2, 3), (0, 9)) == 1
