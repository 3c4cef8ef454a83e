"""The worked examples of the papers: queries and tuples of [L12] Fig. 1 and [L07] Fig. 2; and a
tuple matched, a plan built the way the examples do it: one tuple, one sample at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from backend.model.conditions import And, Comparison, Condition, ContinuousQuery
from backend.model.schema import Schema
from backend.systems.asc.construct import Words, slots_in
from backend.systems.asc.constructs import ConstructSet, build_constructs
from backend.systems.asc.hybrid import HybridSequence, Rules, hybrid_sequence_by_period
from backend.systems.asc.matching import Regions, StopRule


def query(name: str, *parts: Condition) -> ContinuousQuery:
    """A continuous query on stream S: the conjunction of the parts."""
    return ContinuousQuery(name, "S", "", And(parts))


def bits(words: Words, n_slots: int) -> str:
    """A one-word bitmap as the papers print it: slot 0 leftmost."""
    return "".join("1" if int(words[0]) >> j & 1 else "0" for j in range(n_slots))


def query_names(constructs: ConstructSet, grb: Words) -> tuple[str, ...]:
    """The sorted names of the queries a final GRB satisfies."""
    return tuple(sorted({n for slot in slots_in(grb) for n in constructs.slot_names[slot]}))


def match_tuple(
    constructs: ConstructSet,
    order: Sequence[str],
    values: Mapping[str, Any],
    stop_rule: StopRule,
) -> tuple[Words, list[str]]:
    """The final GRB of one tuple and the attributes whose construct it visited, in order.

    values: attribute -> raw value; a missing one is NULL.
    """
    grb = constructs.initial.copy()
    visits: list[str] = []
    for attribute in order:
        construct = constructs.constructs[attribute]
        if not (grb & construct.qub if stop_rule == "resolved" else grb).any():
            continue
        grb &= construct.qrb[construct.region_of(values.get(attribute))]
        visits.append(attribute)
    return grb, visits


def hybrid_sequence(
    constructs: ConstructSet, regions: Regions, order: Sequence[str], rules: Rules
) -> HybridSequence:
    """The hybrid-sequence of ONE sample, regions intp[T, n], for all levels."""
    return hybrid_sequence_by_period(
        constructs, [regions] * (len(constructs.attributes) - 1), order, rules
    )


C = Comparison

L12_SCHEMA = Schema.parse("A1 int, A2 int, A3 int, A4 int")
L12_QUERIES = (
    query("q1", C("A1", "<", 70), C("A3", ">=", 50)),
    query("q2", C("A2", "<=", 20), C("A4", "=", 10)),
    query("q3", C("A1", "=", 30), C("A3", "<", 30)),
    query("q4", C("A2", ">", 60), C("A4", ">=", 40)),
)
_L12_TUPLES = (
    (50, 30, 10, 10),
    (80, 70, 60, 50),
    (50, 40, 40, 50),
    (80, 30, 10, 50),
    (80, 70, 40, 5),
    (80, 90, 60, 20),
    (80, 20, 60, 10),
)
L12_ROWS: list[dict[str, Any]] = [
    dict(zip(L12_SCHEMA.names, row, strict=True)) for row in _L12_TUPLES
]

L07_SCHEMA = Schema.parse("A1 int, A2 string, A3 int")
L07_QUERIES = (
    query("q1", C("A1", "=", 20), C("A2", "=", "C02"), C("A3", "=", 50)),
    query("q2", C("A1", ">", 10), C("A2", "=", "C04")),
    query("q3", C("A1", "=", 30), C("A3", ">=", 30), C("A3", "<=", 50)),
)
L07_ROWS: list[dict[str, Any]] = [
    {"A1": 40, "A2": "C04", "A3": 50},
    {"A1": 20, "A2": "C02", "A3": 50},
    {"A1": 10, "A2": "C04", "A3": 20},
]


def l12() -> ConstructSet:
    """The constructs of [L12] Fig. 1."""
    return build_constructs(L12_QUERIES, L12_SCHEMA)


def l07() -> ConstructSet:
    """The constructs of [L07] Fig. 2."""
    return build_constructs(L07_QUERIES, L07_SCHEMA)


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Rows turned into one list of values per attribute."""
    return {name: [row[name] for row in rows] for name in rows[0]}
