"""What the Knobs page shows: knobs by the entity they belong to, and the audit log of requests."""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from graphlib import TopologicalSorter
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dashboard.base.face import Face, faces, told
from dashboard.components.formats import UNKNOWN, show
from dashboard.components.names import words_of
from dashboard.views.book import SYSTEM
from dashboard.views.forecasts import Forecast, Judged
from dashboard.views.unreplayed import FIXED
from storage.vocabulary.branches import FILE
from storage.vocabulary.records import Command, Entity, Knob, Run

#: What operators turn most stands first, beside what systems say; the rest follows by name.
FIRST: Final = ("rate",)
#: Between names in the value of a knob that has several.
NAMES_SEPARATOR: Final = "; "
#: Of names in the log.
LONGEST_NAME: Final = 80
_VERBS: Final = {
    "query_add": "add query",
    "query_pause": "pause query",
    "query_resume": "resume query",
    "query_remove": "remove query",
    "sql": "save SQL",
}


class KnobGroup(NamedTuple):
    """Knobs of one entity of one scope. scope: title of the unit or input, '' for the engine."""

    entity: str
    title: str
    knobs: list[Knob]
    scope: str = ""


class AuditRow(NamedTuple):
    """One request. knob: its name in the record, '' of one about a query. old, new: as text.
    outcome: 'applied at batch 812', 'refused: why', 'waiting'.

    revert: what a revert would request ({run, knob, scope, value, version, command}), or None;
    also: the same of the knob that was set with it, such as who decides.
    did: what it did; None = nothing to tell. forecast: what it was expected to do when it was
    asked. goes_back_at: Unix s of the moment it is taken back unless it is kept, None = it stands.
    """

    id: int
    requested_at: float
    actor: str
    what: str
    knob: str
    old: str
    new: str
    reason: str
    state: str
    outcome: str
    batch: int | None
    revert: dict[str, Any] | None
    scope: str = ""
    did: Judged | None = None
    forecast: Forecast | None = None
    goes_back_at: float | None = None
    also: dict[str, Any] | None = None


def named_in(knob: Knob | None) -> tuple[str, ...]:
    """The names in the value of a knob that has a list of them."""
    text = "" if knob is None else str(knob.value)
    return tuple(name.strip() for name in text.split(NAMES_SEPARATOR.strip()) if name.strip())


def group_knobs(
    knobs: Sequence[Knob], entities: Mapping[str, Entity], titles: Mapping[str, str]
) -> list[KnobGroup]:
    """Knobs by scope (the engine's first, then those of units, those of inputs last) and entity
    (the system's first); in a group FIRST, then by name. titles: of scopes, units and inputs."""
    groups: dict[tuple[str, str], list[Knob]] = {}
    for knob in ranked(knobs):
        groups.setdefault((knob.scope, knob.entity), []).append(knob)

    def place(group: tuple[str, str]) -> tuple[bool, bool, str, bool]:
        scope, entity = group
        is_input = entity in entities and entities[entity].role == "source"
        return scope != "", is_input, scope, entity != SYSTEM

    ordered = sorted(groups, key=place)
    return [
        KnobGroup(
            entity,
            entities[entity].name if entity in entities else entity,
            groups[scope, entity],
            titles.get(scope) or (entities[scope].name if scope in entities else scope),
        )
        for scope, entity in ordered
    ]


def on_page(
    knobs: Iterable[Knob], units: Container[str], entities: Mapping[str, Entity]
) -> list[Knob]:
    """The engine's knobs, those of units and of inputs; those of single queues stand with them."""
    return [
        knob
        for knob in knobs
        if not knob.scope
        or knob.scope in units
        or (knob.scope in entities and entities[knob.scope].role == "source")
    ]


def ranked(knobs: Iterable[Knob]) -> list[Knob]:
    """What is turned most first, then by name."""
    rank = _ranks(faces())
    return sorted(knobs, key=lambda knob: (rank.get(knob.name, len(rank)), knob.name))


@lru_cache(maxsize=4)
def _ranks(faces: tuple[Face, ...]) -> Mapping[str, int]:
    """Places of the knobs that each system, and the engine, puts first, each in its own order."""
    after: TopologicalSorter[str] = TopologicalSorter()
    for first in (*(face.first for face in faces), FIRST):
        for before, name in pairwise(("", *first)):
            after.add(name, before)
    return {name: place for place, name in enumerate(after.static_order())}


