"""Replay sources: streams whose tuples are made or held in Python, addressed by position."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa

from backend.model.schema import Schema
from backend.workloads.adhering import AdheringSource
from backend.workloads.built_in import BUILT_IN, DEFAULT_SEED
from backend.workloads.clique import CliqueSource
from backend.workloads.contract import CORRUPT, arrow_schema, fit_rows, fit_table
from backend.workloads.correlated import (
    DEFAULT_TUPLES as CORRELATED_TUPLES,
)
from backend.workloads.correlated import (
    CorrelatedSource,
    selectivities_from_json,
)
from backend.workloads.drift import DRIFT_SCHEMA, Phase, drift_table, phases_from_json
from backend.workloads.file_source import RETAKE, FileSource, reader_of
from backend.workloads.flights import FLIGHTS_SCHEMA, flights_table
from backend.workloads.intervals import IntervalSource
from backend.workloads.keyed import KeyedSource
from backend.workloads.linear_road import (
    DEFAULT_TUPLES as CAR_TUPLES,
)
from backend.workloads.linear_road import (
    CarSource,
    accidents_from_text,
)
from backend.workloads.links import LinkSource
from backend.workloads.new_york import NEW_YORK, new_york_table
from backend.workloads.packets import (
    DEFAULT_TUPLES as PACKET_TUPLES,
)
from backend.workloads.packets import (
    PacketSource,
    SuspectSource,
    attacks_from_json,
)
from backend.workloads.sensors import SensorSource, motes_of, sensor_readings
from backend.workloads.spec import SourceSpec, StreamSpec
from storage.vocabulary.names import in_folder

__all__ = [
    "ArrowTableSource",
    "DriftSource",
    "FlightsSource",
    "MemorySource",
    "ReplaySource",
    "in_memory",
    "is_replayed",
    "open_source",
]


#: Tuples of files that are taken into memory together.
READ_TUPLES: Final = 1_000_000


class ReplaySource(Protocol):
    """A stream that can be cut anywhere: the same position always gives the same tuple."""

    @property
    def schema(self) -> Schema:
        """The attributes of its tuples."""

    @property
    def n_tuples(self) -> int | None:
        """How many tuples there are; None: there is no end."""

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1``, fewer at the end.

        Columns: the schema's, then ``_corrupt_record`` (the raw text of a misfit, else NULL) and,
        where sources know it, ``_misfit``, why it is one.
        """


class ArrowTableSource:
    """Any Arrow table, fitted to a schema. Raises MisfitError when it lacks one of the columns."""

    def __init__(self, table: pa.Table, schema: Schema) -> None:
        self.schema = schema
        self._table = fit_table(table, schema).combine_chunks()

    @property
    def n_tuples(self) -> int:
        """Rows of the table."""
        return int(self._table.num_rows)

    def slice(self, start: int, count: int) -> pa.Table:
        """Rows ``start`` .. ``start + count - 1``; no copy."""
        return self._table.slice(start, count)


class MemorySource(ArrowTableSource):
    """Rows written in the workload file; those that do not fit the schema are misfits."""

    def __init__(self, rows: Iterable[Any], schema: Schema) -> None:
        self.schema = schema
        self._table = fit_rows(rows, schema)


class FlightsSource(ArrowTableSource):
    """The flights of 2013 in scheduled-departure order. Raises DataMissing."""

    def __init__(self, cache: Path, schema: Schema = FLIGHTS_SCHEMA) -> None:
        self.schema = schema
        table = flights_table(cache)
        self._table = table.select([*schema.names, CORRUPT]).combine_chunks()


class FittedSource(ArrowTableSource):
    """A table that has been fitted to its schema."""

    def __init__(self, table: pa.Table, schema: Schema) -> None:
        self.schema, self._table = schema, table.combine_chunks()


class Chosen:
    """Some of the attributes of another source, in the order of ``schema``."""

    def __init__(self, source: ReplaySource, schema: Schema) -> None:
        self._source, self.schema = source, schema

    @property
    def n_tuples(self) -> int | None:
        """As many as the source has."""
        return self._source.n_tuples

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1`` of the source."""
        return self._source.slice(start, count).select(arrow_schema(self.schema).names)


class DriftSource:
    """The synthetic stream, as long as its schedule of phases. Raises DriftError."""

    def __init__(self, seed: int, phases: Sequence[Phase], schema: Schema = DRIFT_SCHEMA) -> None:
        self.schema, self.seed, self.phases = schema, seed, tuple(phases)
        self.n_tuples = sum(phase.n_tuples for phase in self.phases)

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1``, drawn anew at each call."""
        count = max(0, min(count, self.n_tuples - start))
        table = drift_table(self.seed, self.phases, start, count)
        table = table.append_column(CORRUPT, pa.nulls(count, pa.string()))
        return table.select(arrow_schema(self.schema).names)


