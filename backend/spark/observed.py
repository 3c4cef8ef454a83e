"""What is counted beside a batch, in the job that runs it, and the names of matched queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from backend.adaptive.selection.construct import bitmap
from backend.adaptive.selection.constructs import ConstructSet
from backend.model.schema import Schema
from backend.spark.compiler import VISIT_BITS, CompiledPlan
from backend.spark.literals import quote, sql_long, text

#: Sampling compares this many bits of a hash with a threshold: probabilities to 1 in 2^20.
HASH_BITS = 20


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


def everything_observed(
    compiled: CompiledPlan, misfit: str, timestamp: str | None
) -> tuple[Column, ...]:
    """Counters over all tuples: rows, misfits, visits and drops per construct, the sample."""
    columns = [
        F.expr("count(1)").alias("n_rows"),
        F.expr(f"count_if({misfit})").alias("n_misfits"),
        F.expr(f"collect_list(if(_profiled AND NOT {misfit}, {_sampled(compiled)}, null))").alias(
            "sample"
        ),
    ]
    if timestamp is not None:
        columns.append(F.expr(f"max({quote(timestamp)})").alias("stream_time"))
    if compiled.n_visit_words:
        for i in range(len(compiled.plan.order)):
            columns.append(F.expr(f"count_if({compiled.visited(i)} = 1)").alias(f"reached_{i}"))
            columns.append(F.expr(f"count_if({_dropped(compiled, i)})").alias(f"dropped_{i}"))
    return tuple(columns)


def _sampled(compiled: CompiledPlan) -> str:
    names = ", ".join(quote(a) for a in compiled.plan.order)
    return f"struct({names or '1 as one'})"


def _dropped(compiled: CompiledPlan, position: int) -> str:
    """The tuple matches nothing and this was the last construct it visited."""
    word, bit = divmod(position, VISIT_BITS)
    last = [f"shiftright(_v{word}, {bit}) = 1"]
    last += [f"_v{w} = 0" for w in range(word + 1, compiled.n_visit_words)]
    return " AND ".join([*last, f"NOT ({compiled.matched})"])


def matches_observed(groups: Groups, schema: Schema) -> tuple[Column, ...]:
    """Counters over matched tuples: all, per group of queries, and some of the tuples."""
    names = ", ".join(quote(name) for name in schema.names)
    columns = [
        F.expr("count(1)").alias("n_matched"),
        F.expr(f"collect_list(if(_recent, struct({names}, query_ids), null))").alias("recent"),
    ]
    for i, mask in enumerate(groups.masks):
        terms = [f"(_g{w} & {sql_long(bits)}) != 0L" for w, bits in mask.items()]
        columns.append(F.expr(f"count_if({' OR '.join(terms)})").alias(f"group_{i}"))
    return tuple(columns)


def query_ids(constructs: ConstructSet) -> str:
    """Array of the names, sorted, of the queries whose bits are set in the final GRB."""
    entries = [
        f"struct({text(name)} as name, {word} as word, {sql_long(bits)} as bits)"
        for name in sorted(constructs.names)
        if name not in constructs.contradictory
        for word, bits in _mask(constructs, constructs.slots_of(name)).items()
    ]
    if not entries:
        return "cast(array() as array<string>)"
    words = ", ".join(f"_g{w}" for w in range(constructs.n_words))
    hit = f"filter(array({', '.join(entries)}), e -> (get(array({words}), e.word) & e.bits) != 0L)"
    return f"array_distinct(transform({hit}, e -> e.name))"
