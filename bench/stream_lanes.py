"""Ways of a windowed query's batches: the product's network on Spark, and Spark's own operators."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from backend.cql import parse_query
from backend.hosts.batches import Timings, batch_result
from backend.hosts.contract import InputSource
from backend.hosts.spark.run.inputs import FILES_TOGETHER, Inputs
from backend.hosts.spark.run.jobs import BatchJobs
from backend.hosts.spark.run.tasks import tag_of
from backend.model.events import SelectionPlan
from backend.operators.contract import BatchPlan, BatchResult, Operator
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.shards.shard import Places
from backend.operators.selection.operator import SelectionOperator
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.shipping import shipped_plan
from backend.systems.stream.compiling import compile_queries
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from bench.fastpath_lanes import OnStream, Took
from bench.on_spark import in_parquet
from bench.stream_data import (
    SCHEMA,
    WINDOW,
    Answered,
    Ints,
    Question,
    answered,
    answered_sql,
    changed_groups,
)
from storage.vocabulary.names import answer_folder

UNIT: Final = "stream"
_QUERY: Final = "q"
_SECOND_US: Final = 1_000_000


def inputs_of(question: Question) -> list[InputSource]:
    """Its streams, as inputs of a run."""
    specs = [StreamSpec(name, SCHEMA, SourceSpec("memory", {}), "t") for name in question.streams]
    return [InputSource(spec, question.source(spec.name)) for spec in specs]


def network_job(question: Question, n_shards: int = 1) -> NetworkJob:
    """What shards run of it."""
    schemas = dict.fromkeys(question.streams, SCHEMA)
    query = parse_query(_QUERY, question.text, schemas)
    plan = compile_queries([query], since={_QUERY: 0}, tick_us=_SECOND_US)
    times = dict.fromkeys(question.streams, StreamTime("t", _SECOND_US))
    return NetworkJob(plan, schemas, times, n_shards=n_shards)


def selection() -> Operator:
    """Of one query over stream A that nearly every tuple matches: keeps no state."""
    queries = [parse_query(_QUERY, "Select * From A Where v >= 1", {"A": SCHEMA})]
    constructs = build_constructs(queries, SCHEMA)
    plan = shipped_plan(
        constructs, SelectionPlan(1, "early drop", constructs.attributes), "resolved"
    )
    return SelectionOperator(plan, 0.01)


class Product(OnStream):
    """Batches of a question as backend.hosts.spark.run.runner runs them, without the loop that
    decides between them. n_shards: 0: no network, a selection."""

    def __init__(
        self, session: SparkSession, question: Question, folder: Path, n_shards: int = 1
    ) -> None:
        sources = inputs_of(question)
        places = Places(str(folder / "state"), str(folder / "arenas"))
        self._sink = str(folder / "answers")
        jobs = BatchJobs(session, sources, SinkSpec(self._sink), places)
        inputs = Inputs(session, sources, folder / "spool", once=False)
        networks = {UNIT: network_job(question, n_shards)} if n_shards else {}
        operators = {} if n_shards else {"A": {"selection": selection()}}
        results: list[BatchResult] = []

        def batch(frame: DataFrame, batch_id: int) -> None:
            timings = Timings()
            merged = jobs.run(frame, inputs.rows, BatchPlan(batch_id, operators, networks), timings)
            results.append(batch_result(batch_id, merged, {}, timings))

        super().__init__(inputs.frame, folder, batch)
        self.results, self._question = results, question

    @property
    def heartbeat(self) -> int:
        """The tick before which all is answered."""
        return int(self.results[-1].units[UNIT].report.heartbeat)

    def answered(self) -> Answered:
        """What is in its sink: of the aggregate, what groups have changed to."""
        return answer_in(self._sink, self._question)


def answer_in(sink: str, question: Question) -> Answered:
    """What a question's results in a sink come to."""
    files = sorted((Path(sink) / answer_folder(_QUERY, 0)).glob("*.parquet"))
    table = pa.concat_tables([pq.read_table(file, partitioning=None) for file in files])
    rows = table.to_pandas()
    rows = rows[rows["sign"] == 1]
    return answered([rows[name].to_numpy() for name in question.columns])


