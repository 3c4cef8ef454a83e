"""Random loads, predicates and streams of requests that the tests of AMRI share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, TypeVar, cast

from hypothesis import strategies as st

from storage.vocabulary.amri_costs import IndexCosts, SearchLoad, WorkCosts, capped_reach
from storage.vocabulary.amri_patterns import JoinPredicate
from tests.oracles.amri_patterns import Predicate
from tests.oracles.amri_selection import Load

T = TypeVar("T")
#: Table 2 of the paper, as counts of 100 requests.
TABLE_2: Final[Mapping[int, int]] = {4: 4, 2: 10, 1: 10, 6: 4, 5: 16, 3: 10, 7: 46}
SHARES_2: Final = {pattern: n / 100 for pattern, n in TABLE_2.items()}
#: The search cost alone, per λ_r λ_d W C_c.
SEARCH_ALONE: Final = IndexCosts(WorkCosts(hash=0))


@st.composite
def exact_loads(draw: st.DrawFn, most: int = 4, priced: bool = True) -> tuple[int, Load]:
    """Attributes, and a load in exact numbers; costs without bucket visits unless priced."""
    n = draw(st.integers(1, most))
    words = st.integers(0, 2**n - 1).map(lambda p: format(p, f"0{n}b"))
    counts = draw(st.dictionaries(words, st.integers(1, 60), min_size=1, max_size=6))
    total = sum(counts.values()) + draw(st.integers(0, 20))
    small = st.integers(0, 5)
    load = Load(
        {word: Fraction(count, total) for word, count in counts.items()},
        draw(st.integers(1, 40)),
        draw(st.integers(1, 40)),
        draw(st.integers(0, 30)),
        draw(small),
        draw(st.integers(1, 3)),
        draw(small) if priced else 0,
        [2 ** draw(st.integers(0, 4)) for _ in range(n)] if priced and draw(st.booleans()) else (),
        {word: draw(st.integers(0, 30)) for word in counts if draw(st.booleans())},
        draw(words) if priced and draw(st.booleans()) else "",
    )
    return n, load


def as_load(n: int, load: Load) -> SearchLoad:
    """The same in floats."""
    return SearchLoad(
        n,
        {int(word, 2): float(f) for word, f in load.frequencies.items()},
        float(load.arrivals),
        float(load.requests),
        float(load.window),
        {int(word, 2): float(window) for word, window in load.windows.items()},
        int(load.ordered or "0", 2),
    )


def as_model(load: Load, bits: int, literal: bool = False) -> IndexCosts:
    """Its costs."""
    costs = WorkCosts(float(load.hash), float(load.compare), bucket=float(load.bucket))
    distinct = [float(d) for d in load.distinct] or [math.inf] * len(load.ordered)
    ordered = int(load.ordered or "0", 2)
    reach = capped_reach(distinct, bits, ordered) if distinct else None
    return IndexCosts(costs, literal, reach, visits=bool(load.bucket))


@st.composite
def predicate_sets(draw: st.DrawFn, n: int = 4) -> list[Predicate]:
    """Predicates between columns of n states."""
    columns = st.tuples(st.integers(0, n - 1), st.integers(0, 2))
    ops = st.sampled_from(["=", "=", "=", "<", "<=", ">", ">="])
    one = st.tuples(columns, ops, columns).filter(lambda p: p[0] != p[2])
    return draw(st.lists(one, min_size=1, max_size=6))


def as_predicates(predicates: list[Predicate]) -> list[JoinPredicate]:
    """Typed."""
    return [JoinPredicate(left, cast(Any, op), right) for left, op, right in predicates]


def clique(n: int) -> list[Predicate]:
    """Each pair of states joined on an attribute of its own."""
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    return [((a, b - 1), "=", (b, a)) for a, b in pairs]


def long_lists(one: st.SearchStrategy[T]) -> st.SearchStrategy[list[T]]:
    """Short ones for what is at the edges, and ones in which something happens."""
    return st.one_of(st.lists(one, max_size=6), st.lists(one, min_size=20, max_size=40))


def request_runs(n: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Runs of requests, pattern and number: many short ones, of skewed patterns."""
    pattern = st.one_of(st.integers(0, 2**n - 1), st.sampled_from([2**n - 1, 1, 2 ** (n - 1)]))
    n_requests = st.one_of(st.integers(1, 3), st.integers(0, 30))
    return long_lists(st.tuples(pattern, n_requests))
