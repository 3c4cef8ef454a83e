"""What the loss of one tuple does to its run. Card B3, B6"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from backend.operators.network.shedding.runs import RunIndex, ShedRun
from backend.operators.network.shedding.temporal import TemporalTuple


class TupleLoss(NamedTuple):
    """pieces: runs that are left of its run, 0: it is alone; length: that nothing else covers."""

    pieces: int
    length: int

    @property
    def delta(self) -> int:
        """δ⁺: extraneous tuples that its loss creates."""
        return max(0, self.pieces - 1)


def losses_of(
    index: RunIndex, tuples: Iterable[TemporalTuple]
) -> Iterator[tuple[TemporalTuple, TupleLoss]]:
    """Of tuples that are in the index."""
    swept: dict[int, Mapping[int, TupleLoss]] = {}  # by run
    for each in tuples:
        run = index.run_of(each.number)
        assert run is not None, "tuples that are looked at are in the index"
        if run.is_chain:
            yield each, _in_chain(run, each)
            continue
        if id(run) not in swept:
            swept[id(run)] = swept_losses(run)
        yield each, swept[id(run)][each.number]


def _in_chain(run: ShedRun, member: TemporalTuple) -> TupleLoss:
    inside = (member.start > run.start) + (member.end < run.end)
    return TupleLoss(inside, member.end - member.start)


def swept_losses(run: ShedRun) -> dict[int, TupleLoss]:
    """Of all tuples of a run, by number, whatever they overlap."""
    members = list(run.members)
    losses, reach = {}, run.start
    for place, each in enumerate(members):
        gaps = list(_uncovered(each, max(reach, each.start), members, place + 1))
        inner = sum(start > run.start and end < run.end for start, end in gaps)
        alone = gaps == [(run.start, run.end)]
        length = sum(end - start for start, end in gaps)
        losses[each.number] = TupleLoss(0 if alone else 1 + inner, length)
        reach = max(reach, each.end)
    return losses


def _uncovered(
    member: TemporalTuple, since: int, members: Sequence[TemporalTuple], place: int
) -> Iterator[tuple[int, int]]:
    """Where only ``member`` is: it is covered until ``since`` by those before, and by those from
    ``place`` on, which begin no earlier."""
    while since < member.end:
        until = members[place].start if place < len(members) else member.end
        if until > since:
            yield since, min(until, member.end)
        if until >= member.end:
            return
        since = max(since, members[place].end)
        place += 1
