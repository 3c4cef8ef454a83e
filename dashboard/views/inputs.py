"""What a run reads and what works in it: its inputs with their state, its units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from storage.tables.rows import StoredInput
from storage.vocabulary.records import INTAKE, SURROGATE, InputBatch, Knob, Unit

#: States of streams that can be paused, resumed or removed.
CHANGEABLE: Final = ("open", "paused", "removed")


class InputLine(NamedTuple):
    """An input at a batch. tuples, misfits, backlog: of that batch, None = unknown. note: why it is
    in its state. source: its entity, '' where none is known. intake: whether it is read, by its
    knob; '' where it cannot be changed."""

    name: str
    state: str
    note: str
    n_attributes: int
    tuples: int | None
    misfits: int | None
    backlog: int | None
    stream_time: str
    source: str
    intake: str = ""


class UnitLine(NamedTuple):
    """A unit: its system, what it reads, how many queries it serves."""

    id: str
    title: str
    system: str
    inputs: str
    n_queries: int


def input_rows(
    inputs: Sequence[StoredInput],
    counts: Mapping[str, InputBatch],
    sources: Mapping[str, str],
    knobs: Iterable[Knob],
    now: bool = True,
) -> list[InputLine]:
    """The inputs in the workload's order. counts: by input, of the batch shown. sources: the entity
    of each. now: that batch is the newest, so that the latest state counts. An open one that is not
    read at the moment is paused or removed."""
    rows = []
    intakes = {knob.scope: str(knob.value) for knob in knobs if knob.name == INTAKE}
    for input in inputs:
        batch = counts.get(input.input.name)
        state: str = input.state
        note = input.note
        if not now and batch is not None:
            state, note = batch.state, batch.note
        source = sources.get(input.input.name, "")
        intake = intakes.get(source, "on")
        if state == "open" and intake != "on":
            state = intake
        rows.append(
            InputLine(
                name=input.input.name,
                state=state,
                note=note,
                n_attributes=len(input.input.schema or ()),
                tuples=batch.n_tuples if batch else None,
                misfits=batch.n_misfits if batch else None,
                backlog=batch.backlog_tuples if batch else None,
                stream_time=batch.stream_time if batch else "",
                source=source,
                intake=intakes.get(source, "") if state in CHANGEABLE else "",
            )
        )
    return rows


def unit_rows(units: Sequence[Unit]) -> list[UnitLine]:
    """The units as a table lists them."""
    return [
        UnitLine(unit.id, unit.title, unit.system, ", ".join(unit.inputs), len(unit.queries))
        for unit in units
    ]


def is_over(inputs: Sequence[StoredInput]) -> bool:
    """Whether none of what a run reads gives tuples any more."""
    return bool(inputs) and all(input.state != "open" for input in inputs)


def streams_words(inputs: Sequence[StoredInput]) -> str:
    """'surrogate data: North, South; Flights, Packets (failed)': what a run reads, what is drawn in
    place of real data first, and what gives no more tuples."""
    drawn = [_with_state(stored) for stored in inputs if stored.input.is_surrogate]
    others = [_with_state(stored) for stored in inputs if not stored.input.is_surrogate]
    drawn[:1] = [f"{SURROGATE} data: {name}" for name in drawn[:1]]
    return "; ".join(", ".join(names) for names in (drawn, others) if names)


def _with_state(stored: StoredInput) -> str:
    name = stored.input.name
    return name if stored.state == "open" else f"{name} ({stored.state})"
