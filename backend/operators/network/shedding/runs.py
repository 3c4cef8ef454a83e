"""Tuples of a window as runs, kept while they come and go. Card B3, B6

A chain is a run in which each tuple begins where the one before ends: its two ends, and which tuple
splits it, are known at once, and a change costs as much as the smaller of the parts it joins or
cuts. Where tuples overlap, which of them is an end is not a matter of place: such a run is looked
through when it changes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from backend.operators.network.shedding.temporal import (
    WHOLE_ANSWER,
    AnswerShape,
    RunSpan,
    TemporalTuple,
    Values,
)

_START: Final = attrgetter("start")
_END: Final = attrgetter("end")
#: Tuples of a run by start, those of one start by arrival.
_ORDER: Final = attrgetter("start", "number")


class ShedRun:
    """A run: its tuples by start, then arrival. Changed by its RunIndex only.

    lost: length that went from it by shedding, as far as that is known without the exact run.
    """

    __slots__ = ("end", "is_chain", "lost", "members", "start", "values")

    def __init__(self, first: TemporalTuple) -> None:
        self.values, self.start, self.end = first.values, first.start, first.end
        self.members = deque([first])
        self.is_chain = True
        self.lost = 0

    @property
    def length(self) -> int:
        """Nothing of it is uncovered."""
        return self.end - self.start

    @property
    def span(self) -> RunSpan:
        """As a coalesced tuple."""
        return RunSpan(self.values, self.start, self.end)


class RunChange(NamedTuple):
    """What an arrival or a departure did. touched: tuples whose loss may do something else now;
    moved: tuples that are in another run object now; runs: which changed, those that are gone
    among them."""

    touched: list[TemporalTuple]
    moved: list[TemporalTuple]
    runs: list[ShedRun]


class RunIndex:
    """The runs of some tuples. answer: which coalesced tuples are in a query's answer; n_answered:
    how many are."""

    def __init__(self, answer: AnswerShape = WHOLE_ANSWER) -> None:
        self._answer = answer
        self.n_answered = 0
        self._groups: dict[Values, list[ShedRun]] = {}
        self._run_of: dict[int, ShedRun] = {}
        self._tuples: dict[int, TemporalTuple] = {}
        self.n_runs = 0

    def __len__(self) -> int:
        """Tuples."""
        return len(self._tuples)

    def __contains__(self, number: object) -> bool:
        return number in self._tuples

    def __iter__(self) -> Iterator[TemporalTuple]:
        return iter(self._tuples.values())

    def tuple_of(self, number: int) -> TemporalTuple:
        """Raises KeyError: there is no such tuple."""
        return self._tuples[number]

    def run_of(self, number: int) -> ShedRun | None:
        """The run a tuple is in, if there is such a tuple."""
        return self._run_of.get(number)

    def runs(self) -> Iterator[ShedRun]:
        """All."""
        for group in self._groups.values():
            yield from group

    def of(self, values: Values) -> Sequence[ShedRun]:
        """Runs of these values, by start."""
        return self._groups.get(values, ())

    def within(self, values: Values, start: int, end: int) -> Iterator[ShedRun]:
        """Runs of these values that lie in or touch [start, end], by start."""
        group = self._groups.get(values, [])
        for place in range(*_touching(group, start, end)):
            yield group[place]

    def add(self, new: TemporalTuple) -> RunChange:
        """A tuple comes: it is a run, lengthens one, or joins several."""
        group = self._groups.setdefault(new.values, [])
        low, high = _touching(group, new.start, new.end)
        near = group[low:high]
        run = max(near, key=lambda near_run: len(near_run.members)) if near else ShedRun(new)
        moved = [
            new,
            *(each for near_run in near if near_run is not run for each in near_run.members),
        ]
        touched = [new, *chain.from_iterable(_beside(near_run, new) for near_run in near)]
        self._count(near, -1)
        if near:
            _join(run, near, new)
        self._count([run], 1)
        group[low:high] = [run]
        self.n_runs += 1 - len(near)
        self._tuples[new.number] = new
        self._place(moved, run)
        return RunChange(
            touched, moved, [run, *(near_run for near_run in near if near_run is not run)]
        )

    def remove(self, number: int) -> RunChange:
        """A tuple goes; its run is shorter, in pieces, or gone. Raises KeyError."""
        gone = self._tuples.pop(number)
        run = self._run_of.pop(number)
        group = self._groups[run.values]
        place = bisect_right(group, run.start, key=_START) - 1
        self._count([run], -1)
        parts = _without(run, gone)
        self._count(parts, 1)
        group[place : place + 1] = parts
        if not group:
            del self._groups[run.values]
        self.n_runs += len(parts) - 1
        others = [part for part in parts if part is not run]
        for part in others:
            self._place(part.members, part)
        touched = [each for part in parts for each in _beside(part, gone)]
        moved = [each for part in others for each in part.members]
        return RunChange(touched, moved, [run, *others])

    def _count(self, runs: Iterable[ShedRun], sign: int) -> None:
        for run in runs:
            self.n_answered += sign * self._answer.takes(run.span)

    def _place(self, tuples: Iterable[TemporalTuple], run: ShedRun) -> None:
        for each in tuples:
            self._run_of[each.number] = run


def _touching(group: Sequence[ShedRun], start: int, end: int) -> tuple[int, int]:
    """Which runs are adjacent to or overlap [start, end)."""
    return bisect_left(group, start, key=_END), bisect_right(group, end, key=_START)


def _beside(run: ShedRun, new: TemporalTuple) -> list[TemporalTuple]:
    """The tuples of a run that are adjacent to or overlap another tuple."""
    if run.is_chain and run.end == new.start:
        return [run.members[-1]]
    if run.is_chain and run.start == new.end:
        return [run.members[0]]
    return [each for each in run.members if each.start <= new.end and each.end >= new.start]


def _join(run: ShedRun, near: Sequence[ShedRun], new: TemporalTuple) -> None:
    """``run``, the largest of those a tuple touches, takes it and the others."""
    fits = all(
        near_run.is_chain and (near_run.end == new.start or near_run.start == new.end)
        for near_run in near
    )
    before = [near_run.members for near_run in near if fits and near_run.end == new.start]
    behind = [near_run.members for near_run in near if fits and near_run.start == new.end]
    if fits and run.end == new.start:
        run.members.extend(chain([new], *behind))
    elif fits:
        run.members.extendleft(chain([new], *(reversed(members) for members in before)))
    elif len(near) == 1 and _ORDER(new) > _ORDER(run.members[-1]):
        run.members.append(new)
    else:
        run.members = deque(
            sorted(chain([new], *(near_run.members for near_run in near)), key=_ORDER)
        )
    run.is_chain = fits
    run.lost = sum(near_run.lost for near_run in near)
    run.start = min(new.start, *(near_run.start for near_run in near))
    run.end = max(new.end, *(near_run.end for near_run in near))


def _without(run: ShedRun, gone: TemporalTuple) -> list[ShedRun]:
    """What is left of a run, by start; the largest part is ``run``."""
    members = run.members
    if len(members) == 1:
        return []
    is_first = members[0].number == gone.number
    if is_first and (run.is_chain or members[1].end >= gone.end):
        members.popleft()
        run.start = members[0].start
        return [run]
    if not run.is_chain:
        return _in_pieces(run, [each for each in members if each.number != gone.number])
    if members[-1].number == gone.number:
        members.pop()
        run.end = members[-1].end
        return [run]
    return _cut(run, gone)


def _cut(run: ShedRun, gone: TemporalTuple) -> list[ShedRun]:
    """A chain without one of its inner tuples: the smaller side leaves."""
    members, side = run.members, []
    sides = zip(members, reversed(members), strict=True)
    for n, (left, right) in enumerate(sides):  # noqa: B007 — n is the distance from the nearer end
        if gone.number in (left.number, right.number):
            break
    is_left = left.number == gone.number
    take = members.popleft if is_left else members.pop
    side = [take() for _ in range(n)]
    take()
    run.start, run.end = members[0].start, members[-1].end
    part = _filled(ShedRun(side[0]), side if is_left else side[::-1])
    return [part, run] if is_left else [run, part]


def _in_pieces(run: ShedRun, left: Sequence[TemporalTuple]) -> list[ShedRun]:
    """Tuples of a run by start, as runs of their own."""
    pieces: list[list[TemporalTuple]] = []
    reach = run.start - 1
    for each in left:
        if each.start > reach:
            pieces.append([])
        pieces[-1].append(each)
        reach = max(reach, each.end)
    largest = max(pieces, key=len)
    return [_filled(run if piece is largest else ShedRun(piece[0]), piece) for piece in pieces]


def _filled(run: ShedRun, members: Sequence[TemporalTuple]) -> ShedRun:
    run.members = deque(members)
    run.start, run.end = members[0].start, max(each.end for each in members)
    run.is_chain = all(member.end == other.start for member, other in pairwise(members))
    return run
