"""The worked examples of the papers: queries and tuples of [L12] Fig. 1 and [L07] Fig. 2."""

from __future__ import annotations

from typing import Any

from backend.model.conditions import And, Comparison, Condition, ContinuousQuery
from backend.model.schema import Schema
from backend.systems.asc.construct import Words
from backend.systems.asc.constructs import ConstructSet, build_constructs


def query(name: str, *parts: Condition) -> ContinuousQuery:
    """A continuous query on stream S: the conjunction of the parts."""
    return ContinuousQuery(name, "S", "", And(parts))


def bits(words: Words, n_slots: int) -> str:
    """A one-word bitmap as the papers print it: slot 0 leftmost."""
    return "".join("1" if int(words[0]) >> j & 1 else "0" for j in range(n_slots))


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
