"""Whether a run that was killed or ended can go on, and what it keeps.

A run goes on with a workload that reads the same inputs: then every tuple it has processed is known
by its place. Queries may have changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend.cql import CqlError
from backend.engine.control import Registry
from backend.engine.dependencies import queries_read
from backend.engine.job import RunJob
from backend.model.conditions import ContinuousQuery
from backend.model.ids import unit_entity
from backend.systems.contract import UnitState
from backend.workloads.queries import read_query
from storage.reading.resume import LastQuery, LastState
from storage.vocabulary.records import Input, Json, Run

#: In a run's settings: the names of the queries its workload file had.
QUERIES = "queries"
#: And of its stored relations a digest each.
RELATIONS = "relations"


@dataclass(frozen=True, slots=True)
class GoesOn:
    """The run goes on. registry: its queries from now on. kept: what was kept, in words."""

    registry: Registry
    kept: str


class OutOfStep(Exception):
    """A host asks for a batch that cannot follow those on record."""


def check_step(batch: int, recorded: int) -> None:
    """Whether a batch is the last one in the store, which may come again, or the next. Raises
    OutOfStep: what is done twice is in the sink twice, or replaces what is there."""
    if not recorded <= batch <= recorded + 1:
        raise OutOfStep(
            f"batch {batch} cannot follow batch {recorded}, the last one in the store; put the "
            "folder of the run back as it was, or begin another run with --fresh"
        )


def obstacle(
    run: Run, inputs: Sequence[Input], relations: Mapping[str, str] | None = None
) -> str | None:
    """Why a run cannot go on with these inputs, in one sentence; None when it can. relations:
    stored ones, by name a digest of their tuples."""
    before = {input.name: input for input in run.inputs}
    now = {input.name: input for input in inputs}
    for name in before.keys() ^ now.keys():
        return f"stream {name} is {'new' if name in now else 'gone'}"
    for name, input in now.items():
        old = before[name]
        if _attributes(old.schema) != _attributes(input.schema):
            return (
                f"the schema of stream {name} is another: {_difference(old.schema, input.schema)}"
            )
        if (difference := _other_source(old, input)) is not None:
            return f"the source of stream {name} is another: {difference}"
    return _other_relation(run.settings.get(RELATIONS, {}), relations or {})


def _other_relation(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    for name in before.keys() ^ now.keys():
        return f"the relation {name} is {'new' if name in now else 'gone'}"
    for name, digest in now.items():
        if before[name] != digest:
            return f"the tuples of relation {name} are others"
    return None


def goes_on(last: LastState, job: RunJob) -> GoesOn:
    """The queries of a run that goes on: those of the file as they are now, and those registered
    while it ran; what was removed or paused while it ran stays so."""
    # a run that was killed before its first record knows of no query, and none was removed
    of_file_then = set(last.run.settings.get(QUERIES, ())) if last.entities else set()
    known = {query.name: query for query in last.queries}
    in_file = {query.name for query in job.queries}
    queries: dict[str, ContinuousQuery] = {}
    changes: list[str] = []
    for query in job.queries:
        old = known.get(query.name)
        if old is None and query.name in of_file_then:
            changes.append(f"query {query.name} was removed while it ran and stays so")
            continue
        if old is not None and old.text != query.text:
            changes.append(f"query {query.name} reads otherwise now")
        queries[query.name] = query
    for earlier in last.queries:
        if earlier.name in of_file_then and earlier.name not in in_file:
            changes.append(f"query {earlier.name} is gone from the workload")
    others = [q for q in last.queries if q.name not in in_file and q.name not in of_file_then]
    changes += _parsed_too(others, queries, job)
    changes += _without_what_they_read(queries)
    new = [name for name in queries if name not in known]
    changes += [f"query {name} is new" for name in new]
    paused = frozenset(q.name for q in last.queries if q.paused and q.name in queries)
    kept = (
        "plans, knobs, totals, numbers of decisions and what networks have learnt are kept; "
        "profile windows fill again"
    )
    return GoesOn(Registry(queries, paused), "; ".join([kept, *changes]))


def _parsed_too(
    others: Sequence[LastQuery], readable: dict[str, ContinuousQuery], job: RunJob
) -> list[str]:
    """Put queries that were registered while the run ran beside those ``readable``, in an order in
    which each may read those before; which cannot be read any more, and why."""
    left, why = list(others), dict[str, str]()
    while left:
        why = {}
        for query in left:
            parsed = _parsed(query, readable, job)
            if isinstance(parsed, str):
                why[query.name] = parsed
            else:
                readable[query.name] = parsed
        if len(why) == len(left):
            break
        left = [query for query in left if query.name in why]
    return list(why.values())


def _parsed(
    query: LastQuery, readable: Mapping[str, ContinuousQuery], job: RunJob
) -> ContinuousQuery | str:
    try:
        known = (job.schemas, job.functions, job.stored_schemas, readable)
        return read_query(query.name, query.text, *known, query.system)
    except CqlError as error:
        return f"query {query.name} cannot be read any more: {error.sentence}"


def _without_what_they_read(readable: dict[str, ContinuousQuery]) -> list[str]:
    """Take out queries that read one that was removed; which."""
    reasons = []
    while gone := [
        query for query in readable.values() if not readable.keys() >= {*queries_read(query)}
    ]:
        for query in gone:
            del readable[query.name]
            reasons.append(f"query {query.name} reads one that is gone")
    return reasons


def _attributes(schema: Json) -> list[tuple[str, str]]:
    return [(name, type_name) for name, type_name in schema]


def _difference(before: Json, now: Json) -> str:
    changes = _changes(dict(_attributes(before)), dict(_attributes(now)))
    return changes or "its attributes have another order"


def _other_source(before: Input, now: Input) -> str | None:
    """What is another of where a stream comes from; None when nothing is."""
    old = {"timestamp": before.timestamp or "its arrival", **before.source}
    new = {"timestamp": now.timestamp or "its arrival", **now.source}
    return _changes(old, new) or None


def _changes(old: Mapping[str, Json], new: Mapping[str, Json]) -> str:
    """Each name that is gone, new, or has another value; '' when none is."""
    changes = [f"{name} is gone" for name in old if name not in new]
    changes += [f"{name} is new" for name in new if name not in old]
    changes += [
        f"{name} was {old[name]} and is {new[name]}"
        for name in old
        if name in new and old[name] != new[name]
    ]
    return ", ".join(changes)


def state_of(last: LastState | None, id: str) -> UnitState | None:
    """What a unit of a killed run goes on with; None for a new one."""
    known = None if last is None else last.unit(id)
    if known is None or known.plan is None:
        return None
    totals = last.totals if last else {}
    counted = totals.get(unit_entity(id), {}).get("decisions_total", 0)
    n_decisions = max(known.last_seq, int(counted))
    return UnitState(known.plan, n_decisions, known.state, known.first, totals, known.looks)
