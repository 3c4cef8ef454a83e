"""What the Knobs page shows: knobs by the entity they belong to, and the audit log of requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboard.components.formats import UNKNOWN
from storage.vocabulary.records import Command, Entity, Knob

#: What operators turn most stands first; the rest follows by name.
FIRST: Final = ("mu", "alpha", "ordering", "filter_algorithm", "rate", "profile_prob")


class KnobGroup(NamedTuple):
    """Knobs of one entity."""

    entity: str
    title: str
    knobs: list[Knob]


class AuditRow(NamedTuple):
    """One request. old, new: as text. outcome: 'applied at batch 812', 'refused: why', 'waiting'.

    revert: what a revert would request ({run, knob, value, version, command}), or None.
    """

    id: int
    requested_at: float
    actor: str
    what: str
    old: str
    new: str
    reason: str
    state: str
    outcome: str
    batch: int | None
    revert: dict[str, Any] | None


def group_knobs(knobs: Sequence[Knob], entities: Mapping[str, Entity]) -> list[KnobGroup]:
    """Knobs by entity, those of the system first; in a group FIRST, then by name."""
    rank = {name: place for place, name in enumerate(FIRST)}
    groups: dict[str, list[Knob]] = {}
    for knob in sorted(knobs, key=lambda one: (rank.get(one.name, len(FIRST)), one.name)):
        groups.setdefault(knob.entity, []).append(knob)
    return [
        KnobGroup(entity, entities[entity].name if entity in entities else entity, members)
        for entity, members in sorted(groups.items(), key=lambda group: group[0] != "system")
    ]


def audit(
    run_id: str, commands: Sequence[Command], knobs: Sequence[Knob], until: float | None = None
) -> list[AuditRow]:
    """All requests, newest first; until: only those made by then (Unix s)."""
    current = {knob.name: knob for knob in knobs}
    rows = [
        _row(run_id, command, current)
        for command in commands
        if until is None or command.requested_at <= until
    ]
    return sorted(rows, key=lambda row: -row.id)


def pending(commands: Sequence[Command]) -> dict[str, Command]:
    """The newest unanswered request of each knob."""
    return {
        str(command.payload.get("knob")): command
        for command in sorted(commands, key=lambda command: command.id)
        if command.kind == "knob" and command.state == "requested"
    }


def _row(run_id: str, command: Command, current: Mapping[str, Knob]) -> AuditRow:
    is_knob = command.kind == "knob"
    name = str(command.payload.get("knob" if is_knob else "name", ""))
    new = command.payload.get("value") if is_knob else command.payload.get("text")
    return AuditRow(
        id=command.id,
        requested_at=command.requested_at,
        actor=command.actor,
        what=name if is_knob else f"{command.kind.replace('_', ' ')} {name}".strip(),
        old=_text(command.old_value),
        new=_text(new),
        reason=command.reason,
        state=command.state,
        outcome=_outcome(command),
        batch=command.applied_batch,
        revert=_revert(run_id, command, current.get(name)) if is_knob else None,
    )


def _outcome(command: Command) -> str:
    if command.state == "applied":
        return f"applied at batch {command.applied_batch}"
    if command.state == "refused":
        return f"refused: {command.answer}"
    return "waiting for a batch boundary"


def _revert(run_id: str, command: Command, knob: Knob | None) -> dict[str, Any] | None:
    if command.state != "applied" or knob is None or command.old_value is None:
        return None
    if knob.value == command.old_value:
        return None
    return {
        "run": run_id,
        "knob": knob.name,
        "value": command.old_value,
        "version": knob.version,
        "command": command.id,
    }


def _text(value: Any) -> str:
    if value is None or value == "":
        return UNKNOWN
    return f"{value:g}" if isinstance(value, float) else str(value)
