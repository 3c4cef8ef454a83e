"""Random conditions and tuples over one schema with an attribute of every kind."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from hypothesis import strategies as st

from backend.model.conditions import And, Comparison, Condition, NullTest, Or
from backend.model.schema import Schema

SCHEMA = Schema.parse(
    "i int, n bigint, f double, s string, b boolean, d date, t timestamp, group int"
)
_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=4)
_NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, -1.5, 2.25])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i": _NUMBERS,
    "n": st.integers(-(2**63), 2**63 - 1) | _NUMBERS,
    "f": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-3, 3).map(float),
    "s": st.sampled_from(["", "a", "b", "A", "O'Hare", "--", "x y"]) | _TEXTS,
    "b": st.booleans(),
    "d": st.dates(date(2013, 1, 1), date(2013, 1, 4)),
    "t": st.datetimes(datetime(2013, 1, 1), datetime(2013, 1, 2)),
}
_OPS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


def atoms(names: str) -> st.SearchStrategy[Any]:
    """Written conditions on one attribute, as trees of the oracle."""
    return st.sampled_from(names).flatmap(_atoms_on)


def _atoms_on(name: str) -> st.SearchStrategy[Any]:
    value = VALUES[name]
    some = st.lists(value, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("compare"), st.just(name), _OPS, value, st.booleans()),
        st.tuples(st.just("in"), st.just(name), some, st.booleans()),
        st.tuples(st.just("between"), st.just(name), value, value, st.booleans()),
        st.tuples(st.just("null"), st.just(name), st.booleans()),
    )


def trees(names: str) -> st.SearchStrategy[Any]:
    """Written conditions over several attributes."""
    return st.recursive(
        atoms(names),
        lambda part: st.one_of(
            st.tuples(st.just("not"), part),
            st.tuples(st.sampled_from(["and", "or"]), st.lists(part, min_size=2, max_size=3)),
        ),
        max_leaves=6,
    )


def rows(names: str) -> st.SearchStrategy[dict[str, Any]]:
    """Tuples, with NULLs."""
    return st.fixed_dictionaries({name: st.none() | VALUES[name] for name in names})


def conditions() -> st.SearchStrategy[Condition]:
    """Canonical conditions: no And directly inside an And, no Or directly inside an Or."""
    leaf = st.one_of(
        st.sampled_from([And(()), Or(())]),
        st.builds(NullTest, st.sampled_from(SCHEMA.names), st.booleans()),
        *(
            st.builds(Comparison, st.just(name), _OPS, value.map(_as_parsed))
            for name, value in VALUES.items()
        ),
    )
    return st.recursive(leaf, _composed, max_leaves=8)


def _as_parsed(value: Any) -> Any:
    return 0.0 if value == 0 and isinstance(value, float) else value


def _composed(part: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    def parts_but(kind: type) -> st.SearchStrategy[tuple[Condition, ...]]:
        others = part.filter(lambda p: not isinstance(p, kind))
        return st.lists(others, min_size=2, max_size=3).map(tuple)

    return st.builds(And, parts_but(And)) | st.builds(Or, parts_but(Or))
