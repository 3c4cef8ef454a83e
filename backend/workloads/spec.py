"""A workload is one TOML file: streams, queries, knobs and a sink. See docs/workloads.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from backend.cql import CqlError
from backend.cql.errors import did_you_mean, listed
from backend.model.conditions import ContinuousQuery, WindowMember
from backend.model.functions import Functions
from backend.model.knobs import KnobRefused, KnobSpec
from backend.model.schema import Schema, SchemaError
from backend.workloads.built_in import BUILT_IN, built_in_schema, check_options
from backend.workloads.declared import constrained, keyed
from backend.workloads.files import FILE_FORMATS, beside, check_first_file, existing_path
from backend.workloads.functions import FunctionError
from backend.workloads.loading import load_functions
from backend.workloads.queries import query_asked, read_query
from backend.workloads.shipped import shipped_workloads
from backend.workloads.sysstream import SYS_STREAMS
from backend.workloads.tables import (
    TomlTable,
    WorkloadError,
    check_name,
    kind_of,
    read_toml,
    workload_about,
    workload_name,
)
from backend.workloads.ticks import (
    ANY_LEAP,
    DEFAULT_TICK_US,
    disorder_ticks,
    idle_after_s,
    leap_ticks,
    replay_rate,
    tick_us,
    timestamp_attribute,
    usual_leap,
)
from backend.workloads.valid_times import OF_VALID_TIMES, dated

__all__ = [
    "BUILT_IN",
    "SinkSpec",
    "SourceSpec",
    "StreamSpec",
    "Workload",
    "WorkloadError",
    "load_workload",
    "shipped_workloads",
]

#: Told how many of how many queries are done.
Progress = Callable[[int, int], None]
RESERVED: Final = frozenset({"query_ids"})
#: What a file may hold.
DOCUMENT: Final = (
    *("name", "about", "durable", "functions", "streams", "relations", "queries", "constraints"),
    *("knobs", "sink"),
)
#: Keys of a stream that has a timestamp.
OF_TIME: Final = ("tick", "disorder", "max_leap")
SINK_FORMATS: Final = ("parquet", "json", "csv")
#: Files a relation can be read from; and any built-in source that ends.
STORED_FORMATS: Final = ("csv", "json", "parquet")


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where a stream comes from: a Spark source format, or one of BUILT_IN.

    options: as Spark takes them, all strings (lists and tables as JSON). rows: for 'memory', each a
    list in schema order or a table by attribute, as TOML has them; None otherwise.
    """

    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """A stream: its schema contract and source.

    timestamp: the attribute that carries event time, or None for the arrival number. rate: tuples
    per second, 0 as fast as possible, None when the file does not say. tick_us: microseconds of a
    tick, where the timestamp is a time; disorder: ticks by which a tuple may be older than one
    before; max_leap: ticks by which it may be ahead of all before. idle_after: seconds for which
    queries wait for it while it is silent, None: for ever.
    """

    name: str
    schema: Schema
    source: SourceSpec
    timestamp: str | None = None
    rate: float | None = None
    tick_us: int = DEFAULT_TICK_US
    disorder: int = 0
    max_leap: int = ANY_LEAP
    idle_after: float | None = None


@dataclass(frozen=True, slots=True)
class RelationSpec:
    """A stored relation: its schema contract and where its tuples are."""

    name: str
    schema: Schema
    source: SourceSpec


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """Where matched tuples go; path None: the engine chooses. format: parquet, json or csv.
    compact: small files are merged. durable: what is published survives a power cut. accuracy:
    elements of queries say how accurate the answer is."""

    path: str | None = None
    format: str = "parquet"
    compact: bool = True
    durable: bool = False
    accuracy: bool = False


@dataclass(frozen=True, slots=True)
class Workload:
    """Everything one workload file says. knobs: overrides already laid over the file's. functions:
    those queries may call; relations: stored ones, which they may read. about: what the queries are
    about, in a sentence for people."""

    name: str
    path: Path
    streams: tuple[StreamSpec, ...]
    queries: tuple[ContinuousQuery, ...]
    knobs: Mapping[str, Any]
    sink: SinkSpec
    functions: Functions = field(default_factory=Functions)
    relations: tuple[RelationSpec, ...] = ()
    about: str = ""

    @property
    def schemas(self) -> dict[str, Schema]:
        """Stream name -> schema, as parse_query takes them."""
        return {stream.name: stream.schema for stream in self.streams}


