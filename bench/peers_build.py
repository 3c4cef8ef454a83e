"""The predicate indexes of bench.peers, built from predicates on one integer attribute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from backend.model.conditions import Comparison, ContinuousQuery, Op
from backend.model.schema import Schema
from backend.operators.selection.layout import ByTable, ByThresholds
from backend.operators.selection.lookup import by_table, by_thresholds
from backend.systems.asc.constructs import build_constructs
from bench import peers_kernels as kernels
from bench.peers_kernels import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, as_arrays

#: Writes, for int64[T] values, the satisfied predicates to uint64[T, W].
Search = Callable[[NDArray[np.int64], NDArray[np.uint64]], None]
#: Operator and constant; all of a set differ.
Predicate = tuple[Op, int]

OPERATORS: Final[Mapping[Op, int]] = {
    "=": EQUAL,
    "<": LESS,
    "<=": LESS_EQUAL,
    ">": GREATER,
    ">=": GREATER_EQUAL,
}
_INFINITE: Final = 2**40


def linked_list(predicates: Sequence[Predicate]) -> Search:
    """Conditions strung together."""
    n = len(predicates)
    following = np.array([*range(1, n), -1], dtype=np.int64)
    ops = np.array([OPERATORS[op] for op, _ in predicates], dtype=np.int64)
    constants = np.array([constant for _, constant in predicates], dtype=np.int64)
    return lambda values, out: kernels.linked_list(values, out, following, 0, ops, constants)


def grouped_filter(predicates: Sequence[Predicate]) -> Search:
    """CACQ's hash table and its two trees, whose keys lie in order."""
    groups: dict[str, dict[int, list[int]]] = {"equal": {}, "above": {}, "below": {}}
    for j, (op, constant) in enumerate(predicates):
        if op == "=":
            groups["equal"].setdefault(constant, []).append(j)
        else:
            name = "above" if op in (">", ">=") else "below"
            groups[name].setdefault(2 * constant + (op in (">", "<=")), []).append(j)
    keys = list(groups["equal"])
    mask = (1 << max(4, (2 * len(keys)).bit_length())) - 1
    table = np.full(mask + 1, -1, dtype=np.int64)
    for place, key in enumerate(keys):
        slot = key * 0x9E3779B1 & mask
        while table[slot] >= 0:
            slot = slot + 1 & mask
        table[slot] = place
    above = dict(sorted(groups["above"].items()))
    below = dict(sorted(groups["below"].items(), reverse=True))
    arrays: list[Any] = [table, mask]
    for group in (groups["equal"], above, below):
        arrays += [np.array(list(group), dtype=np.int64), *as_arrays(list(group.values()))]
    return lambda values, out: kernels.grouped_filter(values, out, *arrays)


def red_black(predicates: Sequence[Predicate]) -> Search:
    """PSoup's tree of constants, each with its predicates by operator. Built from all constants at
    once it is balanced: a red-black tree whose red nodes are those of the lowest level."""
    keys, left, right, root = _balanced(sorted({constant for _, constant in predicates}))
    lists: list[list[int]] = [[] for _ in range(5 * len(keys))]
    places = {int(key): at for at, key in enumerate(keys)}
    for j, (op, constant) in enumerate(predicates):
        lists[5 * places[constant] + OPERATORS[op]].append(j)
    arrays = (keys, left, right, root, *as_arrays(lists))
    only_equal = all(op == "=" for op, _ in predicates)
    stack = np.empty(64, dtype=np.int64)
    return lambda values, out: kernels.red_black(values, out, *arrays, only_equal, stack)


def interval_tree(predicates: Sequence[Predicate]) -> Search:
    """The IBS tree: a predicate marks the fewest nodes whose ranges make up its interval."""
    keys, left, right, root = _balanced(sorted({constant for _, constant in predicates}))
    lists: list[list[int]] = [[] for _ in range(3 * len(keys))]
    for j, (op, constant) in enumerate(predicates):
        _mark(lists, j, _interval(op, constant), (keys, left, right), root, (-_INFINITE, _INFINITE))
    arrays = (keys, left, right, root, *as_arrays(lists))
    return lambda values, out: kernels.interval_tree(values, out, *arrays)


