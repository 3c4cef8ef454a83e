"""What a run that ended or was killed left behind, for the engine to go on from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy import Connection, select

from storage.reading import history, unit_history, values
from storage.tables.columns import load_json
from storage.tables.looks import PlanLogs
from storage.tables.schema import LatestRow, RunRow, SeriesRow, UnitStateRow
from storage.vocabulary.branches import BRANCH
from storage.vocabulary.planlog import KEEP_EVERY, is_piloted
from storage.vocabulary.records import Entity, Json, Knob, PlanVersion, Run, Unit

_SERIES = SeriesRow.__table__.c
_LATEST = LatestRow.__table__.c
_RUNS = RunRow.__table__
_STATES = UnitStateRow.__table__.c


class Readable(Protocol):
    """An EngineWriter or a Reader."""

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection for one short transaction that reads."""


@dataclass(frozen=True, slots=True)
class LastUnit:
    """A unit the run has or had, with its newest and its first plan, the highest number of its
    stored decisions (0 = none), and what the newest looks of each of its plan logs wrote down,
    oldest first. state: what it knew at the end of the last batch."""

    unit: Unit
    plan: PlanVersion | None
    first: PlanVersion | None
    last_seq: int
    looks: tuple[Json, ...] = ()
    state: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LastQuery:
    """A query that was registered at the end: its text, the unit it belonged to, and the system it
    asked for ('' = none)."""

    name: str
    text: str
    paused: bool
    unit_id: str
    system: str = ""


@dataclass(frozen=True, slots=True)
class LastState:
    """The newest run of a workload as of its last record.

    last_batch: None before the first. knobs: those in force or set last, of all scopes, each with
    its version. totals: entity -> property -> value of everything counted since the run began.
    entities: those alive, by id.
    """

    run: Run
    last_batch: int | None
    units: tuple[LastUnit, ...]
    knobs: tuple[Knob, ...]
    queries: tuple[LastQuery, ...]
    totals: Mapping[str, Mapping[str, float]]
    entities: tuple[Entity, ...]

    def unit(self, unit_id: str) -> LastUnit | None:
        """The unit of that id, or None."""
        return next((unit for unit in self.units if unit.unit.id == unit_id), None)


def last_state(store: Readable | Connection, workload: str) -> LastState | None:
    """How the newest run of ``workload`` that is no branch of another stood; None when the store
    has none."""
    if not isinstance(store, Connection):
        with store.reading() as connection:
            return last_state(connection, workload)
    newest = select(_RUNS.c.id, _RUNS.c.settings).where(_RUNS.c.workload == workload)
    ordered = store.execute(newest.order_by(_RUNS.c.started_at.desc(), _RUNS.c.id.desc()))
    run_id = next((row.id for row in ordered if BRANCH not in row.settings), None)
    run = None if run_id is None else history.run(store, run_id)
    if run is None:
        return None
    entities = history.entities(store, run.id, None)
    return LastState(
        run,
        values.last_batch(store, run.id),
        _units(store, run.id),
        history.knobs(store, run.id, None),
        tuple(_query(entity) for entity in entities if entity.kind == "query"),
        _totals(store, run.id),
        entities,
    )


def _units(connection: Connection, run_id: str) -> tuple[LastUnit, ...]:
    known = select(_STATES.unit_id, _STATES.state).where(_STATES.run_id == run_id)
    states = {unit: load_json(text) for unit, text in connection.execute(known)}
    return tuple(
        LastUnit(
            unit,
            unit_history.plan_at(connection, run_id, None, unit.id),
            unit_history.first_plan(connection, run_id, unit.id),
            unit_history.last_seq(connection, run_id, None, unit.id),
            _looks(connection, run_id, unit.id),
            states.get(unit.id, {}),
        )
        for unit in history.all_units(connection, run_id)
    )


def _looks(connection: Connection, run_id: str, unit: str) -> tuple[Json, ...]:
    """The records that each plan log of a unit begins anew from."""
    return _newest(connection, run_id, unit, PlanLogs(connection, run_id, unit).subjects)


def autopilots_looks(connection: Connection, run_id: str, unit: str) -> tuple[Json, ...]:
    """The records that the plan logs of a unit's autopilots begin anew from."""
    subjects = filter(is_piloted, PlanLogs(connection, run_id, unit).subjects)
    return _newest(connection, run_id, unit, subjects)


def _newest(
    connection: Connection, run_id: str, unit: str, subjects: Iterable[str]
) -> tuple[Json, ...]:
    asked = connection, run_id, None, unit, KEEP_EVERY
    each = ("", *filter(None, subjects))
    return tuple(look.record for s in each for look in unit_history.looks(*asked, s))


def _query(entity: Entity) -> LastQuery:
    facts = entity.properties
    paused = facts.get("state") == "paused"
    text, system = str(facts.get("text", "")), str(facts.get("system", ""))
    return LastQuery(entity.name, text, paused, entity.unit_id, system)


def _totals(connection: Connection, run_id: str) -> dict[str, dict[str, float]]:
    newest = (
        select(_SERIES.entity_id, _SERIES.property, _LATEST.value)
        .join_from(SeriesRow.__table__, LatestRow.__table__, _LATEST.series_id == _SERIES.id)
        .where(_SERIES.run_id == run_id, _LATEST.value.is_not(None))
    )
    totals: dict[str, dict[str, float]] = {}
    for entity, name, value in connection.execute(newest):
        if name.endswith(values.TOTALS):
            totals.setdefault(entity, {})[name] = value
    return totals
