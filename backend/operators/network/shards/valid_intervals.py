"""Tuples that are valid at no instant, which are kept aside. [AL11], card B6"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from backend.model.schema import ValidTimes
from backend.operators.network.core.blocks import Bools


def what_is_invalid(row: pa.Table, valid: ValidTimes) -> str:
    """Why a tuple is valid at no instant, and what is allowed. row: the tuple alone."""
    start, end = (row.column(name)[0].as_py() for name in (valid.start, valid.end))
    if start is None or end is None:
        return f"its valid time has no {valid.start if start is None else valid.end}"
    what = "is empty" if start == end else "ends before it begins"
    least = "from" if valid.is_closed else "after"
    return f"its valid time [{start}, {end}) {what}; {valid.end} has to be {least} {start}"


def without_instant(tuples: pa.Table, valid: ValidTimes | None) -> Bools | None:
    """bool[n]: the tuples whose valid time is empty, reversed or unknown; None: there is none."""
    if valid is None or valid.key or not tuples.num_rows:
        return None
    compare = pc.less_equal if valid.is_closed else pc.less
    is_valid = compare(tuples.column(valid.start), tuples.column(valid.end))
    invalid: Bools = ~pc.fill_null(is_valid, False).to_numpy(zero_copy_only=False)
    return invalid if invalid.any() else None
