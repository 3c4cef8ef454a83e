"""What is counted beside a batch, in the job that runs it, and the names of matched queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from backend.engine.execution import Match
from backend.hosts.spark.compiler import VISIT_BITS, CompiledPlan
from backend.hosts.spark.jvm import long_array, text_array
from backend.hosts.spark.literals import quote, sql_long
from backend.hosts.spark.plan_run import Stream
from backend.operators.flags import PROFILED, RECENT
from backend.systems.asc.construct import bitmap
from backend.systems.asc.constructs import ConstructSet

#: Matched tuples sent to the dashboard per batch, about; above it they are sampled.
RECENT_TUPLES = 200
#: Tuples kept aside that are sent to the dashboard per batch, at most.
MISFITS_SHOWN = 50
#: Sampling compares this many bits of a hash with a threshold: probabilities to 1 in 2^20.
HASH_BITS = 20
_DRAW = f"(xxhash64(_row, get(:sampling, int(_row & 0L))) & {(1 << HASH_BITS) - 1}L)"
#: Seeded sampling; ``:sampling`` stands for [seed, profile threshold, recent threshold].
SAMPLING_FLAGS = (
    f"{_DRAW} < get(:sampling, int(_row & 0L) + 1) AS {PROFILED}, "
    f"{_DRAW} < get(:sampling, int(_row & 0L) + 2) AS {RECENT}"
)


def sampled(columns: Sequence[str], table: str) -> str:
    """SELECT of the columns, quoted, and the two flags of sampling from ``table``."""
    names = ", ".join(columns)
    rows = f"SELECT {names}, monotonically_increasing_id() AS _row FROM {table}"
    return f"SELECT {names}, {SAMPLING_FLAGS} FROM ({rows})"


class Sampling:
    """What ``:sampling`` is bound to, batch after batch. It is a table, not constants in the text:
    a new batch id or probability compiles nothing anew.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._recent_share = 1.0

    def of_batch(self, session: SparkSession, batch_id: int, profile_prob: float) -> Column:
        """ARRAY<BIGINT>: seed of the batch, thresholds of profiling and of recent matches."""
        seed = (self._seed * 1_000_003 + batch_id) % 2**62
        shares = (profile_prob, self._recent_share)
        values = [seed, *(int(share * (1 << HASH_BITS)) for share in shares)]
        return long_array(session, np.array(values, dtype=np.int64))

    def matched(self, n_tuples: int) -> None:
        """So many tuples of a batch matched; the next one is taken to be alike."""
        self._recent_share = min(1.0, RECENT_TUPLES / max(1, n_tuples))


@dataclass(frozen=True, slots=True)
class Groups:
    """Queries with the same slots share a counter. masks: per group, {word: bits}."""

    masks: tuple[Mapping[int, int], ...]
    names: tuple[tuple[str, ...], ...]

    def by_name(self, found: Mapping[str, Any]) -> dict[str, int]:
        """Tuples per query, of those that matched any."""
        return {
            name: found[f"group_{i}"]
            for i, names in enumerate(self.names)
            if found[f"group_{i}"]
            for name in names
        }


def query_groups(constructs: ConstructSet) -> Groups:
    """One group per distinct set of slots; contradictory queries never match and have none."""
    members: dict[tuple[int, ...], list[str]] = {}
    for name in constructs.names:
        if name not in constructs.contradictory:
            members.setdefault(constructs.slots_of(name), []).append(name)
    return Groups(
        tuple(_mask(constructs, slots) for slots in members),
        tuple(tuple(names) for names in members.values()),
    )


def _mask(constructs: ConstructSet, slots: tuple[int, ...]) -> dict[int, int]:
    words = bitmap(slots, constructs.n_words)
    return {w: int(word) for w, word in enumerate(words) if word}


def tuples_observed(order: Sequence[str], stream: Stream) -> tuple[Column, ...]:
    """Counters over all tuples: rows, misfits, the sampled values of the order's attributes."""
    names = ", ".join(quote(attribute) for attribute in order)
    sampled = f"if({PROFILED} AND NOT {stream.misfit}, struct({names or '1 as one'}), null)"
    sample = F.expr(f"collect_list({sampled})").alias("sample")
    return (*rows_observed(stream, stream.misfit), sample)


