"""Values of a column as those of another type; NULL where that has none for them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from backend.model.schema import FLOAT_TYPES, INTEGER_TYPES
from backend.operators.network.core.blocks import Block, Bools, Column64, Values
from backend.operators.network.core.strings import Strings
from backend.operators.network.expressions.arithmetic import DAY_US, both, column, computed
from backend.operators.network.expressions.arrow import arrow_column, column64
from backend.operators.network.expressions.evaluation import Evaluate
from backend.operators.values import texts
from backend.workloads.text_values import INTEGER_BITS, read_texts


def converted(inside: Evaluate, given: str, wanted: str, strings: Strings) -> Evaluate:
    """Values of the type ``given`` as such of ``wanted``, as ``convertible`` allows.

    Numbers lose what is behind the point; what a type cannot hold is NULL, as is text that does not
    say a value of it. Text is read and written as in files of CSV.
    """

    def evaluate(block: Block) -> Column64:
        operand = inside(block)
        if given == "string":
            return _read(operand, wanted, strings)
        if wanted == "string":
            return _written(operand, given, strings)
        values, fits = _number(operand.values, given, wanted)
        return column(values, both(operand.valid, fits))

    return evaluate


def _number(values: Values, given: str, wanted: str) -> tuple[Values, Bools | None]:
    """Numbers, truths and times as columns hold them; which there are."""
    with np.errstate(all="ignore"):
        if wanted in INTEGER_TYPES:
            return _integers(values, INTEGER_BITS[wanted])
        if wanted == "float":
            return values.astype(np.float32).astype(np.float64), None
        if wanted in FLOAT_TYPES:
            return values.astype(np.float64), None
    if wanted == "boolean":
        known = ~np.isnan(values) if values.dtype == np.float64 else None
        return (values != 0).astype(np.int64), known
    if wanted == "date":
        return values // DAY_US, None
    moments = computed("*", values, np.full(len(values), DAY_US))
    return moments.values, moments.valid


def _integers(values: Values, bits: int) -> tuple[Values, Bools]:
    limit = 1 << (bits - 1)
    if values.dtype != np.float64:
        return values, (values >= -limit) & (values <= limit - 1)
    whole = np.trunc(values)
    fits = (whole >= -float(limit)) & (whole < float(limit))
    return np.where(fits, whole, 0).astype(np.int64), fits


def _read(operand: Column64, wanted: str, strings: Strings) -> Column64:
    """Each text once."""
    codes, which = np.unique(operand.values, return_inverse=True)
    known = strings.decode(codes if len(strings) else np.full(len(codes), -1))
    values, misfits = read_texts(known, wanted)
    read = column64(values, wanted, strings)
    valid = (read.is_valid & ~misfits)[which]
    return column(read.values[which], both(operand.valid, valid))


def _written(operand: Column64, given: str, strings: Strings) -> Column64:
    """Each value once."""
    numbers, which = np.unique(operand.values, return_inverse=True)
    written = texts(arrow_column(Column64(numbers), given, strings))
    codes, _ = strings.encode(pc.cast(written, pa.string()))
    return column(codes[which], operand.valid)