def audit(
    run_id: str,
    commands: Sequence[Command],
    knobs: Sequence[Knob],
    until: float | None = None,
    effects: Mapping[int, Judged] = MappingProxyType({}),
    taken_back: Mapping[int, int] = MappingProxyType({}),
    also: Mapping[int, Mapping[str, Any]] = MappingProxyType({}),
) -> list[AuditRow]:
    """All requests, newest first; until: only those made by then (Unix s).

    effects: number of the request -> what it did. taken_back: number -> batch at which the engine
    took the turn back. also: number -> the knob {knob, scope, old} that was set with the turn.
    """
    kept = {command.payload.get("command") for command in commands if command.kind == "keep"}
    rows = []
    for command in commands:
        if until is not None and command.requested_at > until:
            continue
        did, expected = effects.get(command.id), Forecast.recorded(command.payload)
        row = _row(run_id, command, knobs)._replace(did=did, forecast=expected)
        if command.id in taken_back:
            row = row._replace(outcome=f"taken back at batch {taken_back[command.id]}")
        elif command.id not in kept:
            row = row._replace(goes_back_at=_goes_back_at(command, knobs))
        if (set_too := also.get(command.id)) is not None:
            other = knob_of(set_too, knobs)
            row = row._replace(also=_back(run_id, command, other, set_too.get("old")))
        rows.append(row)
    return sorted(rows, key=lambda row: -row.id)


def _goes_back_at(command: Command, knobs: Sequence[Knob]) -> float | None:
    """When the engine takes a turn back that nobody keeps; None where it stands."""
    seconds = command.payload.get("unless_kept_s")
    if seconds is None or command.answered_at is None or command.state != "applied":
        return None
    knob = knob_of(command.payload, knobs)
    stands = knob is None or knob.value != command.payload.get("value")
    return None if stands else command.answered_at + float(seconds)


def knob_of(payload: Mapping[str, Any], knobs: Sequence[Knob]) -> Knob | None:
    """The knob a request is about; one without a scope means the one knob of that name."""
    named = [knob for knob in knobs if knob.name == payload.get("knob")]
    if payload.get("scope") is not None:
        named = [knob for knob in named if knob.scope == payload["scope"]]
    return named[0] if len(named) == 1 else None


def pending(commands: Sequence[Command], knobs: Sequence[Knob]) -> dict[tuple[str, str], Command]:
    """(scope, knob) -> its newest unanswered request."""
    newest = {}
    for command in sorted(commands, key=lambda command: command.id):
        if command.kind == "knob" and command.state == "requested":
            knob = knob_of(command.payload, knobs)
            if knob is not None:
                newest[knob.scope, knob.name] = command
    return newest


def _row(run_id: str, command: Command, knobs: Sequence[Knob]) -> AuditRow:
    is_knob = command.kind == "knob"
    asked = command.payload
    name = str(asked.get("knob" if is_knob else "name", ""))[:LONGEST_NAME]
    if command.kind == "branch":
        name = f"of {asked.get('run')} at batch {asked.get('at')} with {asked.get('knob')}"
    new = asked.get("value") if is_knob or command.kind == "branch" else asked.get("text")
    verb, knob = _VERBS.get(command.kind, command.kind), knob_of(asked, knobs)
    unit = "" if knob is None else knob.unit
    return AuditRow(
        id=command.id,
        requested_at=command.requested_at,
        actor=command.actor,
        what=words_of(name) if is_knob else f"{verb} {name}".strip(),
        knob=name if is_knob else "",
        old=value_words(command.old_value, unit),
        new=value_words(new, unit),
        reason=command.reason,
        state=command.state,
        outcome=_outcome(command),
        batch=command.applied_batch,
        revert=_revert(run_id, command, knob) if is_knob else None,
        scope=str(asked.get("scope") or ""),
    )


def _outcome(command: Command) -> str:
    if command.state == "applied":
        return f"applied at batch {command.applied_batch}"
    if command.state == "refused":
        return f"refused: {command.answer}"
    return "" if command.state == "recorded" else "waiting for a batch boundary"


def _revert(run_id: str, command: Command, knob: Knob | None) -> dict[str, Any] | None:
    return _back(run_id, command, knob, command.old_value)


def _back(run_id: str, command: Command, knob: Knob | None, old: Any) -> dict[str, Any] | None:
    """What gives a knob the value back that a request changed; None where there is nothing to."""
    if command.state != "applied" or knob is None or old is None or knob.value == old:
        return None
    return {
        "run": run_id,
        "knob": knob.name,
        "scope": knob.scope,
        "value": old,
        "version": knob.version,
        "command": command.id,
    }


def value_words(value: Any, unit: str = "") -> str:
    """A value of a knob as text, bytes in a unit that people read. unit: of the knob."""
    if value is None or value == "":
        return UNKNOWN
    if unit == "bytes" and isinstance(value, int | float):
        return show(value, "bytes")
    return f"{value:g}" if isinstance(value, float) else str(value)


def restart_of(knob: Knob, run: Run | None) -> str:
    """The command that starts another run of a workload with another value of a knob that is fixed
    for a run, '' for one that can be turned."""
    if run is None or told("unreplayed").get(knob.name) != FIXED:
        return ""
    other = next((choice for choice in knob.choices if choice != knob.value), None)
    if other is None and isinstance(knob.value, int):
        other = str(2 * knob.value)
    file = str(run.settings.get(FILE, ""))
    is_shipped = file.endswith(f"/backend/workloads/{run.workload}.toml")
    workload = file if file and not is_shipped else run.workload
    return f"python3 run.py demo {shlex.quote(workload)} --set {knob.name}={other or '…'}"
