"""Which state is assessed when, request by request. [WRA13] §7, card A7

Windows count the requests of the whole system. A pure function: what is known, a request, what is
known then and what happened. In the engine requests come by the batch, and what happens inside of
one takes effect at its boundary.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import add
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from backend.systems.amri.sides import Sides, compared

Method: TypeAlias = Literal["continuous", "periodic", "triggered", "hybrid", "off"]
Slot: TypeAlias = Literal["continuous", "periodic", "triggered"]

#: In so many portions the requests of a batch come.
PORTIONS: Final = 64


class ScheduleSettings(NamedTuple):
    """period, trigger: requests of the two windows. min_change: of a state's requests from one
    window to the next, that has to be exceeded, as a share."""

    method: Method = "hybrid"
    period: int = 60_000
    trigger: int = 100_000
    min_change: float = 0.0

    @property
    def has_turns(self) -> bool:
        return self.method in ("periodic", "hybrid")

    @property
    def has_triggers(self) -> bool:
        return self.method in ("triggered", "hybrid")


class ScheduleEvent(NamedTuple):
    """'assess': a state's assessment begins; 'select': it ends, and a configuration is selected;
    'pass': nothing has changed enough. request: the number of the request behind which it happened,
    from 1, 0: at the start. sides: of a trigger, its change of requests and the least one. order:
    the list of states then. requests: to the state, in the window before and in this one."""

    kind: Literal["assess", "select", "pass"]
    slot: Slot
    state: int
    request: int
    order: tuple[int, ...]
    sides: Sides | None = None
    requests: tuple[int, int] = (0, 0)


class TuningSchedule(NamedTuple):
    """What is known. total: requests so far; order: states, those assessed longest ago first;
    counts, previous: requests by state in this trigger window and the one before (None: there was
    none); turn, triggered: the state that each slot assesses, or None."""

    total: int
    order: tuple[int, ...]
    counts: tuple[int, ...]
    previous: tuple[int, ...] | None = None
    turn: int | None = None
    triggered: int | None = None

    @classmethod
    def restored(cls, state: Sequence[Any]) -> Self:
        """Go on with what was known, after it went through JSON as a list."""
        known: list[Any] = [tuple(part) if isinstance(part, list) else part for part in state]
        return cls(*known)

    def assessed(self, method: Method) -> frozenset[int]:
        """The states under assessment."""
        if method == "continuous":
            return frozenset(self.order)
        return frozenset(s for s in (self.turn, self.triggered) if s is not None)


Step: TypeAlias = tuple[TuningSchedule, tuple[ScheduleEvent, ...]]


def begin(settings: ScheduleSettings, n_states: int) -> Step:
    """Before the first request; the first turn begins."""
    return turned(settings, TuningSchedule(0, tuple(range(n_states)), (0,) * n_states))


def turned(settings: ScheduleSettings, known: TuningSchedule) -> Step:
    """Other settings hold from here on; a slot that they have not is left without a selection."""
    known = known._replace(
        turn=known.turn if settings.has_turns else None,
        triggered=known.triggered if settings.has_triggers else None,
    )
    if settings.method == "continuous":
        return known, _of_all("assess", known)
    return _next_turn(known) if settings.has_turns and known.turn is None else (known, ())


def after(
    settings: ScheduleSettings, known: TuningSchedule, state: int, n_requests: int = 1
) -> Step:
    """So many requests to a state, one after the other."""
    events: list[ScheduleEvent] = []
    while n_requests > 0:
        fits = min(n_requests, _left(settings, known.total))
        counts = list(known.counts)
        counts[state] += fits
        known = known._replace(total=known.total + fits, counts=tuple(counts))
        n_requests -= fits
        known, happened = _boundary(settings, known)
        events += happened
    return known, tuple(events)


def after_batch(settings: ScheduleSettings, known: TuningSchedule, requests: Sequence[int]) -> Step:
    """So many requests to each state, side by side: in portions, each with its share of every
    state's. Portions in which no window ends are taken together."""
    portions = np.arange(PORTIONS + 1)[:, None] * np.array(requests, dtype=np.int64) // PORTIONS
    came, sums, first = portions.tolist(), portions.sum(axis=1).tolist(), 0
    events: list[ScheduleEvent] = []
    while first < PORTIONS:
        left = _left(settings, known.total)
        end = max(bisect_left(sums, sums[first] + left) - 1, first + 1)
        each = [then - before for before, then in zip(came[first], came[end], strict=True)]
        if sum(each) < left:
            counts = tuple(map(add, known.counts, each))
            known, each = known._replace(total=known.total + sum(each), counts=counts), []
        for state, n_requests in enumerate(each):
            known, happened = after(settings, known, state, n_requests)
            events += happened
        first = end
    return known, tuple(events)