def asc_by_search(predicates: Sequence[Predicate]) -> Search:
    """ASC, its region found by binary search."""
    constants = sorted({constant for _, constant in predicates})
    thresholds = np.array([t for c in constants for t in (c, c + 1)], dtype=np.int64)
    return _asc(predicates, ByThresholds(thresholds))


def asc_by_table(predicates: Sequence[Predicate]) -> Search:
    """ASC, its region read from a table."""
    constants = sorted({constant for _, constant in predicates})
    thresholds = np.array([t for c in constants for t in (c, c + 1)], dtype=np.int64)
    low, high = int(thresholds[0]) - 1, int(thresholds[-1])
    reached = np.searchsorted(thresholds, np.arange(low, high + 1), side="right")
    return _asc(predicates, ByTable(low, (reached + 1).astype(np.int32)))


PEERS: Final[Mapping[str, Callable[[Sequence[Predicate]], Search]]] = {
    "linked list": linked_list,
    "grouped filter (CACQ)": grouped_filter,
    "red-black tree (PSoup)": red_black,
    "IBS tree": interval_tree,
    "ASC, binary search": asc_by_search,
    "ASC, table": asc_by_table,
}


def _asc(predicates: Sequence[Predicate], search: ByTable | ByThresholds) -> Search:
    queries = [
        ContinuousQuery(f"p{j}", "S", "", Comparison("x", op, constant))
        for j, (op, constant) in enumerate(predicates)
    ]
    bitmaps = build_constructs(queries, Schema.parse("x bigint")).constructs["x"].qrb[:]

    def run(values: NDArray[np.int64], out: NDArray[np.uint64]) -> None:
        regions = np.empty(len(values), dtype=np.int32)
        if isinstance(search, ByTable):
            by_table(values, search.low, search.regions, regions)
        else:
            by_thresholds(values, search.thresholds, regions)
        kernels.rows_of(regions, bitmaps, out)

    return run


def _balanced(constants: Sequence[int]) -> tuple[Any, Any, Any, int]:
    """A balanced search tree: key, left and right child (-1: none) of each node, and the root."""
    keys = np.array(constants, dtype=np.int64)
    left, right = np.full(len(keys), -1, dtype=np.int64), np.full(len(keys), -1, dtype=np.int64)

    def build(low: int, high: int) -> int:
        if low >= high:
            return -1
        middle = (low + high) // 2
        left[middle], right[middle] = build(low, middle), build(middle + 1, high)
        return middle

    return keys, left, right, build(0, len(keys))


def _interval(op: Op, constant: int) -> tuple[int, int]:
    """The integers a predicate is satisfied by, both ends included."""
    return {
        "=": (constant, constant),
        "<": (-_INFINITE, constant - 1),
        "<=": (-_INFINITE, constant),
        ">": (constant + 1, _INFINITE),
        ">=": (constant, _INFINITE),
        "<>": (0, -1),
    }[op]


def _mark(
    lists: list[list[int]],
    j: int,
    interval: tuple[int, int],
    tree: tuple[Any, Any, Any],
    at: int,
    around: tuple[int, int],
) -> None:
    """Mark the node ``at``, whose range is ``around`` (both ends included), and those below it."""
    keys, left, right = tree
    key = int(keys[at])
    sides = ((around[0], key - 1), (key, key), (key + 1, around[1]))
    for side, (low, high) in enumerate(sides):
        if low > high or low > interval[1] or high < interval[0]:
            continue
        child = (int(left[at]), -1, int(right[at]))[side]
        if interval[0] <= low and high <= interval[1]:
            lists[3 * at + side].append(j)
        elif child >= 0:
            _mark(lists, j, interval, tree, child, (low, high))
