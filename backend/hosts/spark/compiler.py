"""A selection plan compiled to native Spark SQL expressions: text in, text out, no pyspark.

The compiled plan is a list of projection steps. Step i carries the running bitmap GRB in the
columns ``_g0.._gW-1`` and, when the plan drops early, the visited constructs in ``_v0..`` (bit
``i % VISIT_BITS`` of word ``i // VISIT_BITS`` = the i-th construct of the order was visited). An
ASC is skipped exactly when no live bit can change: ``GRB & mask = 0`` with mask = qub under the
resolved-stop rule and all ones under the paper's GRB = 0 rule. Bitmap tables are named parameters
(``:t3_0``), to be bound to array literals: one node each for the optimizer, and passed to the
generated code by reference, so that a changed table of the same shape reuses the compiled class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from backend.hosts.spark.literals import below_and_equal, quote, sql_long
from backend.model.events import SelectionPlan
from backend.model.schema import INTEGER_TYPES
from backend.systems.asc.construct import Construct, Words
from backend.systems.asc.constructs import ConstructSet

VISIT_BITS = 62
#: Widest integer domain (between the least and the greatest constant) that gets a value table.
TABLE_LIMIT = 4096

#: Most (constructs x bitmap words) of a plan that is compiled; docs/adr/0007 has the measurements.
EXPRESSION_LIMIT = 16

#: Columns that one projection adds or replaces: (name, expression).
Step: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """The expressions of one plan.

    steps: per projection, (name, expression) of the columns it adds or replaces.
    tables: parameter -> int64 table it stands for (bit patterns of the bitmap words).
    n_words: bitmap words W. n_visit_words: visited words, 0 when the plan does not drop early.
    """

    plan: SelectionPlan
    steps: tuple[Step, ...]
    tables: Mapping[str, NDArray[np.int64]]
    n_words: int
    n_visit_words: int

    @property
    def bitmap_columns(self) -> tuple[str, ...]:
        return tuple(f"_g{w}" for w in range(self.n_words))

    @property
    def visit_columns(self) -> tuple[str, ...]:
        return tuple(f"_v{w}" for w in range(self.n_visit_words))

    def query(self, columns: Sequence[str], table: str) -> str:
        """One SQL text for the whole plan: nested selects, the first step innermost.

        columns: of ``table``, to carry along. The row number keeps Catalyst from pushing later
        filters through the steps, which would copy each expression into itself once a step (2^n
        of them). One text is analysed once, a chain of DataFrame calls anew at every link.
        """
        carried = [quote(name) for name in columns]
        row = "monotonically_increasing_id()"
        text = f"SELECT {', '.join([*carried, f'{row} AS _row'])} FROM {table}"
        carried.append("_row")
        for step in self.steps:
            added = {name for name, _ in step}
            kept = [c for c in carried if c not in added]
            terms = [*kept, *(f"{expression} AS {name}" for name, expression in step)]
            text = f"SELECT {', '.join(terms)} FROM ({text})"
            carried = [*kept, *(name for name, _ in step)]
        kept = [c for c in carried if c != "_row" and not c.startswith("_r")]
        return f"SELECT {', '.join(kept)}, _row + 0 * {row} AS _row FROM ({text})"

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


def fits_expressions(constructs: ConstructSet, plan: SelectionPlan) -> bool:
    """Whether the plan can be run as expressions; the kernels run any."""
    if plan.kind not in ("early drop", "no early drop"):
        return False
    return len(plan.order) * constructs.n_words <= EXPRESSION_LIMIT


def compile_plan(
    constructs: ConstructSet, plan: SelectionPlan, stop_rule: str, misfit: str | None = None
) -> CompiledPlan:
    """Compile ``plan``. stop_rule: 'resolved' or 'drop'. The order must name every construct.

    misfit: condition on tuples that take no part (their GRB starts empty), or None.
    """
    chosen = [constructs.constructs[name] for name in plan.order]
    words = [sql_long(int(word)) for word in constructs.initial]
    initial = [w if misfit is None else f"if({misfit}, 0L, {w})" for w in words]
    tables: dict[str, NDArray[np.int64]] = {}
    lookups = [_Lookup(construct, i, tables) for i, construct in enumerate(chosen)]
    if plan.kind == "no early drop" or not chosen:
        steps = _branch_free(lookups, initial)
        return CompiledPlan(plan, steps, tables, constructs.n_words, 0)
    n_visit_words = -(-len(chosen) // VISIT_BITS)
    start = [(f"_g{w}", text) for w, text in enumerate(initial)]
    start += [(f"_v{w}", "0L") for w in range(n_visit_words)]
    chain: list[Step] = [tuple(start)]
    for lookup in lookups:
        mask = lookup.construct.qub if stop_rule == "resolved" else _ones(constructs.n_words)
        chain += _early_drop_steps(lookup, mask)
    return CompiledPlan(plan, tuple(chain), tables, constructs.n_words, n_visit_words)


def _ones(n_words: int) -> Words:
    return np.full(n_words, np.uint64(2**64 - 1), dtype=np.uint64)


def _branch_free(lookups: Sequence[_Lookup], initial: Sequence[str]) -> tuple[Step, ...]:
    regions = tuple(
        (lookup.region_column, lookup.region()) for lookup in lookups if lookup.is_shared
    )
    columns = []
    for w, start in enumerate(initial):
        terms = [lookup.word(w) for lookup in lookups if lookup.construct.qub[w]]
        columns.append((f"_g{w}", " & ".join([start, *terms])))
    return (regions, tuple(columns)) if regions else (tuple(columns),)


def _early_drop_steps(lookup: _Lookup, mask: Words) -> list[Step]:
    """The projections of one ASC: its region once where that is dear, then bitmaps and visits."""
    used = [w for w in range(len(mask)) if lookup.construct.qub[w]]
    alive = any_bit([f"_g{w}" for w in range(len(mask)) if mask[w]], mask)
    steps: list[Step] = []
    if lookup.is_shared:
        steps.append(((lookup.region_column, f"if({alive}, {lookup.region()}, 0)"),))
    bitmaps = tuple((f"_g{w}", f"if({alive}, _g{w} & {lookup.word(w)}, _g{w})") for w in used)
    word, bit = divmod(lookup.position, VISIT_BITS)
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


class _Lookup:
    """One ASC's way from a value to a bitmap word.

    Narrow integer domains have a table by value; other attributes find their region by binary
    search, once for all words when the bitmap spans several.
    """

    def __init__(
        self, construct: Construct, position: int, tables: dict[str, NDArray[np.int64]]
    ) -> None:
        self.construct, self.position, self._tables = construct, position, tables
        self._values = _value_table(construct)
        self.is_shared = self._values is None and int(np.count_nonzero(construct.qub)) > 1
        self.region_column = f"_r{position}"

    def region(self) -> str:
        """The region index, 0 for NULL and NaN: a balanced tree of comparisons."""
        name = quote(self.construct.attribute)
        tree = _subtree(self.construct, name, 0, len(self.construct.constants))
        missing = f"{name} IS NULL"
        if self.construct.type in ("float", "double"):
            missing += f" OR isnan({name})"
        return f"if({missing}, 0, {tree})"

    def word(self, w: int) -> str:
        """Bitmap word ``w`` of the region the attribute's value hits."""
        rows = self.construct.qrb[:][:, w]
        if self._values is None:
            index = self.region_column if self.is_shared else self.region()
            return f"get({self._table(w, rows)}, {index})"
        low, regions = self._values
        high = low + len(regions) - 1
        name = quote(self.construct.attribute)
        clamped = f"least(greatest(bigint({name}), {sql_long(low)}), {sql_long(high)})"
        found = f"get({self._table(w, rows[regions])}, int({clamped} - {sql_long(low)}))"
        return f"if({name} IS NULL, {sql_long(int(rows[0]))}, {found})"

    def _table(self, w: int, words: Words) -> str:
        name = f"t{self.position}_{w}"
        self._tables[name] = words.view(np.int64)
        return f":{name}"


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
