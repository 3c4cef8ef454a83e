"""What the Results page shows: matches per query, its last tuples, misfits, pending requests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from storage.tables.rows import StoredMisfit, StoredResult
from storage.vocabulary.records import SIGN, TAU, Command, Entity, Run

Values: TypeAlias = Mapping[str, Mapping[str, float | None]]

#: Queries listed at once.
MOST_LISTED: Final = 200
#: Of more queries not all have their matches of a batch recorded.
ALL_RECORDED: Final = 500
_NUMBERS: Final = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double"})
_LONGEST_NUMBER: Final = 12
_TIMESTAMP: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(\.\d+)?)(\+00:00|Z)?")
_VERBS: Final = {
    "query_add": "register",
    "query_pause": "pause",
    "query_resume": "resume",
    "query_remove": "remove",
}


class QueryRow(NamedTuple):
    """One query. share: matched / all tuples so far. in_batch: matches in the batch shown.

    attributes, filters: (entity, name) of the constructs it visits, of its filters. unit: title of
    the unit that runs it, '' where a run has only one.

    answers: 'a stream' or 'a relation' of elements with signs, '' for a query that selects tuples;
    size: of the relation; output: its node in the plan, and unit_id: the unit of that.

    pending: the request under way for it, '' when there is none. is_inexact: its answers may
    differ from those of its text. waits: for which stream it waits and since when, '' while it
    does not; since: the batch from which on it answers, with windows that were empty then.
    intervals: columns of its answer that are estimates, with the ends of a 95 % interval behind.
    """

    entity: str
    name: str
    text: str
    state: str
    duplicate_of: str
    attributes: tuple[tuple[str, str], ...]
    total: float | None
    share: float | None
    in_batch: float | None
    pending: str
    filters: tuple[tuple[str, str], ...] = ()
    unit: str = ""
    answers: str = ""
    size: float | None = None
    output: str = ""
    unit_id: str = ""
    is_inexact: bool = False
    waits: str = ""
    since: int = 0
    intervals: tuple[str, ...] = ()


class RequestRow(NamedTuple):
    """One request about queries: what was asked, and what the engine said."""

    id: int
    verb: str
    name: str
    text: str
    state: str
    requested_at: float
    applied_batch: int | None
    answer: str
    line: int | None
    column: int | None


class TuplesView(NamedTuple):
    """The last tuples of a query, newest first, as text (None = NULL).

    numeric: which columns hold numbers. batches: of each tuple. also: the other queries each
    satisfies. signs, taus: of elements of an answer, [] for tuples that were selected.
    """

    query: str
    columns: list[str]
    numeric: list[bool]
    rows: list[list[str | None]]
    batches: list[int]
    also: list[list[str]]
    signs: list[int]
    taus: list[int]


class ResultsView(NamedTuple):
    """Everything but the selected query's tuples. most: the largest total, for the bars."""

    queries: list[QueryRow]
    most: float
    n_tuples: float | None
    n_misfits: float | None
    misfits: list[StoredMisfit]
    requests: list[RequestRow]
    sink: str
    streams: tuple[str, ...] = ()


def build_results(
    entities: Collection[Entity],
    values: Values,
    commands: Sequence[Command],
    misfits: Sequence[StoredMisfit],
    run: Run,
    batch: int | None,
    title: Callable[[str], str] = str,
) -> ResultsView:
    """The page at a batch. title: of a unit.

    values: as of that batch; requests and misfits: newest first.
    """
    requests = [request_of(command) for command in commands if command.kind in _VERBS]
    requests.sort(key=lambda request: request.id, reverse=True)
    pending = {r.name: r.verb for r in reversed(requests) if r.state == "requested"}
    system = values.get("system", {})
    n_tuples = system.get("tuples_total")
    steps = {(e.role, e.name): e.id for e in entities}
    living = [entity for entity in entities if entity.kind == "query" and _lives(entity, batch)]
    absent = 0.0 if len(living) <= ALL_RECORDED else None
    rows = [
        _query_row(entity, values.get(entity.id, {}), n_tuples, pending, absent, steps, title)
        for entity in living
    ]
    rows = _placed(rows, living, entities)
    rows.sort(key=lambda row: (-(row.total or 0), row.name))
    return ResultsView(
        queries=rows,
        most=max((row.total or 0 for row in rows), default=0),
        n_tuples=n_tuples,
        n_misfits=system.get("misfits_total"),
        misfits=list(misfits),
        requests=requests,
        sink=sink_words(run.settings),
        streams=tuple(input.name for input in run.inputs),
    )


