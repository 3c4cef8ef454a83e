"""Selection by the definition: condition trees evaluated per tuple, sets instead of bitmaps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Any

from backend.model.conditions import And, Comparison, Condition, ContinuousQuery, NullTest
from backend.model.schema import Schema

Tuple = Mapping[str, Any]

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "tinyint": (int,),
    "smallint": (int,),
    "int": (int,),
    "bigint": (int,),
    "float": (int, float),
    "double": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "date": (date,),
    "timestamp": (datetime,),
}


def sql_value(value: Any, type_name: str) -> Any:
    """The value as SQL sees it: None for NULL, NaN and values of another type."""
    integral = isinstance(value, float) and value.is_integer()
    if type_name in {"tinyint", "smallint", "int", "bigint"} and integral:
        return int(value)
    if not isinstance(value, _PYTHON_TYPES[type_name]):
        return None
    if isinstance(value, bool) != (type_name == "boolean"):
        return None
    if isinstance(value, datetime) != (type_name == "timestamp"):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def truth(condition: Condition, row: Tuple, schema: Schema) -> bool | None:
    """Three-valued truth of a condition for one tuple; None is unknown."""
    if isinstance(condition, Comparison | NullTest):
        attribute = schema.find(condition.attribute)
        assert attribute is not None
        value = sql_value(row.get(attribute.name), attribute.type)
        if isinstance(condition, NullTest):
            return (value is None) != condition.negated
        return None if value is None else _compare(value, condition)
    parts = [truth(part, row, schema) for part in condition.parts]
    decided = not isinstance(condition, And)  # one False decides an And, one True an Or
    if decided in parts:
        return decided
    return None if None in parts else not decided


def _compare(value: Any, atom: Comparison) -> bool:
    constant: Any = atom.constant
    return bool(
        {
            "=": value == constant,
            "<>": value != constant,
            "<": value < constant,
            "<=": value <= constant,
            ">": value > constant,
            ">=": value >= constant,
        }[atom.op]
    )


def matches(queries: Iterable[ContinuousQuery], row: Tuple, schema: Schema) -> tuple[str, ...]:
    """Sorted names of the queries one tuple satisfies."""
    return tuple(sorted(q.name for q in queries if truth(q.condition, row, schema) is True))


class NaiveConstructs:
    """Conjunctions of atoms on double attributes, as sets; the paper's words, no bitmaps.

    A *slot* is the set of tests of one query, identical ones folded, impossible ones left out.
    """

    def __init__(self, queries: Sequence[ContinuousQuery], schema: Schema) -> None:
        self.schema = schema
        self.constants = {a: self._constants(a, queries) for a in schema.names}
        self.values = {a: self._representatives(a) for a in schema.names}
        self.tests: list[dict[str, list[Condition]]] = []
        seen = []
        for query in queries:
            assert isinstance(query.condition, And)
            tests: dict[str, list[Condition]] = {}
            for atom in query.condition.parts:
                assert isinstance(atom, Comparison | NullTest)
                tests.setdefault(atom.attribute, []).append(atom)
            picture = {a: self._picture(a, atoms) for a, atoms in tests.items()}
            if any(not any(p) for p in picture.values()):
                continue
            picture = {a: p for a, p in picture.items() if not all(p)}
            if picture not in seen:
                seen.append(picture)
                self.tests.append({a: tests[a] for a in picture})
        self.attributes = [a for a in schema.names if any(a in t for t in self.tests)]
        self.users = {a: {j for j, t in enumerate(self.tests) if a in t} for a in self.attributes}
        self.covered = set().union(*self.users.values()) if self.users else set()

    def _constants(self, attribute: str, queries: Sequence[ContinuousQuery]) -> list[Any]:
        atoms = [p for q in queries for p in getattr(q.condition, "parts", ())]
        return sorted(
            {
                p.constant
                for p in atoms
                if getattr(p, "constant", None) is not None and p.attribute == attribute
            }
        )

    def _representatives(self, attribute: str) -> list[Any]:
        found = self.constants[attribute]
        middle = [(x + y) / 2 for x, y in pairwise(found)]
        ends = [found[0] - 1, found[-1] + 1] if found else [0]
        return [None, *found, *middle, *ends]

    def _picture(self, attribute: str, atoms: list[Condition]) -> list[bool]:
        rows = [{attribute: value} for value in self.values[attribute]]
        return [truth(And(tuple(atoms)), row, self.schema) is True for row in rows]

    def passes(self, slot: int, attribute: str, row: Tuple) -> bool:
        """Whether the tuple's value does not refute the slot's tests on the attribute."""
        tests = tuple(self.tests[slot].get(attribute, ()))
        return truth(And(tests), row, self.schema) is True

    def live(self, prefix: Sequence[str], row: Tuple) -> set[int]:
        """Slots not refuted by any attribute of the prefix."""
        everyone = range(len(self.tests))
        return {j for j in everyone if all(self.passes(j, a, row) for a in prefix)}

    def visits(self, order: Sequence[str], row: Tuple, stop_rule: str) -> list[str]:
        """The attributes visited under a stop rule, by its wording."""
        live, visited = set(range(len(self.tests))), []
        for place, attribute in enumerate(order):
            if not live:
                break
            if stop_rule == "resolved":
                if not any(live & self.users[later] for later in order[place:]):
                    break
                if not live & self.users[attribute]:
                    continue
            visited.append(attribute)
            live = {j for j in live if self.passes(j, attribute, row)}
        return visited

    def mean_visits(self, order: Sequence[str], rows: Sequence[Tuple], stop_rule: str) -> float:
        """Visits per tuple over the rows."""
        return sum(len(self.visits(order, row, stop_rule)) for row in rows) / len(rows)
