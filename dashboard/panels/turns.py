"""Turns of knobs and their records in the store: what the next one would do, what the last did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from dashboard.base.face import faces, told
from dashboard.views.book import SYSTEM, Book
from dashboard.views.choices import RecordedChoices, read_choices
from dashboard.views.effects import (
    Evaluated,
    KnobAsked,
    KnobEffect,
    RuleRecord,
    before_and_after,
    of_choices,
)
from dashboard.views.forecasts import Forecast, Judged
from dashboard.views.knobs import knob_of
from dashboard.views.numbers import known
from storage.reader import Reader
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Command, Knob

#: Decisions read, newest ones.
MAX_DECISIONS: Final = 1000
#: A turn is judged over so many batches.
BATCHES: Final = 30
#: Turns judged, newest ones.
MOST_JUDGED: Final = 20
#: What a batch costs, by what there is: of the unit (property, words), else of the engine.
COSTS: Final = (("network_us", "time per tuple"), ("visits_per_tuple", "visits"))
BATCH_TIME: Final = ("batch_ms", "batch time")


@dataclass(frozen=True, slots=True)
class ChoiceRecord(RuleRecord):
    """What other values would have planned, at each evaluation that planned them."""

    choices: Sequence[RecordedChoices]

    def cut(self) -> tuple[ChoiceRecord, bool]:
        return replace(self, choices=self.choices[:BATCHES]), len(self.choices) > BATCHES

    def again(self, value: Any) -> Evaluated | None:
        choices = of_choices(self.choices, str(value), told("chosen").get(self.asked.knob, ""))
        return choices if choices.both else None


def replay_choices(asked: KnobAsked) -> ChoiceRecord | None:
    """The choices of a unit for a knob."""
    if asked.knob not in told("chosen"):
        return None
    reader, run, until, unit = asked.reader, asked.run, asked.until, asked.unit
    last = reader.decision_counts(run, until, unit).evaluated
    choices = _choices(reader.base, run, until, unit, asked.knob, last)
    return ChoiceRecord(asked, [c for c in choices if asked.first <= c.batch < asked.last])


@lru_cache(maxsize=16)
def _choices(
    reader: Reader, run: str, until: int | None, unit: str | None, name: str, last: int
) -> list[RecordedChoices]:
    """last: seq of the newest, so that news are read."""
    decisions = reader.decisions(run, until=until, limit=MAX_DECISIONS, unit=unit)
    return read_choices(decisions, name)


def records_of(asked: KnobAsked) -> list[RuleRecord]:
    """All that is on record of the rule behind a knob, what tells it best first."""
    replays = (*(replay for face in faces() for replay in face.replays), replay_choices)
    return [record for replay in replays if (record := replay(asked)) is not None]


def previewed(reader: Reader, run: str, knob: Knob, value: Any) -> KnobEffect | None:
    """What the newest evaluations would have become; None where the record cannot tell."""
    for record in records_of(KnobAsked(reader, run, None, knob.scope, knob.name)):
        preview = record.preview(value)
        if preview is not None:
            return preview
    return None


def forecast(reader: Reader, run: str, knob: Knob, value: Any) -> Forecast | None:
    """What a turn is expected to do, by the record as it is; None where nothing can be told."""
    effect = previewed(reader, run, knob, value)
    return None if effect is None else Forecast.of(effect)


def effects(
    reader: Reader, run: str, turns: Sequence[Command], until: int | None
) -> dict[int, Judged]:
    """Number of the command -> what an applied turn did up to a batch.

    Each is judged until the next turn of a knob of its scope. turns: newest first.
    """
    applied = [
        turn
        for turn in turns
        if turn.kind == "knob" and turn.applied_batch is not None and turn.old_value is not None
    ]
    knobs = reader.knobs(run, until)
    scopes = {turn.id: _scope(turn, knobs) for turn in applied}
    judged = {}
    for command in applied[:MOST_JUDGED]:
        scope = scopes[command.id]
        rest = [other for other in applied if other.id > command.id]
        later = [other.applied_batch for other in rest if scopes[other.id] == scope]
        end = min(filter(None, later), default=None)
        judged[command.id] = _judge(reader, run, command, scope, until, end)
    return judged


def _scope(turn: Command, knobs: Sequence[Knob]) -> str | None:
    """Of the knob that was turned; a request may leave it out where one knob has that name."""
    knob = knob_of(turn.payload, knobs)
    return turn.payload.get("scope") if knob is None else knob.scope


def _judge(
    reader: Reader, run: str, turn: Command, scope: str | None, until: int | None, end: int | None
) -> Judged:
    """end: batch of the next turn, None = there is none."""
    name, first = str(turn.payload.get("knob")), turn.applied_batch or 0
    records = records_of(KnobAsked(reader, run, until, scope, name, first, end))
    near = [record.cut() for record in records]
    is_full = any(more for _, more in near)
    for (record, has_more), whole in zip(near, records, strict=True):
        effect = record.judge(turn.old_value)
        if effect is not None:
            of_all = whole.judge(turn.old_value) if has_more else None
            return Judged(effect, end is not None or is_full, of_all)
    return _beside(reader, run, scope, first, until, end)


def _beside(
    reader: Reader, run: str, scope: str | None, first: int, until: int | None, end: int | None
) -> Judged:
    """What a batch cost before and after, by the first of COSTS that is known of the unit."""
    due = first + BATCHES - 1 if end is None else min(end, first + BATCHES) - 1
    stop = due if until is None else min(due, until)
    own = Book(reader.entities(run, first), scope or "").systems()[1:] if scope else ()
    keys = {(entity, name): words for name, words in COSTS for entity in own}
    keys[SYSTEM, BATCH_TIME[0]] = BATCH_TIME[1]
    costs = reader.many_series(run, list(keys), since_batch=first - BATCHES, until_batch=stop)
    for key, words in keys.items():
        pairs = _known(costs.get(key))
        before = [value for batch, value in pairs if batch < first]
        after = [value for batch, value in pairs if batch >= first]
        if pairs:
            is_full = stop == due and len(after) >= due - first + 1
            near = before_and_after(before, after, words)
            last = until if end is None else end - 1 if until is None else min(until, end - 1)
            if not is_full or (last is not None and last <= due):
                return Judged(near, is_full)
            rest = reader.many_series(run, [key], since_batch=first, until_batch=last)
            whole = [value for _, value in _known(rest.get(key))]
            of_all = before_and_after(before, whole, words) if len(whole) > len(after) else None
            return Judged(near, is_full, of_all)
    return Judged(before_and_after((), ()), False)


def _known(series: SeriesData | None) -> list[tuple[int, float]]:
    """Batches and values that are numbers."""
    if series is None:
        return []
    pairs = zip(series.batch.tolist(), series.value.tolist(), strict=True)
    return [(batch, value) for batch, value in pairs if known(value)]
