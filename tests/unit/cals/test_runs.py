"""Runs while tuples come and go, and what the loss of each tuple does, against the twin."""

from __future__ import annotations

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.shedding.losses import TupleLoss, losses_of
from backend.operators.network.shedding.runs import RunIndex
from backend.operators.network.shedding.temporal import AnswerShape, TemporalTuple, ValidCondition
from tests.oracles import cals_shedding as slow
from tests.unit.cals.cases import contiguous, streams

ANSWER: Final = AnswerShape(lengths=ValidCondition(4))


@given(streams(), st.data())
def test_runs_and_losses_are_those_of_the_tuples_there_are(
    stream: list[TemporalTuple], data: st.DataObject
) -> None:
    index, there = RunIndex(ANSWER), []
    losses: dict[int, TupleLoss] = {}
    for new in stream:
        there.append(new)
        changes = [index.add(new)]
        if data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(there))
            there.remove(gone)
            losses.pop(gone.number, None)
            changes.append(index.remove(gone.number))
        for change in changes:
            now = [one for one in change.touched if one.number in index]
            losses |= {one.number: loss for one, loss in losses_of(index, now)}
        check_runs(index, there)
        check_losses(losses, there)


def check_runs(index: RunIndex, there: list[TemporalTuple]) -> None:
    wanted = slow.runs(there)
    assert {tuple(run.span) for run in index.runs()} == set(wanted)
    assert index.n_runs == len(wanted)
    assert index.n_answered == sum(end - start >= 4 for _, start, end in wanted)
    for run in index.runs():
        own = sorted(slow.members(run.span, there), key=lambda one: (one[2], one[0]))
        assert list(run.members) == own
        assert all(index.run_of(one.number) is run for one in run.members)


def check_losses(losses: dict[int, TupleLoss], there: list[TemporalTuple]) -> None:
    """Those not looked at again since the last change, too."""
    assert losses.keys() == {one.number for one in there}
    for one in there:
        values, start, end = slow.run_with(one, there)
        delta, rho = slow.objectives(one, there, there, "memory")
        assert losses[one.number].delta == delta
        assert losses[one.number].length == rho * (end - start)
        is_alone = len(slow.members((values, start, end), there)) == 1
        assert (losses[one.number].pieces == 0) is is_alone


@given(contiguous(), st.data())
def test_a_chain_stays_one_when_it_is_cut_and_joined(
    stream: list[TemporalTuple], data: st.DataObject
) -> None:
    index = RunIndex(ANSWER)
    for new in stream:
        index.add(new)
    gone = data.draw(st.lists(st.sampled_from(stream), unique=True))
    for one in gone:
        index.remove(one.number)
    for one in gone:
        index.add(one)
    assert all(run.is_chain for run in index.runs())
    check_runs(index, stream)


def test_what_touches_an_interval_is_found_by_its_values() -> None:
    index = RunIndex()
    for k, (value, start, end) in enumerate([(1, 0, 2), (1, 4, 6), (1, 8, 9), (2, 3, 4)]):
        index.add(TemporalTuple(k, (value,), start, end))
    assert [run.start for run in index.within((1,), 2, 4)] == [0, 4]
    assert [run.start for run in index.within((1,), 3, 8)] == [4, 8]
    assert list(index.within((3,), 0, 9)) == []
    assert len(index) == 4


def test_what_runs_have_lost_stays_with_them_when_they_are_joined() -> None:
    index = RunIndex()
    for number, start, lost in ((1, 0, 3), (2, 5, 4)):
        (run,) = index.add(TemporalTuple(number, (1,), start, start + 2)).runs
        run.lost = lost
    run, gone = index.add(TemporalTuple(3, (1,), 2, 5)).runs
    assert (run.span, run.lost, len(run.members)) == (((1,), 0, 7), 7, 3)
    assert index.run_of(1) is index.run_of(2) is run is not gone