def load_workload(
    path: Path | str,
    overrides: Mapping[str, object] | None = None,
    knob_specs: Iterable[KnobSpec] = (),
    progress: Progress | None = None,
) -> Workload:
    """Read a workload file; ``overrides`` are knob values laid over its [knobs].

    knob_specs: when given, knob names and values are checked against them (their defaults are not
    added). progress: told (n, total) for every query read. Raises WorkloadError: one sentence with
    the file.
    """
    path = Path(path)
    document = TomlTable(path, "", read_toml(path))
    document.only(DOCUMENT, "table or key")
    name = workload_name(document)
    streams = _streams(document.table("streams"))
    relations = _relations(document.table("relations"), streams)
    functions = _functions(document)
    queries = _queries(document.table("queries"), streams, relations, functions, progress)
    return Workload(
        name=name,
        path=path,
        streams=streams,
        queries=constrained(
            document,
            queries,
            {stream.name: stream.schema for stream in streams},
            [relation.name for relation in relations],
        ),
        knobs=_knobs(document.table("knobs"), overrides or {}, tuple(knob_specs)),
        sink=replace(_sink(document.table("sink")), durable=_flag(document, "durable", False)),
        functions=functions,
        relations=relations,
        about=workload_about(document),
    )


def _functions(document: TomlTable) -> Functions:
    try:
        return load_functions(document.texts("functions"), document.path)
    except FunctionError as error:
        raise document.refuse(f"functions: {error}") from error


def _streams(table: TomlTable) -> tuple[StreamSpec, ...]:
    if not table.values:
        raise WorkloadError(
            table.path, "there is no [streams.NAME] table; a workload needs a stream"
        )
    seen: dict[str, str] = {}
    for name, value in table.values.items():
        if not isinstance(value, dict):
            raise table.refuse(f"{name} must be a table [streams.{name}], not {kind_of(value)}")
        check_name(table, "stream", name)
        if name.lower() in map(str.lower, SYS_STREAMS):
            raise table.refuse(f"{name!r} is a stream every run has of itself, not another")
        twin = seen.setdefault(name.lower(), name)
        if twin != name:
            message = f"two streams are called {twin!r} and {name!r}, which differ only by case"
            raise WorkloadError(table.path, message)
    return tuple(_stream(name, table.table(name, f"[streams.{name}]")) for name in table.values)


def _stream(name: str, table: TomlTable) -> StreamSpec:
    of_all = ("schema", "key", "source", "timestamp", "rate", "idle_after")
    table.only((*of_all, *OF_VALID_TIMES, *OF_TIME))
    schema, source = _sourced(table)
    timestamp = timestamp_attribute(table, schema)
    schema = dated(table, schema, timestamp)
    if timestamp is None and not set(OF_TIME).isdisjoint(table.values):
        keys = listed(OF_TIME, "and")
        raise table.refuse(f"has no timestamp, so tuples are in order: leave out {keys}")
    ticks, disorder = tick_us(table), disorder_ticks(table)
    leap = leap_ticks(table, usual_leap(schema, timestamp, ticks), disorder)
    times = ticks, disorder, leap, idle_after_s(table)
    return StreamSpec(name, schema, source, timestamp, replay_rate(table), *times)


def _sourced(table: TomlTable) -> tuple[Schema, SourceSpec]:
    """Schema and source of a stream or relation."""
    if "source" not in table.values:
        raise table.refuse('has no source; write source = { format = "csv", path = "…" }')
    source_table = table.table("source", f"{table.where} source")
    source = _source(source_table)
    schema = keyed(table, _schema(table, source))
    check_first_file(source_table, source.format, source.options, schema)
    return schema, source


def _relations(table: TomlTable, streams: Iterable[StreamSpec]) -> tuple[RelationSpec, ...]:
    taken = {stream.name.lower(): f"stream {stream.name!r}" for stream in streams}
    relations = []
    for name, value in table.values.items():
        if not isinstance(value, dict):
            raise table.refuse(f"{name} must be a table [relations.{name}], not {kind_of(value)}")
        check_name(table, "relation", name)
        twin = taken.setdefault(name.lower(), f"relation {name!r}")
        if twin != f"relation {name!r}":
            raise WorkloadError(table.path, f"a relation is called {name!r}, and so is the {twin}")
        own = table.table(name, f"[relations.{name}]")
        own.only(("schema", "key", "source"))
        schema, source = _sourced(own)
        if source.format not in (*BUILT_IN, *STORED_FORMATS):
            allowed = listed((*STORED_FORMATS, *BUILT_IN), "and")
            message = f"format {source.format!r} is none a relation is read from; {allowed} are"
            raise own.refuse(message)
        relations.append(RelationSpec(name, schema, source))
    return tuple(relations)


def _schema(table: TomlTable, source: SourceSpec) -> Schema:
    text = table.text("schema")
    built_in = built_in_schema(source.format, source.options)
    if text is None and built_in is not None:
        return built_in
    if text is None:
        raise table.refuse('has no schema; write schema = "a int, b string"')
    try:
        schema = Schema.parse(text)
    except SchemaError as error:
        raise table.refuse(f"schema: {error}") from error
    for name in schema.names:
        if name.startswith("_") or name.lower() in RESERVED:
            reserved = "names that begin with _, and " + listed(sorted(RESERVED), "and")
            message = f"{name!r} is reserved; {reserved}, are the system's own columns"
            raise table.refuse(f"schema: {message}")
    for attribute in schema.attributes if built_in is not None else ():
        known = built_in.find(attribute.name) if built_in is not None else None
        if known is None:
            hint = did_you_mean(attribute.name, built_in.names if built_in else ())
            raise table.refuse(f"schema: {source.format} has no column {attribute.name!r}{hint}")
        if known != attribute:
            raise table.refuse(f"schema: {attribute.name!r} must read '{known.name} {known.type}'")
    return schema


