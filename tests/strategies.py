"""Shared hypothesis strategies: schemas, conditions, continuous queries, tuples."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from backend.model.conditions import And, Comparison, Condition, ContinuousQuery, NullTest, Or
from backend.model.schema import Schema

#: One attribute of each family; every value strategy below knows these types.
MIXED_SCHEMA = Schema.parse("i int, g bigint, x double, s string, b boolean, d date, t timestamp")
NUMBERS_SCHEMA = Schema.parse("A1 double, A2 double, A3 double, A4 double, A5 double")

OPS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
_DAY = date(2013, 1, 1)
_NOON = datetime(2013, 1, 1, 12)

_CONSTANTS: dict[str, st.SearchStrategy[Any]] = {
    "int": st.one_of(st.integers(-3, 8), st.sampled_from([2.0, 2.5, -0.0])),
    "bigint": st.sampled_from([0, 2**53, 2**53 + 1, 2.0**53, -(2**63), 2**63 - 1, 7.5, 1e30]),
    "double": st.sampled_from([0, 0.0, -0.0, 1, 1.0, 2.5, 2**53, 2**53 + 1, 2.0**53, 1e300]),
    "string": st.sampled_from(["", "A", "B", "JFK", "a", "Ä", "\U0001f600", "\uffff"]),
    "boolean": st.booleans(),
    "date": st.integers(0, 4).map(lambda n: _DAY + timedelta(days=n)),
    "timestamp": st.integers(0, 4).map(lambda n: _NOON + timedelta(hours=n)),
}
_OTHERS: dict[str, st.SearchStrategy[Any]] = {
    "int": st.sampled_from([5.5, float("nan"), "5", True, -(10**12), 10**30, float("inf")]),
    "bigint": st.sampled_from([2**53 - 1, 2**53 + 2, 3, "7", None, 1e30, 2**70]),
    "double": st.sampled_from([float("nan"), float("inf"), float("-inf"), "1", True, 0.5, -7]),
    "string": st.sampled_from([5, b"A", "AA", "zz", "\u0000"]),
    "boolean": st.sampled_from([0, 1, "true"]),
    "date": st.sampled_from([_NOON, "2013-01-01", date(1970, 1, 1)]),
    "timestamp": st.sampled_from([_DAY, datetime(2013, 1, 1), 0]),
}


def constants(type_name: str) -> st.SearchStrategy[Any]:
    """Constants a query may compare an attribute of the type with."""
    return _CONSTANTS[type_name]


def values(type_name: str) -> st.SearchStrategy[Any]:
    """Raw values: on and off the constants, NULL, NaN, infinities, values of another type."""
    return st.one_of(_CONSTANTS[type_name], _OTHERS[type_name], st.none())


def atoms(schema: Schema) -> st.SearchStrategy[Condition]:
    """A comparison or null test on some attribute."""
    return st.sampled_from(schema.attributes).flatmap(
        lambda a: st.one_of(
            st.builds(Comparison, st.just(a.name), OPS, constants(a.type)),
            st.builds(NullTest, st.just(a.name), st.booleans()),
        )
    )


def conditions(schema: Schema, max_leaves: int = 8) -> st.SearchStrategy[Condition]:
    """Any And/Or tree, Or across attributes and empty ones included."""
    return st.recursive(
        st.one_of(atoms(schema), st.just(And(())), st.just(Or(()))),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: And(tuple(parts))),
            st.lists(inner, max_size=3).map(lambda parts: Or(tuple(parts))),
        ),
        max_leaves=max_leaves,
    )


def queries_of(
    condition: st.SearchStrategy[Condition], max_size: int = 6
) -> st.SearchStrategy[list[ContinuousQuery]]:
    """Queries q1, q2, ... on stream S with the given conditions."""
    return st.lists(condition, max_size=max_size).map(
        lambda found: [
            ContinuousQuery(f"q{j}", "S", "", condition) for j, condition in enumerate(found, 1)
        ]
    )


def mixed_queries(max_size: int = 6) -> st.SearchStrategy[list[ContinuousQuery]]:
    """Arbitrary conditions over MIXED_SCHEMA."""
    return queries_of(conditions(MIXED_SCHEMA), max_size)


def conjunctive_queries(max_size: int = 6) -> st.SearchStrategy[list[ContinuousQuery]]:
    """Conjunctions of up to four comparisons over NUMBERS_SCHEMA (as in the papers)."""
    names = st.sampled_from(NUMBERS_SCHEMA.names)
    atom = st.builds(Comparison, names, OPS, st.integers(0, 6))
    return queries_of(st.lists(atom, max_size=4).map(lambda a: And(tuple(a))), max_size)


def rows_of(schema: Schema, max_size: int = 8) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Tuples of the schema with awkward values among them."""
    row = st.fixed_dictionaries({a.name: values(a.type) for a in schema.attributes})
    return st.lists(row, min_size=1, max_size=max_size)


def number_rows(max_size: int = 12) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Tuples of NUMBERS_SCHEMA near the constants of conjunctive_queries, NULL among them."""
    value = st.one_of(st.integers(-1, 7), st.sampled_from([None, 2.5]))
    row = st.fixed_dictionaries({name: value for name in NUMBERS_SCHEMA.names})
    return st.lists(row, min_size=1, max_size=max_size)