class LaterSource:
    """A source that is opened when it is first asked for tuples; it travels as what it opens."""

    def __init__(self, schema: Schema, opening: Callable[[], ReplaySource]) -> None:
        self.schema, self._opening = schema, opening

    @cached_property
    def opened(self) -> ReplaySource:
        """The source itself."""
        return self._opening()

    @property
    def n_tuples(self) -> int | None:
        """Of the source."""
        return self.opened.n_tuples

    def slice(self, start: int, count: int) -> pa.Table:
        """Of the source."""
        return self.opened.slice(start, count)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.opened,)


def _itself(source: ReplaySource) -> ReplaySource:
    return source


class Unreadable:
    """A source that could not be opened: it raises why when it is read."""

    n_tuples: int | None = None

    def __init__(self, schema: Schema, error: Exception) -> None:
        self.schema, self._error = schema, error

    def slice(self, start: int, count: int) -> pa.Table:
        """Raises what opening it did."""
        raise self._error


def is_replayed(stream: StreamSpec) -> bool:
    """Whether the stream is fed at a pace of ours: built-in sources, files that are read here, and
    all with a rate."""
    source = stream.source
    is_read = reader_of(source.format, source.options) is not None
    return source.format in BUILT_IN or is_read or stream.rate is not None


def open_source(
    stream: StreamSpec, cache: Path, folder: Path | None = None, once: bool = True
) -> ReplaySource | None:
    """The replay source of a stream, or None when Spark reads the stream itself.

    cache: folder for data that is prepared once. folder: the run's own, where lists of files are
    kept for when it goes on. once: take the files that are there; else, when the stream has no
    rate, those that come as well. Raises DataMissing.
    """
    source = stream.source
    if source.format == "flights":
        return FlightsSource(cache, stream.schema)
    if source.format in NEW_YORK:
        table = new_york_table(source.format, cache)
        return FittedSource(table.select(arrow_schema(stream.schema).names), stream.schema)
    if source.format == "sensors" and "path" in source.options:
        readings = sensor_readings(Path(source.options["path"]), motes_of(source.options))
        return FittedSource(readings.select(arrow_schema(stream.schema).names), stream.schema)
    if source.format == "memory":
        return MemorySource(source.rows or (), stream.schema)
    read = reader_of(source.format, source.options)
    if read is None:
        return _generated(source, stream.schema)
    return FileSource(
        source.options["path"],
        stream.schema,
        read,
        is_watched=not once and stream.rate is None,
        record=None if folder is None else file_record(stream, folder),
        retakes=source.options.get(RETAKE) == "true",
    )


def file_record(stream: StreamSpec, folder: Path) -> Path:
    """Where a run with this folder keeps the list of the files of a stream."""
    return folder / f"files-{in_folder(stream.name)}.jsonl"


def reads_files(stream: StreamSpec) -> bool:
    """Whether the stream is replayed from files that are read here."""
    return reader_of(stream.source.format, stream.source.options) is not None


def in_memory(source: ReplaySource) -> ReplaySource:
    """A source that any place of can be looked into at once, by workers, too: files are read."""
    if not isinstance(source, FileSource):
        return source
    parts: list[pa.Table] = []
    while len(part := source.slice(sum(len(table) for table in parts), READ_TUPLES)):
        parts.append(part)
    return FittedSource(pa.concat_tables([part, *parts]), source.schema)


def _generated(source: SourceSpec, schema: Schema) -> ReplaySource | None:
    """A source whose tuples are drawn; None when Spark reads the stream itself."""
    options = source.options
    seed = int(options.get("seed", DEFAULT_SEED))
    if source.format == "drift":
        return DriftSource(seed, phases_from_json(options["phases"]), schema)
    made: ReplaySource
    if source.format == "packets":
        attacks = attacks_from_json(options.get("attacks", "[]"))
        made = PacketSource(seed, attacks, int(options.get("n_tuples", PACKET_TUPLES)))
    elif source.format == "suspects":
        made = SuspectSource(seed)
    elif source.format == "cars":
        share = accidents_from_text(options.get("accidents", ""))
        made = CarSource(seed, int(options.get("n_tuples", CAR_TUPLES)), share)
    elif source.format == "keyed":
        made = KeyedSource.of(seed, options)
    elif source.format == "links":
        made = LinkSource.of(seed, options)
    elif source.format == "clique":
        made = CliqueSource.of(seed, options)
    elif source.format == "intervals":
        made = IntervalSource.of(seed, options)
    elif source.format == "sensors":
        made = SensorSource.of(seed, options)
    elif source.format == "adhering":
        made = AdheringSource.of(seed, options)
    elif source.format == "correlated":
        made = CorrelatedSource(
            seed,
            selectivities_from_json(options["selectivities"]),
            int(options.get("gamma", 2)),
            int(options.get("period", 0)),
            int(options.get("n_tuples", CORRELATED_TUPLES)),
            int(options.get("regimes", 0)),
        )
    else:
        return None
    return made if schema.attributes == made.schema.attributes else Chosen(made, schema)