def _placed(
    rows: Sequence[QueryRow], living: Sequence[Entity], entities: Collection[Entity]
) -> list[QueryRow]:
    """The rows of queries with their units and output operators."""
    outputs = {(e.unit_id, e.query): e.id for e in entities if e.role == "output" and e.query}
    return [
        row._replace(output=outputs.get((entity.unit_id, entity.name), ""), unit_id=entity.unit_id)
        for row, entity in zip(rows, living, strict=True)
    ]


def listed(view: ResultsView, words: str, chosen: str | None) -> tuple[list[QueryRow], int]:
    """The rows to list, most matches first, and how many there are to choose from.

    words: all of them must be in the name or the text, without regard to case. At most MOST_LISTED
    rows, among them the chosen query whatever its place.
    """
    wanted = words.lower().split()
    matching = [row for row in view.queries if _has(row, wanted)] if wanted else view.queries
    rows = list(matching[:MOST_LISTED])
    rows += [row for row in matching[MOST_LISTED:] if row.name == chosen]
    return rows, len(matching)


def _has(row: QueryRow, words: Sequence[str]) -> bool:
    text = f"{row.name} {row.text}".lower()
    return all(word in text for word in words)


def build_tuples(
    query: str, results: Sequence[StoredResult], schema: Sequence[Sequence[str]]
) -> TuplesView:
    """The query's tuples in schema order. results: newest first; other queries' drop out, and those
    of another query that had its name: elements of answers beside tuples that were selected."""
    mine = [result for result in results if query in result.query_ids]
    signed = bool(mine) and SIGN in mine[0].values
    mine = [result for result in mine if (SIGN in result.values) == signed]
    types = {} if signed else {str(name): str(kind) for name, kind in schema or ()}
    known = [*types, SIGN, TAU]
    extra = {key: None for result in mine for key in result.values if key not in known}
    columns = [*types, *extra]
    return TuplesView(
        query=query,
        columns=columns,
        numeric=[
            types.get(column, "") in _NUMBERS or (signed and _all_numbers(column, mine))
            for column in columns
        ],
        rows=[[cell_text(result.values.get(column)) for column in columns] for result in mine],
        batches=[result.batch for result in mine],
        also=[[name for name in result.query_ids if name != query] for result in mine],
        signs=[whole_of(result, SIGN) for result in mine] if signed else [],
        taus=[whole_of(result, TAU) for result in mine] if signed else [],
    )


def whole_of(result: StoredResult, name: str) -> int:
    """The sign or the timestamp of an element of an answer."""
    value = result.values[name]
    return value if isinstance(value, int) else 0


def _all_numbers(column: str, results: Sequence[StoredResult]) -> bool:
    values = [result.values.get(column) for result in results]
    numbers = [value for value in values if type(value) in (int, float)]
    return bool(numbers) and len(numbers) == sum(value is not None for value in values)


def pick(view: ResultsView, wanted: str | None, other: bool = True) -> str | None:
    """The query to show: the wanted one (name or entity id), else the one with most matches.

    other: what is wanted is something else than a query. Where it may be one that does not exist at
    this moment, None: its buttons must not act on another.
    """
    named = {row.entity: row.name for row in view.queries} | {r.name: r.name for r in view.queries}
    if wanted in named:
        return named[wanted]
    return view.queries[0].name if view.queries and (other or not wanted) else None


