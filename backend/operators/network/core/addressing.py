"""Arrays for kernels by their addresses: calls that hand on arrays are dear, and so is compiling
them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from backend.operators.network.core.blocks import Ints
from backend.operators.selection.bits import inlined

#: The address of int64 words.
Pointer: TypeAlias = Any
#: Words of an array in the table of addresses: its own, and its shape.
_N_WORD: Final = 4


def _words_at(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return _pointer(types.int64)(types.int64), generate


#: The int64 words at an address.
words_at: Any = cast("Any", intrinsic(_words_at))


@inlined
def words_of(array: Ints) -> Any:
    """An array as its address."""
    return words_at(np.int64(array.ctypes.data))


def addressed(arrays: Sequence[Any]) -> Ints:
    """Address and shape of each array, good as long as those are."""
    words: list[int] = []
    for array in arrays:
        words += (array.ctypes.data, *array.shape, *(0,) * (_N_WORD - 1 - array.ndim))
    return np.array(words, np.int64)


@inlined
def line(at: Pointer, place: int) -> Pointer:
    """An array of one dimension."""
    return words_at(at[place * _N_WORD])


@inlined
def row(at: Pointer, place: int, k: int) -> Pointer:
    """A row of an array of two dimensions."""
    word = place * _N_WORD
    return words_at(at[word] + 8 * k * at[word + 2])


@inlined
def row_in(at: Pointer, place: int, k: int, j: int) -> Pointer:
    """A row of an array of three dimensions."""
    word = place * _N_WORD
    return words_at(at[word] + 8 * (k * at[word + 2] + j) * at[word + 3])


@inlined
def size(at: Pointer, place: int, dimension: int) -> Any:
    """Of an array, in one of its dimensions."""
    return at[place * _N_WORD + 1 + dimension]


_make: Any = make_array
_populate: Any = populate_array
_pack: Any = cgutils.pack_array
_named_tuple: Any = types.NamedTuple
_pointer: Any = types.CPointer


def _array(n_dims: int, of: Any) -> Any:
    return types.Array(of, n_dims, "C")


def _made(context: Any, builder: Any, at: Any, place: Any, made: Any) -> Any:
    """The array of a type whose address and shape are at a place of a table of addresses."""
    word = context.get_constant(types.int64, _N_WORD)
    begin = builder.gep(at, [builder.mul(place, word)])
    address, *shape = (
        builder.load(builder.gep(begin, [context.get_constant(types.int64, k)]))
        for k in range(1 + made.ndim)
    )
    stride = item = context.get_constant(types.int64, made.dtype.bitwidth // 8)
    strides: list[Any] = []
    for length in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, length)
    array = _make(made)(context, builder)
    _populate(
        array,
        data=builder.inttoptr(address, array.data.type),
        shape=_pack(builder, shape),
        strides=_pack(builder, strides),
        itemsize=item,
        meminfo=None,
    )
    return array._getvalue()


def _array_at(n_dims: int) -> Any:
    def typed(context: Any, at: Any, place: Any) -> Any:
        made = _array(n_dims, types.int64)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _made(context, builder, arguments[0], arguments[1], made)

        return made(at, types.int64), generate

    return intrinsic(typed)


#: table(at, place): an array of two dimensions as such; cube: of three.
table: Any = _array_at(2)
cube: Any = _array_at(3)


def array_in(place: int, n_dims: int, of: Any = types.int64) -> Any:
    """What makes the array at a place of a table of addresses: ``made(at)``. of: its numbers."""

    def typed(context: Any, at: Any) -> Any:
        made = _array(n_dims, of)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = context.get_constant(types.int64, place)
            return _made(context, builder, arguments[0], word, made)

        return made(at), generate

    return intrinsic(typed)


def arrays_in(first: int, kind: Any, n_dims: Sequence[int], of: Sequence[Any]) -> Any:
    """What makes a named tuple ``kind`` of arrays that lie one after the other, from ``first``."""

    def typed(context: Any, at: Any) -> Any:
        made = [_array(n, numbers) for n, numbers in zip(n_dims, of, strict=True)]
        whole = _named_tuple(made, kind)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            arrays = [
                _made(context, builder, arguments[0], context.get_constant(types.int64, k), array)
                for k, array in enumerate(made, first)
            ]
            return context.make_tuple(builder, whole, arrays)

        return whole(at), generate

    return intrinsic(typed)


class RowsAside(NamedTuple):
    """Rows that lie in either of two arrays. where: the array whose rows say where those of the
    same number are, in their first number: from ``begin`` on, a power of two, in the array that is
    ``beyond`` places behind."""

    where: int
    begin: int
    beyond: int


class _Rows:
    """The code that finds numbers in rows of an array."""

    def __init__(self, place: int, widths: int, of: Any, aside: RowsAside | None) -> None:
        self._place, self._widths, self._of, self._aside = place, widths, of, aside

    def field(self, context: Any, builder: Any, arguments: Any) -> Any:
        """Where number ``arguments[2]`` of row ``arguments[1]`` is."""

        def constant(value: int) -> Any:
            return context.get_constant(types.int64, value)

        def field(of: Any, place: Any, width: int, row: Any, number: Any) -> Any:
            word = builder.mul(place, constant(_N_WORD))
            begin = builder.load(builder.gep(at, [word]))
            begin = builder.inttoptr(begin, context.get_value_type(_pointer(of)))
            wide = builder.load(builder.gep(widths, [constant(width)]))
            return builder.gep(begin, [builder.add(builder.mul(row, wide), number)])

        at, row, number = arguments[:3]
        widths = builder.load(builder.gep(at, [constant(self._widths * _N_WORD)]))
        widths = builder.inttoptr(widths, at.type)
        place, aside = constant(self._place), self._aside
        if aside is not None:
            of = types.int32
            where = field(of, constant(aside.where), aside.where, row, constant(0))
            row = context.cast(builder, builder.load(where), of, types.int64)
            is_beyond = builder.lshr(row, constant(aside.begin.bit_length() - 1))
            place = builder.add(place, builder.mul(is_beyond, constant(aside.beyond)))
            row = builder.and_(row, constant(aside.begin - 1))
        return field(self._of, place, self._place, row, number)


def field_in(place: int, widths: int, of: Any = types.int64, aside: RowsAside | None = None) -> Any:
    """``get(at, row, number)``: a number of a row of an array of rows, which is the ``place``-th.
    The ``place``-th number of the array ``widths`` says how wide it is."""
    rows = _Rows(place, widths, of, aside)

    def typed(context: Any, at: Any, row: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            loaded = builder.load(rows.field(context, builder, arguments))
            return context.cast(builder, loaded, of, types.int64)

        return types.int64(at, types.int64, types.int64), generate

    return intrinsic(typed)


def field_set_in(
    place: int, widths: int, of: Any = types.int64, aside: RowsAside | None = None
) -> Any:
    """``put(at, row, number, value)``: the same, written."""
    rows = _Rows(place, widths, of, aside)

    def typed(context: Any, at: Any, row: Any, number: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            stored = context.cast(builder, arguments[3], types.int64, of)
            builder.store(stored, rows.field(context, builder, arguments))
            return context.get_dummy_value()

        return types.void(at, types.int64, types.int64, types.int64), generate

    return intrinsic(typed)
