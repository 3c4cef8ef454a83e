"""A selection plan compiled to native Spark SQL expressions: text in, text out, no pyspark.

The compiled plan is a list of projection steps. Step i carries the running bitmap GRB in the
columns ``_g0.._gW-1`` and, when the plan drops early, the visited constructs in ``_v0..`` (bit
``i % VISIT_BITS`` of word ``i // VISIT_BITS`` = the i-th construct of the order was visited). An
ASC is skipped exactly when no live bit can change: ``GRB & mask = 0`` with mask = qub under the
resolved-stop rule and all ones under the paper's GRB = 0 rule. Bitmap tables are array literals,
which Spark passes to the generated code by reference: a changed table of the same shape reuses
the compiled class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from backend.adaptive.selection.construct import Construct, Words
from backend.adaptive.selection.constructs import ConstructSet
from backend.model.events import SelectionPlan
from backend.model.schema import INTEGER_TYPES
from backend.spark.literals import below_and_equal, quote, sql_long

VISIT_BITS = 62
#: Widest integer domain (between the least and the greatest constant) that gets a value table.
TABLE_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """The expressions of one plan.

    steps: per projection, (name, expression) of the columns it adds or replaces.
    n_words: bitmap words W. n_visit_words: visited words, 0 when the plan does not drop early.
    """

    plan: SelectionPlan
    steps: tuple[tuple[tuple[str, str], ...], ...]
    n_words: int
    n_visit_words: int

    @property
    def bitmap_columns(self) -> tuple[str, ...]:
        return tuple(f"_g{w}" for w in range(self.n_words))

    @property
    def visit_columns(self) -> tuple[str, ...]:
        return tuple(f"_v{w}" for w in range(self.n_visit_words))

    @property
    def matched(self) -> str:
        """Condition: the tuple satisfies at least one query."""
        return any_bit(self.bitmap_columns, None)

    def visited(self, position: int) -> str:
        """1 when the construct at ``position`` of the order was visited, else 0."""
        if not self.n_visit_words:
            return "1"
        word, bit = divmod(position, VISIT_BITS)
        return f"(shiftright(_v{word}, {bit}) & 1)"


def compile_plan(
    constructs: ConstructSet, plan: SelectionPlan, stop_rule: str, misfit: str | None = None
) -> CompiledPlan:
    """Compile ``plan``. stop_rule: 'resolved' or 'drop'. The order must name every construct.

    misfit: condition on tuples that take no part (their GRB starts empty), or None.
    """
    chosen = [constructs.constructs[name] for name in plan.order]
    words = [sql_long(int(word)) for word in constructs.initial]
    initial = [w if misfit is None else f"if({misfit}, 0L, {w})" for w in words]
    start = tuple((f"_g{w}", text) for w, text in enumerate(initial))
    if plan.kind == "no early drop" or not chosen:
        return CompiledPlan(plan, _branch_free(chosen, initial), constructs.n_words, 0)
    n_visit_words = -(-len(chosen) // VISIT_BITS)
    visits = tuple((f"_v{w}", "0L") for w in range(n_visit_words))
    steps: list[tuple[tuple[str, str], ...]] = [(*start, *visits)]
    for position, construct in enumerate(chosen):
        mask = construct.qub if stop_rule == "resolved" else _ones(constructs.n_words)
        steps += _early_drop_steps(construct, position, mask)
    return CompiledPlan(plan, tuple(steps), constructs.n_words, n_visit_words)


def _ones(n_words: int) -> Words:
    return np.full(n_words, np.uint64(2**64 - 1), dtype=np.uint64)


def _branch_free(
    chosen: Sequence[Construct], initial: Sequence[str]
) -> tuple[tuple[tuple[str, str], ...], ...]:
    regions = tuple(
        (f"_r{i}", index) for i, c in enumerate(chosen) if (index := _shared_index(c)) is not None
    )
    columns = []
    for w, start in enumerate(initial):
        terms = [start] + [
            _lookup(c, w, f"_r{i}" if _shared_index(c) else None)
            for i, c in enumerate(chosen)
            if c.qub[w]
        ]
        columns.append((f"_g{w}", " & ".join(terms)))
    return (regions, tuple(columns)) if regions else (tuple(columns),)


def _early_drop_steps(
    construct: Construct, position: int, mask: Words
) -> list[tuple[tuple[str, str], ...]]:
    """The projections of one ASC: its region once where that is dear, then bitmaps and visits."""
    used = [w for w in range(len(mask)) if construct.qub[w]]
    alive = any_bit([f"_g{w}" for w in range(len(mask)) if mask[w]], mask)
    steps: list[tuple[tuple[str, str], ...]] = []
    region = _shared_index(construct)
    if region is not None:
        steps.append(((f"_r{position}", f"if({alive}, {region}, 0)"),))
    column = f"_r{position}" if region is not None else None
    bitmaps = tuple(
        (f"_g{w}", f"if({alive}, _g{w} & {_lookup(construct, w, column)}, _g{w})") for w in used
    )
    word, bit = divmod(position, VISIT_BITS)
    visit = (f"_v{word}", f"if({alive}, _v{word} | {1 << bit}L, _v{word})")
    return [*steps, (*bitmaps, visit)]


def any_bit(columns: Sequence[str], mask: Words | None) -> str:
    """Condition: some column has a bit inside its mask (all bits when mask is None)."""
    terms = []
    for column in columns:
        word = None if mask is None else int(mask[int(column[2:])])
        whole = word is None or word == 2**64 - 1
        terms.append(column if whole else f"({column} & {sql_long(int(word or 0))})")
    return f"({' | '.join(terms)}) != 0L" if terms else "false"


def _lookup(construct: Construct, word: int, region_column: str | None) -> str:
    """The bitmap word of the region that the attribute's value hits."""
    rows = construct.qrb[:, word]
    if region_column is not None:
        return f"get({_longs(rows)}, {region_column})"
    table = _value_table(construct)
    if table is None:
        return f"get({_longs(rows)}, {_region_tree(construct)})"
    low, regions = table
    name = quote(construct.attribute)
    high = low + len(regions) - 1
    clamped = f"least(greatest(bigint({name}), {sql_long(low)}), {sql_long(high)})"
    index = f"int({clamped} - {sql_long(low)})"
    return f"coalesce(get({_longs(rows[regions])}, {index}), {sql_long(int(rows[0]))})"


