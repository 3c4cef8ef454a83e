"""A clock that kernels can read."""

from __future__ import annotations

import time
from typing import Any, Final, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from backend.operators.network.core.addressing import words_at
from backend.operators.network.core.blocks import Ints
from backend.operators.selection.bits import called, kernel

_READINGS: Final = 200


def _read_clock(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(32)
        type = ir.FunctionType(number, [number, ir.IntType(64)])
        insert: Any = cgutils.get_or_insert_function
        function = insert(builder.module, type, "clock_gettime")
        clock = ir.Constant(number, time.CLOCK_MONOTONIC)
        return builder.sext(builder.call(function, [clock, arguments[0]]), ir.IntType(64))

    return types.int64(types.int64), generate


#: Write seconds and nanoseconds to two words at an address.
_read: Any = cast("Any", intrinsic(_read_clock))


@called
def nanoseconds(address: int) -> Any:
    """The time. address: of two words of room."""
    _read(address)
    words = words_at(address)
    return words[0] * 1_000_000_000 + words[1]


@kernel
def _readings(room: Ints, times: Ints) -> None:
    address: Any = np.int64(room.ctypes.data)
    for k in range(len(times)):
        times[k] = nanoseconds(address)


def clock_overhead_ns() -> int:
    """What reading the clock takes, at the least; measured at each call."""
    times = np.zeros(_READINGS, np.int64)
    _readings(np.zeros(2, np.int64), times)
    return int(np.diff(times).min())
