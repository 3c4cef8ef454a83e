"""Shedding drop by drop against its slow twin, and what each algorithm does."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import cast

import pytest
from hypothesis import given

from backend.operators.network.shedding.accuracy import AccuracyMetric
from backend.operators.network.shedding.candidates import drop_rank
from backend.operators.network.shedding.options import (
    RhoBasis,
    ShedAlgorithm,
    ShedOptionRefused,
    ShedOptions,
)
from backend.operators.network.shedding.scored import ScoredCandidates
from backend.operators.network.shedding.shedding import ArrivalRefused, SheddingWindow
from backend.operators.network.shedding.slides import WindowExtent
from backend.operators.network.shedding.temporal import AnswerShape, TemporalTuple, ValidCondition
from tests.oracles import cals_shedding as slow
from tests.unit.cals.cases import ALGORITHMS, ALL, B4, ShedCase, play, shed_cases, streams


def in_order(case: ShedCase, stream: list[TemporalTuple]) -> list[TemporalTuple]:
    """Windows by start take what comes in order of it: what is late is another test."""
    if case.extent.kind == "rows":
        return stream
    starts = sorted(stream, key=lambda one: one.start)
    return [one._replace(number=k) for k, one in enumerate(starts, 1)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_drops_are_those_of_the_twin_one_by_one(algorithm: ShedAlgorithm) -> None:
    @given(shed_cases([algorithm]), streams())
    def check(case: ShedCase, stream: list[TemporalTuple]) -> None:
        for step in play(case, in_order(case, stream)):
            assert step.dropped == step.wanted
            kept = {one.number for one in step.fast.memory}
            assert kept == {one[0] for one in step.slow.memory}
            runs = {tuple(run.span) for run in step.fast.memory.runs()}
            assert runs == set(slow.runs(step.slow.memory))
            if step.fast.exact is not None:
                exact = {tuple(run.span) for run in step.fast.exact.runs()}
                assert exact == set(slow.runs(step.slow.window))

    check()


def shed(case: ShedCase, stream: list[TemporalTuple]) -> tuple[SheddingWindow, list[int]]:
    """After a stream, and what was dropped."""
    window = SheddingWindow(case.options, case.extent, case.answer)
    receipts = [receipt for new in stream for receipt in window.arrive(new)]
    return window, [receipt.dropped.number for receipt in receipts]


def test_the_worked_example_drops_what_the_card_says() -> None:
    """Card B4: s3 under CALS and CALS-I, which is the optimum; s1 under CALS-V."""
    wanted = {"cals": 3, "cals-i": 3, "cals-m": 3, "cals-v": 1, "oldest": 1, "reach": 3}
    for algorithm, number in wanted.items():
        case = ShedCase(cast(ShedAlgorithm, algorithm), ALL, 4)
        assert shed(case, list(B4))[1] == [number]


def test_ties_go_to_the_oldest() -> None:
    stream = [TemporalTuple(k, (k,), 2 * k, 2 * k + 2) for k in range(1, 6)]
    for algorithm in ("cals", "cals-v", "cals-i", "cals-m", "reach"):
        case = ShedCase(algorithm, ALL, 3)
        assert shed(case, stream)[1] == [1, 2]


def test_the_newest_is_no_candidate_unless_that_is_allowed() -> None:
    stream = [TemporalTuple(1, (1,), 0, 9), TemporalTuple(2, (1,), 9, 10)]
    assert shed(ShedCase("cals", ALL, 1), stream)[1] == [1]
    assert shed(ShedCase("cals", ALL, 1, protects=False), stream)[1] == [2]


def test_open_tuples_are_no_candidates_and_grow() -> None:
    window = SheddingWindow(ShedOptions("oldest", 2), ALL)
    assert window.arrive(TemporalTuple(1, (1,), 0, 1), is_open=True) == []
    window.arrive(TemporalTuple(2, (2,), 1, 2))
    (receipt,) = window.arrive(TemporalTuple(3, (2,), 2, 3))
    assert receipt.dropped.number == 2
    window.extend(1, 5, is_open=True)
    assert window.memory.tuple_of(1).end == 5
    window.extend(1, 8)
    (receipt,) = window.arrive(TemporalTuple(4, (2,), 8, 9))
    assert receipt.dropped == TemporalTuple(1, (1,), 0, 8)
    window.extend(1, 20)
    assert 1 not in window.memory


def test_where_all_are_open_nothing_can_go() -> None:
    window = SheddingWindow(ShedOptions("cals", 1), ALL)
    for k in range(1, 4):
        assert window.arrive(TemporalTuple(k, (k,), k, k + 1), is_open=True) == []
    assert len(window.memory) == 3


def test_rand_keeps_the_lowest_hashes() -> None:
    stream = [TemporalTuple(k, (k,), k, k + 1) for k in range(1, 41)]
    window, _ = shed(ShedCase("rand", ALL, 12), stream)
    lowest = sorted(range(1, 41), key=lambda number: -drop_rank(number, 0))[:12]
    assert {one.number for one in window.memory} == set(lowest)


def test_at_the_high_mark_tuples_go_down_to_the_low_one() -> None:
    stream = [TemporalTuple(k, (k,), k, k + 1) for k in range(1, 12)]
    window, dropped = shed(ShedCase("oldest", ALL, 10, low_water=0.7), stream)
    assert dropped == [1, 2, 3, 4]
    assert len(window.memory) == 7


def test_a_lower_limit_is_obeyed_in_one_pass_and_a_higher_one_brings_nothing_back() -> None:
    window, _ = shed(ShedCase("cals", WindowExtent("rows", 20), 0), list(B4))
    receipts = window.turn(window.options._replace(memory_tuples=2))
    assert [receipt.reason for receipt in receipts] == ["turned"] * 3
    assert window.turn(window.options._replace(memory_tuples=50)) == []
    assert len(window.memory) == 2
    assert not window.is_whole
    last = max(receipt.dropped.number for receipt in receipts)
    window.advance(last + 19)
    assert not window.is_whole
    window.advance(last + 20)
    assert window.is_whole


def test_a_tuple_leaves_whole_by_its_start() -> None:
    window = SheddingWindow(ShedOptions("cals", 9), WindowExtent("range", 10))
    window.advance(10)
    assert window.arrive(TemporalTuple(0, (1,), -1, 4)) == []
    assert 0 not in window.memory, "it begins before the window"
    window.arrive(TemporalTuple(1, (1,), 0, 30))
    window.arrive(TemporalTuple(2, (1,), 5, 6))
    assert [run.span for run in window.memory.runs()] == [((1,), 0, 30)]
    window.advance(11)
    assert [run.span for run in window.memory.runs()] == [((1,), 5, 6)]
    assert window.arrive(TemporalTuple(3, (1,), 0, 4)) == []
    assert 3 not in window.memory, "it begins before the window"


def test_exact_lengths_are_those_of_the_window_and_not_of_history() -> None:
    """The run has lost its beginning: ρ⁻ of what is left is a share of the shorter one."""
    window = SheddingWindow(ShedOptions("cals", 2), WindowExtent("rows", 3))
    stream = [TemporalTuple(k, (1,), 2 * k, 2 * k + 2) for k in range(1, 6)]
    receipts = [receipt for new in stream for receipt in window.arrive(new)]
    assert [receipt.dropped.number for receipt in receipts] == [1, 2, 3]
    assert [receipt.rho for receipt in receipts] == [2 / 6, 2 / 6, 2 / 6]


def test_the_algorithm_can_be_turned() -> None:
    window, _ = shed(ShedCase("oldest", ALL, 5), list(B4))
    window.turn(ShedOptions("cals-i", 4))
    assert {one.number for one in window.memory} == {1, 2, 4, 5}
    assert window.is_measurable
    window.turn(ShedOptions("rand", 4, audit="off"))
    window.turn(ShedOptions("rand", 4, audit="exact"))
    assert not window.is_measurable


def test_reach_stores_nothing_that_the_condition_on_values_refuses() -> None:
    answer = AnswerShape(lambda values: values != (80,))
    for algorithm, n in (("reach", 2), ("cals", 5)):
        options = ShedOptions(cast(ShedAlgorithm, algorithm), 9)
        window = SheddingWindow(options, ALL, answer)
        for new in B4:
            window.arrive(new)
        assert len(window.memory) == n


def test_reach_drops_what_is_hopeless_then_what_loses_least_for_each_tuple() -> None:
    """Lengths of at least 4: a run of 2 that is over goes first; then the end of a run of 6 that is
    long enough without it; a run of just 4 in two tuples is kept whole, then goes whole."""
    stream = [
        TemporalTuple(1, (1,), 0, 2),
        TemporalTuple(2, (2,), 2, 4),
        TemporalTuple(3, (2,), 4, 6),
        TemporalTuple(4, (3,), 6, 10),
        TemporalTuple(5, (3,), 10, 12),
        TemporalTuple(6, (4,), 12, 16),
        TemporalTuple(7, (5,), 16, 20),
        TemporalTuple(8, (6,), 20, 24),
    ]
    assert shed(ShedCase("reach", ALL, 4, least=4), stream)[1] == [1, 5, 2, 3]
    assert shed(ShedCase("cals", ALL, 4, least=4), stream)[1] != [1, 5, 2, 3]


def test_reach_keeps_a_short_run_that_may_still_grow() -> None:
    """Both runs are too short; only one of them is over. CALS drops the shorter share."""
    stream = [
        TemporalTuple(1, (1,), 0, 1),
        TemporalTuple(2, (2,), 1, 2),
        TemporalTuple(3, (2,), 2, 3),
    ]
    assert shed(ShedCase("reach", ALL, 2, least=4), stream)[1] == [1]
    assert shed(ShedCase("cals", ALL, 2, least=4), stream)[1] == [2]


def test_too_long_runs_are_hopeless_where_lengths_have_an_upper_bound() -> None:
    answer = AnswerShape(lengths=ValidCondition(0, 3))
    window = SheddingWindow(ShedOptions("reach", 3), ALL, answer)
    stream = [
        TemporalTuple(1, (1,), 0, 1),
        TemporalTuple(2, (2,), 1, 4),
        TemporalTuple(3, (2,), 4, 6),
        TemporalTuple(4, (3,), 6, 7),
        TemporalTuple(5, (4,), 7, 8),
    ]
    receipts = [receipt for new in stream for receipt in window.arrive(new)]
    assert [receipt.dropped.number for receipt in receipts] == [3, 2]


def test_arrivals_are_numbered_upwards() -> None:
    window = SheddingWindow(ShedOptions(), ALL)
    window.arrive(B4[1])
    with pytest.raises(ArrivalRefused, match="arrival 1 came after 2"):
        window.arrive(B4[0])


def test_options_outside_their_ranges_are_refused() -> None:
    for options, words in [
        (ShedOptions(cast(ShedAlgorithm, "best")), "shed_algorithm = 'best' refused; .* reach"),
        (ShedOptions(memory_tuples=-1), "memory_tuples = -1 refused; allowed: 0 or more"),
        (ShedOptions(low_water=0.05), "low_water = 0.05 refused; allowed: 0.1 to 1"),
        (ShedOptions(delta_weight=101), "delta_weight = 101 .* 0 to 100"),
        (ShedOptions(audit_groups=1), "audit_groups = 1 refused; allowed: 2 to 1e"),
    ]:
        with pytest.raises(ShedOptionRefused, match=words):
            SheddingWindow(options, ALL)


def test_candidates_follow_their_tuples_into_a_run_that_joins_theirs() -> None:
    """The shortest end of the joined run lies in the part that came into the other."""
    spans = [(0, 2), (2, 4), (4, 6), (10, 13), (13, 14), (6, 10)]
    stream = [TemporalTuple(k, (1,), start, end) for k, (start, end) in enumerate(spans, 1)]
    for basis in ("exact", "memory"):
        assert shed(ShedCase("cals", ALL, 5, basis=basis), stream)[1] == [5]


@pytest.mark.parametrize("n_values", [1, 3, 3000])
@pytest.mark.parametrize("basis", ["exact", "memory"])
def test_space_stays_linear_and_work_for_an_arrival_is_small(
    basis: RhoBasis, n_values: int
) -> None:
    """Entries of heaps, not time. Tuples get shorter, so that void entries stay below."""
    options = ShedOptions("cals", 100, basis, audit="off")
    window = SheddingWindow(options, WindowExtent("rows", 200))
    now = 0
    for k in range(1, 3001):
        window.arrive(TemporalTuple(k, (k // 4 % n_values,), now, now + 4000 - k))
        now += 4000 - k
    candidates = window.candidates
    assert isinstance(candidates, ScoredCandidates)
    assert candidates.n_entries < 6 * 200
    assert candidates.n_looked < 12 * 3000


def test_cals_m_weighs_what_is_lost_whole_as_its_metric_does() -> None:
    """A fifth of a run is all that is left of it; a quarter of another one could go instead."""
    spans = [((1,), 0, 8), ((1,), 8, 10), ((2,), 10, 13), ((2,), 13, 22), ((3,), 22, 23)]
    stream = [TemporalTuple(k, *span) for k, span in enumerate(spans, 1)]
    for metric, number in (("R1", 2), ("R2", 3), ("R3", 2)):
        window = SheddingWindow(ShedOptions("oldest", 4, audit="exact"), ALL)
        receipts = [receipt for new in stream for receipt in window.arrive(new)]
        assert [receipt.dropped.number for receipt in receipts] == [1]
        options = ShedOptions("cals-m", 3, accuracy_metric=cast(AccuracyMetric, metric))
        assert [receipt.dropped.number for receipt in window.turn(options)] == [number]


def test_reach_sees_exact_runs_shrink_when_what_was_dropped_leaves() -> None:
    """What is left of the first run is half of it then, not a seventh."""
    first = [((1,), 0, 10), ((1,), 10, 12), ((1,), 12, 14), ((4,), 14, 15)]
    spans = [*first, *(((2,), 15 + k, 16 + k) for k in range(4)), ((3,), 19, 20)]
    stream = [TemporalTuple(k, *span) for k, span in enumerate(spans, 1)]
    extent, answer = WindowExtent("rows", 8), AnswerShape(lengths=ValidCondition(2))
    window = SheddingWindow(ShedOptions("oldest", 6, audit="exact"), extent, answer)
    receipts = [receipt for new in stream[:-1] for receipt in window.arrive(new)]
    receipts += window.turn(ShedOptions("reach", 5))
    receipts += window.arrive(stream[-1])
    assert [receipt.dropped.number for receipt in receipts] == [1, 2, 4, 5]


def test_reach_lets_a_run_go_whose_tuples_bring_least_on_average() -> None:
    """Three tuples of 4, 1 and 4 are a third of it each; ends of the other run are more."""
    spans = [
        ((1,), 0, 4),
        ((1,), 4, 5),
        ((1,), 5, 9),
        ((2,), 9, 11),
        ((2,), 11, 14),
        ((3,), 14, 15),
    ]
    stream = [TemporalTuple(k, *span) for k, span in enumerate(spans, 1)]
    assert shed(ShedCase("reach", ALL, 5), stream)[1] == [1]
    assert shed(ShedCase("cals", ALL, 5), stream)[1] == [4]


def test_reach_does_not_give_up_a_short_run_with_an_open_tuple() -> None:
    window = SheddingWindow(ShedOptions("reach", 3), ALL, AnswerShape(lengths=ValidCondition(4)))
    window.arrive(TemporalTuple(1, (1,), 0, 1), is_open=True)
    window.arrive(TemporalTuple(2, (1,), 1, 2))
    window.arrive(TemporalTuple(3, (2,), 5, 6))
    (receipt,) = window.arrive(TemporalTuple(4, (3,), 9, 10))
    assert receipt.dropped.number == 3


def test_reach_prices_the_inside_of_a_run_as_all_of_it() -> None:
    """Its ends are open; the other run has five tuples of a fifth each."""
    window = SheddingWindow(ShedOptions("reach", 8), ALL)
    spans = [((1,), 0, 4), ((1,), 4, 5), ((1,), 5, 9), *(((2,), 9 + k, 10 + k) for k in range(5))]
    for k, span in enumerate(spans, 1):
        window.arrive(TemporalTuple(k, *span), is_open=k in (1, 3))
    (receipt,) = window.arrive(TemporalTuple(9, (3,), 14, 15))
    assert receipt.dropped.number == 4


def test_reach_does_not_take_a_late_start_for_the_time() -> None:
    spans = [((1,), 0, 3), ((2,), 5, 7), ((2,), 7, 9), ((3,), 1, 5)]
    stream = [TemporalTuple(k, *span) for k, span in enumerate(spans, 1)]
    assert shed(ShedCase("reach", ALL, 3, least=4), stream)[1] == [1]


def test_an_open_tuple_that_has_left_is_left_alone() -> None:
    window = SheddingWindow(ShedOptions("cals", 5), WindowExtent("rows", 2))
    window.arrive(TemporalTuple(1, (1,), 0, 1), is_open=True)
    window.advance(3)
    window.extend(1, 9)
    assert len(window.memory) == len(window.beside) == 0


def test_what_a_run_has_lost_is_forgotten_when_its_beginning_leaves() -> None:
    """Base memory, nothing kept beside: the loss of what is left is whole."""
    options = ShedOptions("cals", 3, "memory", audit="off")
    window = SheddingWindow(options, WindowExtent("rows", 4))
    spans = [((1,), 0, 4), ((1,), 4, 8), ((1,), 8, 9), ((2,), 9, 13), ((3,), 13, 17)]
    stream = [TemporalTuple(k, *span) for k, span in enumerate(spans, 1)]
    receipts = [receipt for new in stream for receipt in window.arrive(new)]
    receipts += window.turn(options._replace(memory_tuples=2))
    assert [(receipt.dropped.number, receipt.charge.rho) for receipt in receipts] == [
        (3, 1 / 9),
        (2, 1.0),
    ]


def test_rand_on_a_sliding_window_is_even_but_for_the_newest() -> None:
    """[Rows 40] and M = 10: a tuple that comes where one has left has its place, whatever its hash;
    what went before does not come back."""
    window, n_looks = SheddingWindow(ShedOptions("rand", 10), WindowExtent("rows", 40)), 0
    kept: Counter[int] = Counter()
    for number in range(1, 3041):
        window.arrive(TemporalTuple(number, (number,), number, number + 1))
        if number > 1040:
            n_looks += 1
            ages = [number - one.number for one in window.memory]
            assert len(ages) <= 10
            kept.update(ages)
    shares = [kept[age] / n_looks for age in range(40)]
    assert shares == sorted(shares, reverse=True), "what has gone stays away"
    assert shares[0] == pytest.approx(0.51, abs=0.03)
    assert shares[6:] == pytest.approx([0.25] * 34, abs=0.06)
    assert sum(shares) == pytest.approx(10, abs=0.2)


def test_cals_m_and_cals_do_not_look_at_the_condition_on_valid_time() -> None:
    """Without the run that is too short all of the answer would be left: reach drops from it."""
    spans = [(2, 0, 1), (1, 1, 4), (2, 4, 6), (2, 6, 8), (1, 8, 11), (1, 11, 14)]
    stream = [TemporalTuple(k, (v,), start, end) for k, (v, start, end) in enumerate(spans, 1)]
    for algorithm in ("cals", "cals-m"):
        numbers = shed(ShedCase(algorithm, ALL, 5), stream)[1]
        assert shed(ShedCase(algorithm, ALL, 5, least=4), stream)[1] == numbers
    window, numbers = shed(ShedCase("cals-m", ALL, 5, least=4), stream)
    kept = list(window.memory)

    def accuracies(least: int) -> list[Fraction]:
        """Of each drop there may be."""
        memories = [[one for one in stream[:6] if one.number != k] for k in range(1, 6)]
        return [
            slow.accuracy(stream, memory, "R1", lambda length: length >= least)
            for memory in memories
        ]

    assert slow.accuracy(stream, kept) == max(accuracies(0))
    assert slow.accuracy(stream, kept, "R1", lambda length: length >= 4) < max(accuracies(4)) == 1
    reached, _ = shed(ShedCase("reach", ALL, 5, least=4), stream)
    assert slow.accuracy(stream, list(reached.memory), "R1", lambda length: length >= 4) == 1