def _left(settings: ScheduleSettings, total: int) -> int:
    """Requests until the next window ends, at most."""
    return min(every - total % every for every in (settings.period, settings.trigger))


def _boundary(settings: ScheduleSettings, known: TuningSchedule) -> Step:
    """What happens when windows end with the last request: turns first, then triggers."""
    events: list[ScheduleEvent] = []
    if known.total % settings.period == 0:
        if settings.method == "continuous":
            events += (*_of_all("select", known), *_of_all("assess", known))
        elif settings.has_turns:
            if known.turn is not None:
                known, happened = _ended("periodic", known, known.turn)
                events += happened
            known, happened = _next_turn(known)
            events += happened
    if known.total % settings.trigger == 0:
        if settings.has_triggers:
            if known.triggered is not None:
                known, happened = _ended("triggered", known, known.triggered)
                events += happened
            known, happened = _trigger(settings, known)
            events += happened
        known = known._replace(previous=known.counts, counts=(0,) * len(known.counts))
    return known, tuple(events)


def _of_all(kind: Literal["assess", "select"], known: TuningSchedule) -> tuple[ScheduleEvent, ...]:
    return tuple(
        ScheduleEvent(kind, "continuous", state, known.total, known.order)
        for state in sorted(known.order)
    )


def _next_turn(known: TuningSchedule) -> Step:
    """The head of the list that is not under assessment already."""
    turn = next((s for s in known.order if s not in (known.turn, known.triggered)), None)
    known = known._replace(turn=turn)
    if turn is None:
        return known, ()
    return known, (ScheduleEvent("assess", "periodic", turn, known.total, known.order),)


def _ended(slot: Slot, known: TuningSchedule, state: int) -> Step:
    """A slot's window is full: select, and the state moves to the bottom of the list."""
    order = (*(s for s in known.order if s != state), state)
    is_turn = slot == "periodic"
    known = known._replace(
        order=order,
        turn=None if is_turn else known.turn,
        triggered=known.triggered if is_turn else None,
    )
    return known, (ScheduleEvent("select", slot, state, known.total, order),)


def _trigger(settings: ScheduleSettings, known: TuningSchedule) -> Step:
    """The state whose requests changed most, of equal ones the first of the list, is assessed,
    unless it is already."""
    if known.previous is None:
        return known, ()
    pairs = zip(known.counts, known.previous, strict=True)
    changes = [abs(now - before) / max(1, before) for now, before in pairs]
    state = max(known.order, key=lambda s: changes[s])
    of_state = known.previous[state], known.counts[state]
    metric = "change of requests to a state"
    sides = compared(metric, changes[state], settings.min_change, known.counts[state])
    if state == known.turn:
        sides = sides._replace(verdict="kept")
    kind: Literal["assess", "pass"] = "assess" if sides.holds else "pass"
    known = known._replace(triggered=state if sides.holds else None)
    event = ScheduleEvent(kind, "triggered", state, known.total, known.order, sides, of_state)
    return known, (event,)
