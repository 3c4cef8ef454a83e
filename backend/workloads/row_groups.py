"""Row groups of Parquet files that need not be read: what their statistics say of the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from backend.model.schema import FLOAT_TYPES, INTEGER_TYPES, Schema, folded
from backend.workloads.contract import as_array, fit_column
from backend.workloads.text_values import ARROW_TYPES


class Bounds(NamedTuple):
    """What is known of an attribute's values. ends: the least and the greatest, of the attribute's
    Arrow type; empty where all are NULL; None: not known. has_null: some may be NULL or NaN."""

    ends: pa.Array[Any] | None
    has_null: bool


#: Nothing is known.
UNKNOWN: Final = Bounds(None, True)
#: Bounds by attribute.
BoundsOf: TypeAlias = Callable[[str], Bounds]
#: Whether nothing that is asked for can lie between these bounds.
Refutes: TypeAlias = Callable[[BoundsOf], bool]


@dataclass
class RowGroup:
    """A row group that was not read when it came. times: of its tuples, where the stream has a
    timestamp. n_passed: of its tuples, from the first on, so many stay unread; its reader reads
    the others when it is asked for more."""

    n_tuples: int
    bounds: BoundsOf
    times: pa.Array[Any] | None
    n_passed: int = 0

    def __len__(self) -> int:
        return self.n_passed

    @property
    def n_left(self) -> int:
        """Tuples that are neither passed over nor read."""
        return self.n_tuples - self.n_passed


@dataclass
class Passing:
    """Which row groups are not read, at the moment. refutes: None while all are read; timestamp:
    the attribute with event time, or None. n_refuted: row groups that were passed over in whole,
    of n_groups that came."""

    refutes: Refutes | None = None
    timestamp: str | None = None
    n_refuted: int = 0
    n_groups: int = 0
    _known: tuple[RowGroup, Refutes] | None = field(default=None, repr=False)

    def passes(self, group: RowGroup) -> bool:
        """Whether the row group is refuted by what is asked now."""
        if self.refutes is None:
            return False
        if self._known is not None and self._known[0] is group and self._known[1] == self.refutes:
            return True
        self._known = (group, self.refutes) if self.refutes(group.bounds) else None
        return self._known is not None


class GroupStatistics:
    """The statistics of a file's row groups. names: its columns that are read; constants: columns
    of one value, for attributes whose value is the same in all tuples."""

    def __init__(
        self,
        file: pq.ParquetFile,
        schema: Schema,
        names: Sequence[str],
        constants: Mapping[str, pa.Array[Any]],
    ) -> None:
        self._file, self._schema, self._constants = file, schema, constants
        self._names = {folded(name): name for name in names}
        self._kinds = {field.name: _value_type(field.type) for field in file.schema_arrow}
        self._metadata = file.metadata
        paths = [file.schema.column(place).path for place in range(len(file.schema))]
        self._places = {p: n for n, p in enumerate(paths) if paths.count(p) == 1}

    def group(self, number: int, passing: Passing) -> RowGroup | None:
        """The row group, if it is refuted, and none of its tuples is a misfit; else None."""
        n_tuples = self._metadata.row_group(number).num_rows
        known: dict[str, Bounds] = {}

        def bounds(attribute: str) -> Bounds:
            if attribute not in known:
                known[attribute] = self._bounds(number, attribute)
            return known[attribute]

        group = RowGroup(n_tuples, bounds, None)
        if not passing.passes(group):
            return None
        with suppress(pa.ArrowException, OSError, ValueError):  # whoever reads it on is told
            group.times = self._times(number, passing.timestamp)
            if passing.timestamp is None or group.times is not None:
                return group if self._fits(number, bounds) else None
        return None

    def _bounds(self, number: int, attribute: str) -> Bounds:
        wanted = self._schema.find(attribute)
        assert wanted is not None
        constant = self._constants.get(attribute)
        if constant is not None:
            values = constant.drop_null()
            ends = pa.concat_arrays([values, values])
            return Bounds(ends, wanted.type in FLOAT_TYPES or not len(values))
        name = self._names.get(folded(attribute))
        group = self._metadata.row_group(number)
        place = None if name is None else self._places.get(name)
        if name is None or place is None:
            return UNKNOWN
        stored = group.column(place).statistics
        if stored is None:
            return UNKNOWN
        n_null = stored.null_count if stored.has_null_count else None
        has_null = n_null != 0 or wanted.type in FLOAT_TYPES
        if n_null == group.num_rows:
            return Bounds(pa.array([], ARROW_TYPES[wanted.type]), True)
        ends = _ends(stored, self._kinds[name], wanted.type) if stored.has_min_max else None
        return Bounds(ends, has_null)

    def _times(self, number: int, timestamp: str | None) -> pa.Array[Any] | None:
        """The times of a row group's tuples; None where one has none, or no column holds them."""
        name = None if timestamp is None else self._names.get(folded(timestamp))
        attribute = None if timestamp is None else self._schema.find(timestamp)
        if name is None or attribute is None:
            return None
        column = self._file.read_row_group(number, [name]).column(name)
        times, bad = fit_column(as_array(column), attribute.type)
        return None if bad.any() or times.null_count else times

    def _fits(self, number: int, bounds: BoundsOf) -> bool:
        """Whether no tuple is a misfit: by the types and bounds of its columns, or by a look at
        them where those do not say."""
        unsure: list[str] = []
        for attribute in self._schema.attributes:
            name = self._names.get(folded(attribute.name))
            if name is None or _fits_always(self._kinds[name], attribute.type):
                continue
            is_between = _fits_between(self._kinds[name], attribute.type)
            if not (is_between and bounds(attribute.name).ends is not None):
                unsure.append(name)
        if not unsure:
            return True
        table = self._file.read_row_group(number, unsure)
        columns = [(table.column(name), self._schema.find(name)) for name in unsure]
        return not any(
            attribute is None or fit_column(as_array(column), attribute.type)[1].any()
            for column, attribute in columns
        )


def _ends(stored: pq.Statistics, kind: pa.DataType, type_name: str) -> pa.Array[Any] | None:
    """The least and the greatest value as the attribute has them; None where one does not fit, or
    the statistics have them rounded."""
    if not _is_ordered(kind):
        return None
    with suppress(pa.ArrowException, ValueError, OverflowError, TypeError):
        ends = pa.array([stored.min, stored.max], kind)
        if _fits_always(kind, type_name):
            return ends
        ends, bad = fit_column(ends, type_name)
        return None if bad.any() or ends.null_count else ends
    return None


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_ordered(kind: pa.DataType) -> bool:
    """Whether statistics of such columns order values as queries do."""
    if pa.types.is_timestamp(kind):
        return bool(kind.unit != "ns")
    return bool(
        pa.types.is_integer(kind)
        or (pa.types.is_floating(kind) and kind != pa.float16())
        or pa.types.is_boolean(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
    )


def _fits_always(kind: pa.DataType, type_name: str) -> bool:
    """Whether every value of such a column is one of the type."""
    is_number = type_name in INTEGER_TYPES or type_name in FLOAT_TYPES or type_name == "boolean"
    return is_number and bool(kind == ARROW_TYPES[type_name])


def _fits_between(kind: pa.DataType, type_name: str) -> bool:
    """Whether every value of such a column is one of the type if the least and the greatest are."""
    if type_name in INTEGER_TYPES:
        return bool(pa.types.is_integer(kind))
    if type_name == "date":
        return bool(pa.types.is_date32(kind))
    return type_name == "timestamp" and bool(pa.types.is_timestamp(kind) and kind.unit != "ns")