def _longs(words: Words) -> str:
    return "array(" + ", ".join(sql_long(int(w)) for w in words) + ")"


def _shared_index(construct: Construct) -> str | None:
    """The region expression to compute once, for ASCs whose bitmap spans several words."""
    many = int(np.count_nonzero(construct.qub)) > 1
    return _region_tree(construct) if many and _value_table(construct) is None else None


def _value_table(construct: Construct) -> tuple[int, list[int]] | None:
    """(lowest value, region of each value up to the highest), for narrow integer domains."""
    if construct.type not in INTEGER_TYPES or not construct.constants:
        return None
    numbers = cast("tuple[int | float, ...]", construct.constants)
    if max(abs(numbers[0]), abs(numbers[-1])) > 2**53:
        return None
    low, high = math.floor(numbers[0]) - 1, math.ceil(numbers[-1]) + 1
    if high - low > TABLE_LIMIT:
        return None
    return low, [construct.region_of(v) for v in range(low, high + 1)]


def _region_tree(construct: Construct) -> str:
    """The region index by binary search: a balanced tree of comparisons, 0 for NULL and NaN."""
    name = quote(construct.attribute)
    tree = _subtree(construct, name, 0, len(construct.constants))
    missing = f"{name} IS NULL"
    if construct.type in ("float", "double"):
        missing += f" OR isnan({name})"
    return f"if({missing}, 0, {tree})"


def _subtree(construct: Construct, name: str, first: int, after: int) -> str:
    """Regions 2*first+1 .. 2*after+1, cut at the constants first..after-1 (counted from 0)."""
    if first == after:
        return str(2 * first + 1)
    middle = (first + after) // 2
    below, equal = below_and_equal(name, construct.constants[middle], construct.type)
    left = _subtree(construct, name, first, middle)
    right = _subtree(construct, name, middle + 1, after)
    point = f"if({equal}, {2 * middle + 2}, {right})" if equal != "false" else right
    return f"if({below}, {left}, {point})"
