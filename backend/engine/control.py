"""Commands from the store to the engine: what operators asked for, checked and carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from backend.cql import CqlError
from backend.engine.dependencies import queries_read, readers
from backend.engine.job import RunJob
from backend.engine.knobs import INTAKE
from backend.engine.pace import Pace
from backend.engine.settings import ScopedSettings
from backend.engine.taps import Taps
from backend.model.conditions import ContinuousQuery
from backend.model.ids import source_id
from backend.model.knobs import KnobRefused
from backend.systems.contract import Refused
from backend.workloads.queries import read_query
from storage.vocabulary.kinds import EventKind
from storage.vocabulary.names import name_problem
from storage.vocabulary.records import Command, CommandAnswer, Event, Json
from storage.vocabulary.taps import TAP


@dataclass(frozen=True, slots=True)
class Registry:
    """The registered queries of a run and which of them are paused."""

    queries: Mapping[str, ContinuousQuery]
    paused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Controlled:
    """What commands change."""

    settings: ScopedSettings
    registry: Registry
    pace: Pace = field(default_factory=Pace)
    taps: Taps | None = None


@dataclass(frozen=True, slots=True)
class Carried:
    """A command carried out: the state after it, and the words for its answer and event.

    turned: scope and name of the knob, or None. also: those of another knob that was set with it,
    and its value before. query: name of the query it was about, or ''. keeps: number of the turn
    that is to stand, or None. is_quiet: its answer is all there is to tell of it.
    """

    after: Controlled
    event: Event
    old_value: Json = None
    turned: tuple[str, str] | None = None
    also: tuple[tuple[str, str], Json] | None = None
    query: str = ""
    stop: bool = False
    keeps: int | None = None
    is_quiet: bool = False


#: Commands about a query; those about several queries are carried out as one change.
_OF_QUERIES: Final = ("query_add", "query_pause", "query_resume", "query_remove")


def in_groups(commands: Iterable[Command]) -> Iterator[list[Command]]:
    """The commands in their order; those about different queries that follow each other as one."""
    group: list[Command] = []
    names: set[str] = set()
    for command in commands:
        name = str(command.payload.get("name")) if command.kind in _OF_QUERIES else ""
        if group and (not names or not name or name in names):
            yield group
            group, names = [], set()
        group.append(command)
        names |= {name} - {""}
    if group:
        yield group


def carry_out_all(
    commands: Iterable[Command], now: Controlled, job: RunJob, is_in_batch: bool = False
) -> list[Carried]:
    """Carry out one after another; the last has the state after all, those before it that of now.
    Raises as carry_out()."""
    changes: list[Carried] = []
    for command in commands:
        carried = carry_out(command, changes[-1].after if changes else now, job, is_in_batch)
        changes[-1:] = [replace(last, after=now) for last in changes[-1:]]  # ten thousand are large
        changes.append(carried)
    return changes


def carry_out(command: Command, now: Controlled, job: RunJob, is_in_batch: bool = False) -> Carried:
    """The state after ``command``. Raises Refused; nothing is changed in place."""
    handlers: dict[str, Callable[[], Carried]] = {
        "knob": lambda: _turn_knob(command, now),
        "keep": lambda: _keep(command, now),
        "query_add": lambda: _add_query(command, now, job),
        "query_pause": lambda: _pause(command, now, True),
        "query_resume": lambda: _pause(command, now, False),
        "query_remove": lambda: _remove(command, now),
        "hold": lambda: _paced(command, now, now.pace.hold(_why_held(command)), "the run paused"),
        "go_on": lambda: _paced(command, now, now.pace.go_on(), "the run resumed"),
        "step": lambda: _step(command, now, job, is_in_batch),
        "branch": lambda: _branch(command, now, job),
        TAP: lambda: _tap(command, now),
        "stop": lambda: Carried(now, _event(command, "run", "stop requested"), stop=True),
    }
    if command.kind not in handlers:
        raise Refused(f"unknown command {command.kind!r}; known: {', '.join(handlers)}")
    return handlers[command.kind]()


def _branch(command: Command, now: Controlled, job: RunJob) -> Carried:
    if job.branches is None:
        raise Refused("this run has no branches computed; 'run.py branch' does it from a terminal")
    asked = command.payload
    run, at, knob = str(asked.get("run")), asked.get("at"), str(asked.get("knob"))
    if not isinstance(at, int) or isinstance(at, bool):
        raise Refused(f"at = {at!r} is no batch to branch from")
    job.branches.begin(run, at, knob, asked.get("value"), str(asked.get("scope") or ""))
    title = f"a branch of {run} at batch {at} with {knob} = {asked.get('value')} is begun"
    return Carried(now, _event(command, "run", title))


def _tap(command: Command, now: Controlled) -> Carried:
    entity, batches = command.payload.get("entity"), command.payload.get("batches")
    if now.taps is None:
        raise Refused("nothing of this run can be tapped")
    now.taps.ask(entity, batches)
    title = f"{entity} is tapped for {batches} batches"
    return Carried(now, _event(command, "run", title), is_quiet=True)


def answer_applied(command: Command, carried: Carried, batch: int, time: float) -> CommandAnswer:
    """It is in force from the batch on."""
    text = f"{carried.event.title}, from batch {batch} on"
    return CommandAnswer(command.id, "applied", batch, time, text, carried.old_value)


def answer_refused(command: Command, reason: str, time: float) -> CommandAnswer:
    """It is not done, and why."""
    return CommandAnswer(command.id, "refused", None, time, reason)


def _event(command: Command, kind: EventKind, title: str) -> Event:
    by = f"by {command.actor}" + (f": {command.reason}" if command.reason else "")
    return Event(kind, title, by, ref={"command": command.id})


def _paced(command: Command, now: Controlled, pace: Pace, title: str) -> Carried:
    return Carried(replace(now, pace=pace), _event(command, "run", title))


def _why_held(command: Command) -> str:
    return f"by {command.actor}" + (f": {command.reason}" if command.reason else "")


def _step(command: Command, now: Controlled, job: RunJob, is_in_batch: bool) -> Carried:
    of = command.payload.get("of", "batch")
    if of not in job.steps:
        raise Refused(f"no step is one {of!r} here; it is one {' or one '.join(job.steps)}")
    return _paced(command, now, now.pace.step(of, is_in_batch), f"a step of one {of}")


def _turn_knob(command: Command, now: Controlled) -> Carried:
    name, value = str(command.payload.get("knob")), command.payload.get("value")
    scope = now.settings.scope_of(name, command.payload.get("scope"))
    settings = now.settings.scopes[scope]
    old, expected = settings.values[name], command.expected_version
    if expected is not None and expected != settings.versions.get(name, 0):
        raise Refused(f"{name} was changed meanwhile and is {old} now; look again, then decide")
    try:
        changed = now.settings.changed(scope, name, value)
    except KnobRefused as refusal:
        raise Refused(str(refusal)) from refusal
    if name == INTAKE.name:
        check_intake(changed, now.registry.queries.values())
    title = f"{name} {old} → {changed.scopes[scope].values[name]}"
    other, wanted = settings.specs[name].sets or ("", None)
    also = None
    if other in settings.specs and settings.values[other] != wanted:
        changed = changed.changed(scope, other, wanted)
        title += f"; {other} {settings.values[other]} → {wanted}"
        also = (scope, other), settings.values[other]
    event = _event(command, "knob", title)
    if also is not None:
        ref = {**event.ref, "also": {"knob": other, "scope": scope, "old": also[1]}}
        event = replace(event, ref=ref)
    return Carried(replace(now, settings=changed), event, old, (scope, name), also)


def _keep(command: Command, now: Controlled) -> Carried:
    number = command.payload.get("command")
    if not isinstance(number, int):
        raise Refused("a keep names the change to keep: {command: its number}")
    return Carried(now, _event(command, "knob", f"turn #{number} kept"), keeps=number)


def _add_query(command: Command, now: Controlled, job: RunJob) -> Carried:
    name, text = str(command.payload.get("name")), str(command.payload.get("text"))
    registry = now.registry
    problem = name_problem(name)
    if problem is not None:
        raise Refused(f"query {name!r} {problem}")
    if name in registry.queries:
        raise Refused(f"a query named {name!r} is registered already")
    twin = next((known for known in registry.queries if known.lower() == name.lower()), None)
    if twin is not None:  # folders of answers are one where a file system does not tell case
        raise Refused(f"{name!r} and the registered query {twin!r} differ only by case")
    try:
        known = (job.schemas, job.functions, job.stored_schemas, registry.queries)
        query = read_query(name, text, *known, str(command.payload.get("system") or ""))
    except CqlError as error:
        raise Refused(str(error)) from error
    check_intake(now.settings, [query])
    _check_running(name, queries_read(query), registry.paused)
    added = Registry({**registry.queries, name: query}, registry.paused)
    return _changed(command, now, added, name, "registered")


def check_intake(settings: ScopedSettings, queries: Iterable[ContinuousQuery]) -> None:
    """Raises Refused for a query that reads a stream which is removed."""
    for query in queries:
        for stream in query.reads:
            own = settings.scopes.get(source_id(stream))
            if own is not None and own.values.get(INTAKE.name) == "removed":
                raise Refused(
                    f"query {query.name!r} reads {stream}, and cannot be removed while it is "
                    "read: remove the query, or set the stream's intake to on"
                )


def _known(command: Command, registry: Registry) -> str:
    name = str(command.payload.get("name"))
    if name not in registry.queries:
        raise Refused(f"no query is named {name!r}")
    return name


def _check_unread(name: str, queries: Iterable[ContinuousQuery]) -> None:
    """Raises Refused for a query that one of some queries reads."""
    others = readers(name, queries)
    if others:
        names = ", ".join(repr(other) for other in others)
        raise Refused(f"{names} read{'s' * (len(others) == 1)} what query {name!r} answers")


def _check_running(name: str, read: Iterable[str], paused: frozenset[str]) -> None:
    for query in read:
        if query in paused:
            raise Refused(f"query {name!r} reads {query!r}, which is paused")


def _pause(command: Command, now: Controlled, pause: bool) -> Carried:
    registry = now.registry
    name = _known(command, registry)
    if (name in registry.paused) == pause:
        raise Refused(f"query {name!r} is {'paused' if pause else 'active'} already")
    if pause:
        active = [q for n, q in registry.queries.items() if n not in registry.paused]
        _check_unread(name, active)
    else:
        _check_running(name, queries_read(registry.queries[name]), registry.paused)
    paused = registry.paused | {name} if pause else registry.paused - {name}
    changed = Registry(registry.queries, frozenset(paused))
    return _changed(command, now, changed, name, "paused" if pause else "resumed")


def _remove(command: Command, now: Controlled) -> Carried:
    name = _known(command, now.registry)
    _check_unread(name, now.registry.queries.values())
    left = dict(now.registry.queries)
    del left[name]
    changed = Registry(left, now.registry.paused - {name})
    return _changed(command, now, changed, name, "removed")


def _changed(
    command: Command, now: Controlled, registry: Registry, name: str, done: str
) -> Carried:
    event = _event(command, "query", f"query {name} {done}")
    return Carried(replace(now, registry=registry), event, query=name)