class SparksOwn(OnStream):
    """The same by Spark's stateful operators: joins of streams with a bound on time, or a function
    with state by group. Results are counted, not written. n_partitions: of the state."""

    def __init__(
        self, session: SparkSession, question: Question, folder: Path, n_partitions: int = 1
    ) -> None:
        (folder / "spool").mkdir(parents=True)
        session.conf.set("spark.sql.shuffle.partitions", n_partitions)
        streams = [_stream(session, stream, folder / "spool") for stream in question.streams]
        frame = _aggregated(streams[0]) if len(streams) == 1 else _joined(streams, question)
        checksum = f"coalesce(sum({answered_sql(question.columns)}), 0)"
        totals = [F.count("*"), F.expr(checksum)]
        self._found: list[Answered] = []

        def batch(results: DataFrame, batch_id: int) -> None:
            self._found.append(Answered(*results.agg(*totals).collect()[0]))

        super().__init__(frame, folder, batch)
        session.conf.set("spark.sql.shuffle.partitions", 1)

    def step(self, spooled: Path) -> Took:
        """Of the same tuples as Parquet."""
        parquet = in_parquet(spooled)
        took = super().step(parquet)
        shutil.rmtree(parquet)
        return took

    def answered(self) -> Answered:
        """So far."""
        return Answered(
            sum(n for n, _ in self._found), sum(checksum for _, checksum in self._found)
        )


def _stream(session: SparkSession, stream: str, spool: Path) -> DataFrame:
    columns = ", ".join(f"{a.name} {a.type}" for a in SCHEMA.attributes)
    reader = session.readStream.schema(columns).option("pathGlobFilter", f"{tag_of(stream)}*")
    return reader.option("maxFilesPerTrigger", FILES_TOGETHER).parquet(str(spool))


def _joined(streams: list[DataFrame], question: Question) -> DataFrame:
    """Tuples with one key, no two of which are further apart than the window reaches. Time is the
    first stream's (Spark wants one), of the others there is the tick as a number. Tick 0 is a
    second after 1970 began: Spark's watermark begins there, and what is not after it is late."""
    sides = []
    for name, frame in zip(question.streams, streams, strict=True):
        own = name.lower()
        columns = [F.col(column).alias(f"{own}{column}") for column in ("i", "k", "t")]
        frame = frame.select(*columns, F.timestamp_seconds(F.col("t") + 1).alias(f"{own}time"))
        sides.append((own, frame.withWatermark(f"{own}time", "0 seconds")))
    (first, joined), others = sides[0], sides[1:]
    reach, before = f"interval {WINDOW} seconds", [first]
    for own, frame in others:
        conditions = [
            f"{own}k = {first}k",
            f"{own}time between {first}time - {reach} and {first}time + {reach}",
            *(f"abs({own}t - {earlier}t) <= {WINDOW}" for earlier in before[1:]),
        ]
        joined = joined.join(frame, F.expr(" and ".join(conditions))).drop(f"{own}time")
        before.append(own)
    return joined.select(*question.columns)


def _aggregated(stream: DataFrame) -> DataFrame:
    return stream.groupBy("k").applyInPandasWithState(
        _windowed, "k bigint, tau bigint, n bigint, s bigint", "t binary, v binary", "append",
        GroupStateTimeout.NoTimeout,
    )  # fmt: skip


def _windowed(
    key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """What a group has changed to."""
    rows = pd.concat(list(frames)).sort_values("t", kind="stable")
    before = state.get if state.exists else None
    t, v = rows["t"].to_numpy(), rows["v"].to_numpy()
    columns, after = changed_group(int(key[0]), before, t, v)
    yield pd.DataFrame(dict(zip(("k", "tau", "n", "s"), columns, strict=True)))
    state.update(after)


def changed_group(
    key: int, before: tuple[bytes, bytes] | None, t: Ints, v: Ints
) -> tuple[list[Ints], tuple[bytes, bytes]]:
    """What a group has changed to, from after its newest tuple so far up to the newest of some, in
    order of t; see ``changed_groups``. before, and the state after: t and v of tuples that are in
    its window."""
    last = -1
    if before is not None:
        kept_t, kept_v = (np.frombuffer(part, np.int64) for part in before)
        last = int(kept_t[-1])
        t, v = np.concatenate([kept_t, t]), np.concatenate([kept_v, v])
    columns = changed_groups({"k": np.full(len(t), key), "v": v, "t": t}, int(t[-1]) + 1)
    is_new = columns[1] > last
    is_inside = t + WINDOW + 1 > t[-1]
    after = (t[is_inside].tobytes(), v[is_inside].tobytes())
    return [column[is_new] for column in columns], after
