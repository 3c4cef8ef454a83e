"""Whether a run that was killed or ended can go on, and what it keeps.

A run goes on with a workload that reads the same inputs: then every tuple it has processed is known
by its place. Queries may have changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backend.cql import CqlError, parse_query
from backend.engine.control import Registry
from backend.engine.job import RunJob
from backend.model.conditions import ContinuousQuery
from storage.resume import LastQuery, LastState
from storage.vocabulary.records import Input, Json

#: In a run's settings: the names of the queries its workload file had.
QUERIES = "queries"


@dataclass(frozen=True, slots=True)
class GoesOn:
    """The run goes on. registry: its queries from now on. kept: what was kept, in words."""

    registry: Registry
    kept: str


def obstacle(last: LastState, inputs: Sequence[Input]) -> str | None:
    """Why the run cannot go on with these inputs, in one sentence; None when it can."""
    before = {one.name: one for one in last.run.inputs}
    now = {one.name: one for one in inputs}
    for name in before.keys() ^ now.keys():
        return f"stream {name} is {'new' if name in now else 'gone'}"
    for name, one in now.items():
        old = before[name]
        if _attributes(old.schema) != _attributes(one.schema):
            return f"the schema of stream {name} is another: {_difference(old.schema, one.schema)}"
        if (old.timestamp, old.source) != (one.timestamp, one.source):
            return f"the source of stream {name} is another"
    return None


def goes_on(last: LastState, job: RunJob) -> GoesOn:
    """The queries of a run that goes on: those of the file as they are now, and those registered
    while it ran; what was removed or paused while it ran stays so."""
    of_file_then = set(last.run.settings.get(QUERIES, ()))
    known = {query.name: query for query in last.queries}
    in_file = {query.name for query in job.queries}
    found: dict[str, ContinuousQuery] = {}
    said: list[str] = []
    for query in job.queries:
        old = known.get(query.name)
        if old is None and query.name in of_file_then:
            said.append(f"query {query.name} was removed while it ran and stays so")
            continue
        if old is not None and old.text != query.text:
            said.append(f"query {query.name} reads otherwise now")
        found[query.name] = query
    for one in last.queries:
        if one.name in in_file:
            continue
        if one.name in of_file_then:
            said.append(f"query {one.name} is gone from the workload")
            continue
        again = _parsed(one, job)
        if isinstance(again, str):
            said.append(again)
        else:
            found[one.name] = again
    new = [name for name in found if name not in known]
    said += [f"query {name} is new" for name in new]
    paused = frozenset(q.name for q in last.queries if q.paused and q.name in found)
    kept = "plans, knobs, totals and numbers of decisions are kept; profile windows fill again"
    return GoesOn(Registry(found, paused), "; ".join([kept, *said]))


def _parsed(one: LastQuery, job: RunJob) -> ContinuousQuery | str:
    """A query that was registered while the run ran; why it cannot be any more, else."""
    try:
        return parse_query(one.name, one.text, job.schemas, job.functions)
    except CqlError as error:
        return f"query {one.name} cannot be read any more: {error.sentence}"


def _attributes(schema: Json) -> list[tuple[str, str]]:
    return [(name, type_name) for name, type_name in schema]


def _difference(before: Json, now: Json) -> str:
    old, new = dict(_attributes(before)), dict(_attributes(now))
    said = [f"{name} is gone" for name in old if name not in new]
    said += [f"{name} is new" for name in new if name not in old]
    said += [
        f"{name} was {old[name]} and is {new[name]}"
        for name in old
        if name in new and old[name] != new[name]
    ]
    return ", ".join(said) or "its attributes have another order"
