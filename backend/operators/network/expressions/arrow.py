"""Tuples on their way in and out of a network: Arrow columns and those of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from backend.model.schema import FLOAT_TYPES, Attribute
from backend.operators.network.core.blocks import Block, Column64, dtype_of
from backend.operators.network.core.strings import Strings
from backend.workloads.text_values import ARROW_TYPES

#: What an answer says of each element beside its columns.
TAU: Final = "tau"
SIGN: Final = "sign"
#: And where it is asked for.
ACCURACY: Final = "accuracy"
#: Types whose values are held as the integers Arrow stores.
_STORED: Final = {"date": pa.int32(), "timestamp": pa.int64(), "boolean": pa.int8()}


def column64(column: Any, type_name: str, strings: Strings) -> Column64:
    """An Arrow column (an Array or a ChunkedArray) of a type of Spark SQL as values of a block."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if type_name == "string":
        codes, valid = strings.encode(column)
        return Column64(codes, valid)
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    if type_name in _STORED:
        column = column.cast(_STORED[type_name])
    if valid is not None:
        column = pc.fill_null(column, 0)
    values = column.to_numpy(zero_copy_only=False).astype(dtype_of(type_name))
    if type_name in FLOAT_TYPES:
        values += 0.0  # -0.0 becomes 0.0
        values[np.isnan(values)] = np.nan
    return Column64(values, valid)


def columns64(
    table: pa.Table | pa.RecordBatch, fields: Sequence[Attribute], strings: Strings
) -> tuple[Column64, ...]:
    """The columns of a table whose types are those of ``fields``, place by place."""
    return tuple(
        column64(table.column(place), field.type, strings) for place, field in enumerate(fields)
    )


def arrow_column(column: Column64, type_name: str, strings: Strings) -> pa.Array[Any]:
    """The values as Arrow has that type of Spark SQL."""
    absent = None if column.valid is None else ~column.valid
    if type_name == "string":
        codes = column.values if absent is None else np.where(absent, -1, column.values)
        return strings.decode(codes)
    values = column.values != 0 if type_name == "boolean" else column.values
    array = pa.array(values, mask=absent)
    target = ARROW_TYPES[type_name]
    if type_name in _STORED and type_name != "boolean":
        array = array.cast(_STORED[type_name])
    return array if array.type == target else array.cast(target)


def answer_schema(fields: Sequence[Attribute]) -> pa.Schema:
    """The columns of an answer, then ``tau`` and ``sign``."""
    columns = [pa.field(field.name, ARROW_TYPES[field.type]) for field in fields]
    return pa.schema([*columns, pa.field(TAU, pa.int64()), pa.field(SIGN, pa.int8())])


def with_accuracy(schema: pa.Schema) -> pa.Schema:
    """The columns of an answer, and the accuracy; numbered where the name is taken."""
    taken = {name.lower() for name in schema.names}
    names = (ACCURACY if number < 2 else f"{ACCURACY}_{number}" for number in count(1))
    name = next(name for name in names if name not in taken)
    return schema.append(pa.field(name, pa.float64()))


def answer_batch(block: Block, fields: Sequence[Attribute], strings: Strings) -> pa.RecordBatch:
    """Elements as ``answer_schema`` has them."""
    columns = [
        arrow_column(column, field.type, strings)
        for column, field in zip(block.columns, fields, strict=True)
    ]
    stamps = [pa.array(block.tau), pa.array(block.sign)]
    return pa.RecordBatch.from_arrays([*columns, *stamps], schema=answer_schema(fields))
