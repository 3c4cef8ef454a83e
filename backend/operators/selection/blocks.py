"""Runs of 1, 2, 4 or 8 words as one vector each, for bitmaps too short for numba's own loops.

LLVM turns a loop into vectors of 16 words at a time and leaves a shorter rest to single words, with
a test before it whether the arrays overlap. Arrays are uint64, C-contiguous; places count words
from the array's first and are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

_WORD: Final = ir.IntType(64)
cgutils: Final[Any] = _cgutils


def _are_words(*arrays: Any) -> bool:
    return all(
        isinstance(a, types.Array) and a.layout == "C" and a.dtype == types.uint64 for a in arrays
    )


def _data(context: Any, builder: Any, signature: Any, arguments: Any, number: int) -> Any:
    """Where the array's words begin that is the argument with this number."""
    return context.make_array(signature.args[number])(context, builder, arguments[number]).data


def _at(builder: Any, data: Any, place: Any, vector: Any) -> Any:
    """The address of the vector whose first word is ``place``."""
    return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())


def _any(builder: Any, words: Any, vector: Any) -> Any:
    """Whether one bit is set."""
    is_set = builder.icmp_unsigned("!=", words, ir.Constant(vector, [0] * vector.count))
    together = ir.IntType(vector.count)
    return builder.icmp_unsigned("!=", builder.bitcast(is_set, together), ir.Constant(together, 0))


def _pairwise(keeps: bool) -> Any:
    def typed(context: Any, width: Any, words: Any, w: Any, rows: Any, at: Any) -> Any:
        if not (isinstance(width, types.IntegerLiteral) and _are_words(words, rows)):
            return None
        vector = ir.VectorType(_WORD, width.literal_value)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            left = _data(context, builder, signature, arguments, 1)
            right = _data(context, builder, signature, arguments, 3)
            own = _at(builder, left, arguments[2], vector)
            other = builder.load(_at(builder, right, arguments[4], vector), align=8)
            both = builder.and_(builder.load(own, align=8), other)
            if keeps:
                builder.store(both, own, align=8)
            return _any(builder, both, vector)

        return types.boolean(width, words, types.uintp, rows, types.uintp), generate

    return typed


def _and_all(
    context: Any, width: Any, out: Any, initial: Any, w: Any, rows: Any, starts: Any, n: Any
) -> Any:
    if not (isinstance(width, types.IntegerLiteral) and _are_words(out, initial, rows)):
        return None
    vector = ir.VectorType(_WORD, width.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, begin, pool, places = (
            _data(context, builder, signature, arguments, number) for number in (1, 2, 4, 5)
        )
        w = arguments[3]
        first = builder.load(_at(builder, begin, w, vector), align=8)
        left = cgutils.alloca_once_value(builder, first)
        with cgutils.for_range(builder, arguments[6]) as loop:
            place = builder.add(builder.load(builder.gep(places, [loop.index])), w)
            row = builder.load(_at(builder, pool, place, vector), align=8)
            builder.store(builder.and_(builder.load(left), row), left)
        builder.store(builder.load(left), _at(builder, to, w, vector), align=8)
        return context.get_dummy_value()

    indices = types.Array(types.int64, 1, "C")
    return types.none(width, out, initial, types.uintp, rows, indices, types.intp), generate


_intrinsic: Final[Any] = intrinsic(prefer_literal=True)
#: and_row(width, words, w, rows, at): words[w:w+width] &= rows[at:at+width]; whether a bit is left.
and_row: Callable[..., bool] = cast("Any", _intrinsic(_pairwise(keeps=True)))
#: meets(width, words, w, rows, at): whether words[w:w+width] and rows[at:at+width] share a bit.
meets: Callable[..., bool] = cast("Any", _intrinsic(_pairwise(keeps=False)))
#: and_all(width, out, initial, w, rows, starts, n): out[w:w+width] becomes that of ``initial`` AND
#: rows[starts[i]+w:starts[i]+w+width] for all i < n. starts: int64.
and_all: Callable[..., None] = cast("Any", _intrinsic(_and_all))