def _source(table: TomlTable) -> SourceSpec:
    format_name = table.text("format")
    if format_name is None:
        raise table.refuse('has no format; write format = "csv", or another Spark source')
    format_name = format_name.strip().lower() if "." not in format_name else format_name.strip()
    rows = table.rows("rows") if format_name == "memory" else None
    of_format = {"format"} if rows is None else {"format", "rows"}
    if format_name in BUILT_IN:
        allowed = ("format", *BUILT_IN[format_name], *(("rows",) if rows is not None else ()))
        table.only(allowed)
    options = {key: table.option(key) for key in table.values if key not in of_format}
    if format_name in BUILT_IN:
        check_options(table, format_name, options)
    if format_name in FILE_FORMATS or (format_name in BUILT_IN and "path" in options):
        options["path"] = existing_path(table)
    return SourceSpec(format_name, options, rows)


def _queries(
    table: TomlTable,
    streams: tuple[StreamSpec, ...],
    relations: tuple[RelationSpec, ...],
    functions: Functions,
    progress: Progress | None,
) -> tuple[ContinuousQuery, ...]:
    """In the order of the file; each may read what those above it answer."""
    by_name = {stream.name: stream for stream in streams}
    schemas = {name: stream.schema for name, stream in by_name.items()}
    stored = {relation.name: relation.schema for relation in relations}
    queries: dict[str, ContinuousQuery] = {}
    seen: dict[str, str] = {}
    for n, name in enumerate(table.values, start=1):
        check_name(table, "query", name)
        if (twin := seen.setdefault(name.lower(), name)) != name:
            message = f"two queries are called {twin!r} and {name!r}, which differ only by case"
            raise WorkloadError(table.path, message)
        text, system = query_asked(table, name)
        try:
            query = read_query(name, text, schemas, functions, stored, queries, system)
        except CqlError as error:
            raise WorkloadError(table.path, f"query {name!r}, {error.sentence}") from error
        _check_windows(table, query, by_name)
        queries[name] = query
        if progress:
            progress(n, len(table.values))
    return tuple(queries.values())


def _check_windows(
    table: TomlTable, query: ContinuousQuery, streams: Mapping[str, StreamSpec]
) -> None:
    """A window of another stream is looked into by arrival number, so both must be replayed."""
    for member in query.filters:
        read = (query.stream, member.stream) if isinstance(member, WindowMember) else ()
        for stream in map(streams.__getitem__, read):
            if stream.source.format not in BUILT_IN and stream.rate is None:
                message = "needs a built-in source or a rate: windows go by arrival number"
                raise table.refuse(f"query {query.name!r}: stream {stream.name} {message}")
            if stream.timestamp is not None:
                message = "has a timestamp; windows go by arrival number, leave it out"
                raise table.refuse(f"query {query.name!r}: stream {stream.name} {message}")


def _knobs(
    table: TomlTable, overrides: Mapping[str, object], specs: tuple[KnobSpec, ...]
) -> dict[str, Any]:
    for name, value in table.values.items():
        if not isinstance(value, str | int | float | bool):
            raise table.refuse(
                f"{name} must be a number, a word or true/false, not {kind_of(value)}"
            )
    values = {**table.values, **overrides}
    known = {spec.name: spec for spec in specs}
    return {key: _checked(table, key, value, known) for key, value in values.items()}


def _checked(table: TomlTable, key: str, value: object, known: Mapping[str, KnobSpec]) -> object:
    """The value of a knob, NAME or SCOPE/NAME, as its type takes it."""
    name = key.rpartition("/")[2]
    if not known:
        return value
    if name not in known:
        hint = did_you_mean(name, known) or f"; knobs are {listed(sorted(known), 'and')}"
        raise table.refuse(f"has an unknown knob {key!r}{hint}")
    try:
        return known[name].check(value)
    except KnobRefused as error:
        raise table.refuse(str(error)) from error


def _flag(table: TomlTable, key: str, default: bool) -> bool:
    value = table.values.get(key, default)
    if not isinstance(value, bool):
        raise table.refuse(f"{key} must be true or false, not {kind_of(value)}")
    return value


def _sink(table: TomlTable) -> SinkSpec:
    table.only(("path", "format", "compact", "accuracy"))
    format_name = (table.text("format") or "parquet").lower()
    if format_name not in SINK_FORMATS:
        hint = (
            did_you_mean(format_name, SINK_FORMATS) or f"; allowed: {listed(SINK_FORMATS, 'and')}"
        )
        raise table.refuse(f"format {format_name!r} is unknown{hint}")
    path = table.path_text("path")
    return SinkSpec(
        None if path is None else beside(table.path, path),
        format_name,
        _flag(table, "compact", True),
        accuracy=_flag(table, "accuracy", False),
    )