def sink_words(settings: Any) -> str:
    """Where the matched tuples go, from the run's settings; '' when not recorded."""
    sink = settings.get("sink") if isinstance(settings, dict) else None
    if isinstance(sink, dict):
        path, form = str(sink.get("path") or ""), str(sink.get("format") or "")
        return f"{path} ({form})" if path and form else path or form
    return str(sink or "")


def request_of(command: Command) -> RequestRow:
    """A request about a query, with the place of an error when its answer names one."""
    payload = command.payload if isinstance(command.payload, dict) else {}
    line, column = error_place(command.answer) if command.state == "refused" else (None, None)
    return RequestRow(
        id=command.id,
        verb=_VERBS.get(command.kind, command.kind),
        name=str(payload.get("name", "")),
        text=str(payload.get("text", "")),
        state=command.state,
        requested_at=command.requested_at,
        applied_batch=command.applied_batch,
        answer=command.answer,
        line=line,
        column=column,
    )


def error_place(answer: str) -> tuple[int | None, int | None]:
    """Line and column named in an engine's answer ('line 2, column 7: …'); (None, None) if none."""
    words = answer.replace(",", " ").replace(":", " ").lower().split()
    return (_number_after(words, "line"), _number_after(words, "column"))


def cell_text(value: Any) -> str | None:
    """A tuple's value as text; NULL stays None. Timestamps lose their T and their UTC zone; what
    a division left has ten significant digits."""
    if isinstance(value, str):
        stamp = _TIMESTAMP.fullmatch(value)
        return f"{stamp[1]} {stamp[2]}" if stamp else value
    if value is None:
        return None
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and len(str(value)) > _LONGEST_NUMBER:
        return f"{value:.10g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _query_row(
    entity: Entity,
    counts: Mapping[str, float | None],
    n_tuples: float | None,
    pending: Mapping[str, str],
    absent: float | None,
    steps: Mapping[tuple[str, str], str],
    title: Callable[[str], str],
) -> QueryRow:
    """absent: what a batch without matches of the query says of them; None: nothing. steps: (role,
    name) -> entity."""
    properties = entity.properties or {}
    total = counts.get("matched_total", 0.0) if n_tuples is not None else None
    answers = str(properties.get("answers") or "")
    return QueryRow(
        entity=entity.id,
        name=entity.name,
        text=str(properties.get("text", "")),
        state=str(properties.get("state", "active")),
        duplicate_of=str(properties.get("duplicate_of") or ""),
        attributes=_visited(properties.get("attributes"), "selection", steps),
        total=total,
        share=total / n_tuples if total is not None and n_tuples and not answers else None,
        in_batch=counts.get("matched_tuples", absent) if n_tuples is not None else None,
        pending=pending.get(entity.name, ""),
        filters=_visited(properties.get("filters"), "filter", steps),
        unit=title(entity.unit_id),
        answers=answers,
        is_inexact=bool(counts.get("inexact")),
        size=counts.get("relation_tuples"),
        waits=_waits(properties),
        since=int(properties.get("registered_at") or 0),
        intervals=tuple(map(str, properties.get("intervals") or ())),
    )


def _waits(properties: Mapping[str, Any]) -> str:
    streams = [str(stream) for stream in properties.get("waits_for") or ()]
    since = properties.get("waits_since")
    return f"waits for {' and '.join(streams)} since batch {since}" if streams else ""


def _visited(
    names: Any, role: str, steps: Mapping[tuple[str, str], str]
) -> tuple[tuple[str, str], ...]:
    """(entity, name) of the steps with these names, as far as there are such steps."""
    return tuple((steps[role, str(n)], str(n)) for n in names or () if (role, str(n)) in steps)


def _lives(entity: Entity, batch: int | None) -> bool:
    if batch is None:
        return entity.removed_batch is None
    gone = entity.removed_batch is not None and entity.removed_batch <= batch
    return entity.since_batch <= batch and not gone


def _number_after(words: Sequence[str], word: str) -> int | None:
    for here, following in pairwise(words):
        if here == word and following.isdigit():
            return int(following)
    return None