def rows_observed(stream: Stream, misfit: str) -> tuple[Column, ...]:
    """Counters over all tuples: rows, misfits, the latest event time."""
    columns = [
        F.expr("count(1)").alias("n_rows"),
        F.expr(f"count_if({misfit})").alias("n_misfits"),
    ]
    if stream.timestamp is not None:
        columns.append(F.expr(f"max({quote(stream.timestamp)})").alias("stream_time"))
    return tuple(columns)


def stream_time(counts: Mapping[str, Any]) -> str:
    """The latest event time counted, '' when there is none."""
    latest = counts.get("stream_time")
    return "" if latest is None else str(latest)


def visits_observed(compiled: CompiledPlan) -> tuple[Column, ...]:
    """Counters over all tuples: visits and drops per construct; none when nothing drops early."""
    columns: list[Column] = []
    if compiled.n_visit_words:
        for i in range(len(compiled.plan.order)):
            columns.append(F.expr(f"count_if({compiled.visited(i)} = 1)").alias(f"reached_{i}"))
            columns.append(F.expr(f"count_if({_dropped(compiled, i)})").alias(f"dropped_{i}"))
    return tuple(columns)


def _dropped(compiled: CompiledPlan, position: int) -> str:
    """The tuple matches nothing and this was the last construct it visited."""
    word, bit = divmod(position, VISIT_BITS)
    last = [f"shiftright(_v{word}, {bit}) = 1"]
    last += [f"_v{w} = 0" for w in range(word + 1, compiled.n_visit_words)]
    return " AND ".join([*last, f"NOT ({compiled.matched})"])


def matches_observed(stream: Stream) -> tuple[Column, ...]:
    """Counters over matched tuples: all of them, and some of the tuples with their queries."""
    names = ", ".join(stream.columns)
    return (
        F.expr("count(1)").alias("n_matched"),
        F.expr(f"collect_list(if({RECENT}, struct({names}, query_ids), null))").alias("recent"),
    )


def recent_matches(counts: Mapping[str, Any], stream: Stream) -> tuple[Match, ...]:
    """The matched tuples that were collected."""
    names = stream.schema.names
    return tuple(
        Match({name: row[name] for name in names}, tuple(row["query_ids"]))
        for row in counts["recent"]
    )


def groups_observed(groups: Groups) -> tuple[Column, ...]:
    """Counters over matched tuples, one per group of queries."""
    columns: list[Column] = []
    for i, mask in enumerate(groups.masks):
        terms = [f"(_g{w} & {sql_long(bits)}) != 0L" for w, bits in mask.items()]
        columns.append(F.expr(f"count_if({' OR '.join(terms)})").alias(f"group_{i}"))
    return tuple(columns)


def query_ids(session: SparkSession, constructs: ConstructSet) -> Column:
    """Array of the names, sorted, of the queries whose bits are set in the final GRB.

    One entry a query and bitmap word it touches; the entries are array literals.
    """
    entries = [
        (name, word, bits)
        for name in sorted(constructs.names)
        if name not in constructs.contradictory
        for word, bits in _mask(constructs, constructs.slots_of(name)).items()
    ]
    if not entries:
        return F.expr("cast(array() as array<string>)")
    names = text_array(session, [name for name, _, _ in entries])
    words = long_array(session, np.array([word for _, word, _ in entries], dtype=np.int64))
    bits = np.array([bits for _, _, bits in entries], dtype=np.uint64).view(np.int64)
    masks = long_array(session, bits)
    places = long_array(session, np.arange(len(entries), dtype=np.int64))
    grb = F.array(*(F.col(f"_g{w}") for w in range(constructs.n_words)))

    def is_hit(place: Column) -> Column:
        word = F.get(grb, F.get(words, place.cast("int")).cast("int"))
        return word.bitwiseAND(F.get(masks, place.cast("int"))) != 0

    hits = F.filter(places, is_hit)
    return F.array_distinct(F.transform(hits, lambda place: F.get(names, place.cast("int"))))


def timings_ms(started: float, planned: float, ran: float, done: float) -> dict[str, float]:
    """Moments of a batch (s) -> what its parts took (ms)."""
    moments = pairwise((started, planned, ran, done))
    parts = zip(("plan_ms", "job_ms", "publish_ms"), moments, strict=True)
    return {part: (until - since) * 1e3 for part, (since, until) in parts}
