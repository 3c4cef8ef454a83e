"""What queries wait for: a stream that is silent, or behind the others that they read."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from backend.operators.network.core.plan import Streams
from backend.operators.network.core.reports import ClockReport
from storage.vocabulary.records import Event

#: Waiting is told of when it has lasted so many seconds: streams are never quite at one time.
TOLD_S: Final = 10.0


class Wait(NamedTuple):
    """Queries wait. streams: for these; batch: since when, the first in which others were ahead of
    where the queries are; seconds: since its end."""

    streams: tuple[str, ...]
    batch: int
    seconds: float


class _Ahead(NamedTuple):
    """How far the streams of a clock were after a batch. ms: when that was."""

    newest: int
    batch: int
    ms: float


@dataclass
class Waits:
    """What waits, by the streams that queries read. reported: what people know of."""

    waits: dict[Streams, Wait] = field(default_factory=dict)
    reported: dict[Streams, Wait] = field(default_factory=dict)
    _ahead: dict[Streams, deque[_Ahead]] = field(default_factory=dict)

    def ran(
        self,
        batch: int,
        ms: float,
        clocks: Mapping[Streams, ClockReport],
        queries: Mapping[str, Streams],
    ) -> list[Event]:
        """A batch is over; what there is to tell of. ms: as in BatchRan; queries: the streams of
        each."""
        self._ahead = {clock: self._ahead.get(clock, deque()) for clock in clocks}
        self.waits = {}
        for clock, report in clocks.items():
            ahead = self._ahead[clock]
            if not ahead or report.newest > ahead[-1].newest:
                ahead.append(_Ahead(report.newest, batch, ms))
            while ahead and ahead[0].newest <= report.heartbeat:
                ahead.popleft()
            if ahead and report.slowest and report.slowest < clock:
                since = ahead[0]
                streams = tuple(sorted(report.slowest))
                self.waits[clock] = Wait(streams, since.batch, (ms - since.ms) / 1e3)
        long = {clock: wait for clock, wait in self.waits.items() if wait.seconds >= TOLD_S}
        before, self.reported = self.reported, long
        began = [_began(long[c], _names(c, queries)) for c in long.keys() - before.keys()]
        ended = [_ended(before[c], _names(c, queries)) for c in before.keys() - long.keys()]
        return [*began, *ended]


def _names(clock: Streams, queries: Mapping[str, Streams]) -> str:
    return ", ".join(sorted(name for name, own in queries.items() if own == clock))


def _began(wait: Wait, names: str) -> Event:
    streams = " and ".join(wait.streams)
    detail = (
        f"{names}: since batch {wait.batch}, for {wait.seconds:.0f} s; other streams that they "
        f"read are ahead. They go on when {streams} does; idle_after of a stream bounds the wait"
    )
    return Event("input", f"queries wait for {streams}", detail, "warning")


def _ended(wait: Wait, names: str) -> Event:
    return Event("input", f"queries wait no more for {' and '.join(wait.streams)}", names)
