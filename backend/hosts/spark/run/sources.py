"""Streams into Spark: native sources, and tables of files that are replayed."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT
from backend.workloads.files import FILE_FORMATS
from backend.workloads.paths import found_files, is_pattern, is_utf8, plain, shown
from backend.workloads.replay import ArrowTableSource, ReplaySource
from backend.workloads.spec import SourceSpec, StreamSpec, WorkloadError

log = logging.getLogger(__name__)
#: Formats whose reader reports a line that does not fit in a column of our choice.
SELF_CHECKING = frozenset({"csv", "json", "xml"})
#: Letters of Spark's patterns.
_LETTERS = re.compile(r"[*?\[\]{}\\]")
#: What stands for a letter itself in our patterns, and letters of Spark's that are none of ours.
_HELD = re.compile(r"\[([*?[])\]|([{}\\])")


def read_at_once(session: SparkSession, stream: StreamSpec) -> ReplaySource:
    """The tuples of files that only Spark reads and that have a rate, in the order of their names.

    Raises WorkloadError for sources that cannot be replayed.
    """
    source = stream.source
    if source.format not in FILE_FORMATS:
        raise WorkloadError(
            f"[streams.{stream.name}]",
            f"a rate needs files or a built-in source, and {source.format!r} is neither; "
            "leave rate out",
        )
    reader = session.read.schema(_declared(stream.schema)).options(**_options(source))
    reader = reader.format(source.format)
    path = source.options["path"]
    # Spark reads larger files first: the order of a stream is that of its files
    paths = [path] if "://" in path else list(map(marked, map(str, _readable(path))))
    tables = [reader.load(path).toArrow() for path in paths]
    return ArrowTableSource(pa.concat_tables(tables), stream.schema)


def native(session: SparkSession, stream: StreamSpec) -> DataFrame:
    """Any other Spark source, with the schema's columns and ``_corrupt_record``.

    Raises WorkloadError when the source does not exist or lacks a column of the schema.
    """
    source = stream.source
    reader = session.readStream.format(source.format)
    try:
        if source.format in FILE_FORMATS:
            # one file a batch keeps the order of arrival; files of one batch may change places
            reader = reader.option("maxFilesPerTrigger", "1").options(**_options(source))
            path = _streamed(source.options["path"])
            frame = reader.schema(_declared(stream.schema)).load(path)
        else:
            frame = reader.options(**source.options).load()
        if source.format == "kafka":
            return parse_json(frame, stream.schema)
        return _conform(frame, stream.schema)
    except PySparkException as error:
        first = str(error).splitlines()[0]
        message = f"source {source.format!r}: {first}"
        raise WorkloadError(f"[streams.{stream.name}]", message) from error


def parse_json(frame: DataFrame, schema: Schema) -> DataFrame:
    """Messages whose ``value`` is a JSON object, as tuples of the schema.

    What does not parse, and a message without a value, carries its reason in ``_corrupt_record``.
    """
    settings = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    parsed = F.from_json(F.col("value").cast("string"), _declared(schema), settings)
    frame = frame.select("value", parsed.alias("tuple")).select("value", "tuple.*")
    missing = F.when(F.col("value").isNull(), F.lit("a message without a value"))
    return frame.withColumn(CORRUPT, F.coalesce(missing, F.col(CORRUPT))).drop("value")


def _declared(schema: Schema) -> str:
    return f"{schema.ddl()}, `{CORRUPT}` string"


def _options(source: SourceSpec) -> dict[str, str]:
    options = {k: v for k, v in source.options.items() if k != "path"}
    if source.format in SELF_CHECKING:
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    if source.format == "csv":
        # columns are taken by position: the header of every file is compared with the schema
        options.setdefault("enforceSchema", "false")
    return options


def _readable(path: str) -> list[Path]:
    """The files at a path, but those that Spark cannot be told of."""
    files = []
    for file in found_files(path):
        if is_utf8(file) and os.path.isfile(file):
            files.append(file)
        else:
            log.warning("%s is not read: its name is not UTF-8, or it is no file", shown(file))
    return files


def _streamed(path: str) -> str:
    """The path as a stream takes it: folders and patterns as they are, one file as a pattern."""
    if "://" in path:
        return path
    if is_pattern(path):
        return _HELD.sub(lambda match: f"\\{match[1] or match[2]}", path)
    name = plain(path)
    if not os.path.isfile(name):
        return marked(name)
    rest, last = marked(name[:-1]), name[-1]
    # of a letter or a digit a mark would make something else
    return f"{rest}[{last}]" if re.match(r"\w", last) else f"{rest}\\{last}"


def marked(path: str) -> str:
    """A path whose letters stand for themselves where Spark takes patterns."""
    return _LETTERS.sub(r"\\\g<0>", path)


def _conform(frame: DataFrame, schema: Schema) -> DataFrame:
    columns = [f"cast(`{a.name}` as {a.type}) as `{a.name}`" for a in schema.attributes]
    corrupt = CORRUPT if CORRUPT in frame.columns else f"cast(null as string) as {CORRUPT}"
    return frame.selectExpr(*columns, corrupt)
