"""The native stage of a filter plan as Spark SQL text; nothing is run here.

Native filters run in order inside one CASE expression, which stops at the first that drops the
tuple; chained .filter() calls would be merged and reordered. Tuples they drop go no further, except
sampled ones, which carry the bits of all native filters to the operator behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from backend.hosts.spark.literals import below_and_equal, quote
from backend.hosts.spark.observed import sampled
from backend.hosts.spark.plan_run import Stream
from backend.model.conditions import And, Comparison, Condition, NullTest, Or
from backend.model.filters import Filter, FilterPlan
from backend.model.schema import FLOAT_TYPES, Schema
from backend.operators.filters.operator import (
    ALIVE,
    ARRIVAL,
    BITS,
    FIRST,
    FLAW,
    MISFIT,
    RAW,
)
from backend.operators.flags import PROFILED, RECENT
from backend.workloads.contract import CORRUPT


def native_stage(
    stream: Stream, filters: Sequence[Filter], plan: FilterPlan, table: str, has_arrival: bool
) -> str:
    """SELECT of the stream's attributes and the stage columns from ``table``.

    ``:sampling`` stands for seed and thresholds, as in backend.hosts.spark.observed.
    """
    names, misfit = stream.columns, stream.misfit
    conditions = [native_condition(f, stream.schema) for f in _in_order(filters, plan.native)]
    carried = [*names, CORRUPT, *([ARRIVAL] if has_arrival else [])]
    stages = [
        f"{first_dropper(conditions, misfit)} AS {FIRST}",
        f"if({PROFILED}, {dropped_bits(conditions)}, 0L) AS {BITS}",
        f"if({misfit}, {stream.raw}, null) AS {RAW}",
        f"if({misfit}, {stream.flaw}, null) AS {FLAW}",
        PROFILED,
        RECENT,
        *([ARRIVAL] if has_arrival else []),
    ]
    return f"SELECT {', '.join([*names, *stages])} FROM ({sampled(carried, table)})"


def first_dropper(conditions: Sequence[str], misfit: str) -> str:
    """Position of the first condition that does not hold, ALIVE when all do, MISFIT for misfits."""
    cases = "".join(f" WHEN NOT ({c}) THEN {place}" for place, c in enumerate(conditions))
    return f"CASE WHEN {misfit} THEN {MISFIT}{cases} ELSE {ALIVE} END"


def dropped_bits(conditions: Sequence[str]) -> str:
    """Bit ``place`` is set when the condition there does not hold."""
    terms = [f"if({c}, 0L, {1 << place}L)" for place, c in enumerate(conditions)]
    return " | ".join(terms) or "0L"


def native_condition(filter_: Filter, schema: Schema) -> str:
    """The filter as a condition that is never NULL: unknown does not select."""
    condition = filter_.condition
    assert isinstance(condition, Comparison | NullTest | And | Or)
    return f"coalesce({_sql(condition, schema)}, false)"


def _in_order(filters: Sequence[Filter], names: Sequence[str]) -> list[Filter]:
    by_name = {f.name: f for f in filters}
    return [by_name[name] for name in names]


def _sql(condition: Condition, schema: Schema) -> str:
    """Three-valued, as in backend.model.conditions; NaN compares like NULL."""
    if isinstance(condition, Comparison):
        return _comparison(condition, schema)
    if isinstance(condition, NullTest):
        name = quote(condition.attribute)
        test = f"({name} IS NULL)"
        if _type(condition.attribute, schema) in FLOAT_TYPES:
            test = f"({name} IS NULL OR isnan({name}))"
        return f"(NOT {test})" if condition.negated else test
    word, empty = (" AND ", "true") if isinstance(condition, And) else (" OR ", "false")
    return f"({word.join(_sql(part, schema) for part in condition.parts) or empty})"


def _comparison(condition: Comparison, schema: Schema) -> str:
    name, type_name = quote(condition.attribute), _type(condition.attribute, schema)
    below, equal = below_and_equal(name, condition.constant, type_name)
    found = {
        "=": f"({equal})",
        "<>": f"(NOT ({equal}))",
        "<": f"({below})",
        "<=": f"({below} OR {equal})",
        ">": f"(NOT ({below} OR {equal}))",
        ">=": f"(NOT ({below}))",
    }[condition.op]
    unknown = f"{name} IS NULL"
    if type_name in FLOAT_TYPES:
        unknown += f" OR isnan({name})"
    return f"if({unknown}, null, {found})"


def _type(attribute: str, schema: Schema) -> str:
    found = schema.find(attribute)
    assert found is not None
    return found.type
