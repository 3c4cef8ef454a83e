"""Commands from the store to the engine: what operators asked for, checked and carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from backend.cql import CqlError, parse_query
from backend.model.conditions import ContinuousQuery
from backend.model.functions import Functions
from backend.model.knobs import KnobRefused, KnobSettings
from backend.model.schema import Schema
from storage.vocabulary.records import Command, CommandAnswer, Event, Json


class Refused(Exception):
    """A command that cannot be carried out; the message is the answer."""


@dataclass(frozen=True, slots=True)
class Registry:
    """The registered queries of a run and which of them are paused."""

    queries: Mapping[str, ContinuousQuery]
    paused: frozenset[str] = frozenset()

    @property
    def active(self) -> tuple[ContinuousQuery, ...]:
        return tuple(q for name, q in self.queries.items() if name not in self.paused)


@dataclass(frozen=True, slots=True)
class Carried:
    """A command carried out: the state after it, and the words for its answer and event."""

    settings: KnobSettings
    registry: Registry
    event: Event
    old_value: Json = None
    stop: bool = False


def carry_out(
    command: Command,
    settings: KnobSettings,
    registry: Registry,
    schemas: Mapping[str, Schema],
    functions: Functions | None = None,
) -> Carried:
    """The state after ``command``. Raises Refused; nothing is changed in place.

    functions: those a new query may call.
    """
    handlers: dict[str, Callable[[], Carried]] = {
        "knob": lambda: _turn_knob(command, settings, registry),
        "query_add": lambda: _add_query(command, settings, registry, schemas, functions),
        "query_pause": lambda: _pause(command, settings, registry, True),
        "query_resume": lambda: _pause(command, settings, registry, False),
        "query_remove": lambda: _remove(command, settings, registry),
        "stop": lambda: Carried(
            settings, registry, _event(command, "run", "stop requested"), stop=True
        ),
    }
    if command.kind not in handlers:
        raise Refused(f"unknown command {command.kind!r}; known: {', '.join(handlers)}")
    return handlers[command.kind]()


def answer_applied(command: Command, carried: Carried, batch: int, time: float) -> CommandAnswer:
    text = f"{carried.event.title}, from batch {batch} on"
    return CommandAnswer(command.id, "applied", batch, time, text, carried.old_value)


def answer_refused(command: Command, reason: str, time: float) -> CommandAnswer:
    return CommandAnswer(command.id, "refused", None, time, reason)


def _event(command: Command, kind: str, title: str) -> Event:
    by = f"by {command.actor}" + (f": {command.reason}" if command.reason else "")
    return Event(kind, title, by, ref={"command": command.id})


def _turn_knob(command: Command, settings: KnobSettings, registry: Registry) -> Carried:
    name, value = str(command.payload.get("knob")), command.payload.get("value")
    expected = command.expected_version
    if expected is not None and expected != settings.versions.get(name, 0):
        now = settings.values.get(name)
        raise Refused(f"{name} was changed meanwhile and is {now} now; look again, then decide")
    try:
        changed = settings.changed(name, value)
    except KnobRefused as refusal:
        raise Refused(str(refusal)) from refusal
    old = settings.values[name]
    title = f"{name} {old} → {changed.values[name]}"
    return Carried(changed, registry, _event(command, "knob", title), old)


def _add_query(
    command: Command,
    settings: KnobSettings,
    registry: Registry,
    schemas: Mapping[str, Schema],
    functions: Functions | None,
) -> Carried:
    name, text = str(command.payload.get("name")), str(command.payload.get("text"))
    if name in registry.queries:
        raise Refused(f"a query named {name!r} is registered already")
    try:
        query = parse_query(name, text, schemas, functions)
    except CqlError as error:
        raise Refused(str(error)) from error
    added = Registry({**registry.queries, name: query}, registry.paused)
    return Carried(settings, added, _event(command, "query", f"query {name} registered"))


def _known(command: Command, registry: Registry) -> str:
    name = str(command.payload.get("name"))
    if name not in registry.queries:
        raise Refused(f"no query is named {name!r}")
    return name


def _pause(command: Command, settings: KnobSettings, registry: Registry, pause: bool) -> Carried:
    name = _known(command, registry)
    word = "paused" if pause else "active"
    if (name in registry.paused) == pause:
        raise Refused(f"query {name!r} is {word} already")
    paused = registry.paused | {name} if pause else registry.paused - {name}
    title = f"query {name} {'paused' if pause else 'resumed'}"
    changed = Registry(registry.queries, frozenset(paused))
    return Carried(settings, changed, _event(command, "query", title))


def _remove(command: Command, settings: KnobSettings, registry: Registry) -> Carried:
    name = _known(command, registry)
    left = {n: q for n, q in registry.queries.items() if n != name}
    changed = Registry(left, registry.paused - {name})
    return Carried(settings, changed, _event(command, "query", f"query {name} removed"))
