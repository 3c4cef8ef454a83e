"""What all kernels are made with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from numba import njit, types
from numba.extending import intrinsic

from backend.operators.digest import package_digest

#: Where kernels call each other across folders.
_OPERATORS: Final = Path(__file__).resolve().parents[1]
Function = TypeVar("Function", bound=Callable[..., Any])

#: Without numba's reference counts (no kernel makes an array): they are atomic, and cost more than
#: the work between them.
_OPTIONS: Final[Any] = {"nogil": True, "cache": True, "_nrt": False}


def _named(function: Function) -> Function:
    folder = Path(function.__code__.co_filename).parent
    digest = package_digest(_OPERATORS if folder.is_relative_to(_OPERATORS) else folder)
    function.__qualname__ += f"_{digest}"
    return function


def kernel(function: Function) -> Function:
    """Compile at the first call; later processes find the machine code beside the module.

    numba's cache looks at that module's file alone, and would keep a helper that changed in
    another: the name it files the code under therefore changes with every module of an operator.
    """
    return cast("Function", njit(**_OPTIONS)(_named(function)))


def called(function: Function) -> Function:
    """A helper that stays a call where it is long: of code that is seldom run, or would be there
    many times. It should take few arrays."""
    return cast("Function", njit(**_OPTIONS)(_named(function)))


def inlined(function: Function) -> Function:
    """A helper that becomes part of the kernels that call it. numba leaves longer ones as calls,
    which pass every array in seven arguments and take longer than the work they are for."""
    return cast("Function", njit(**_OPTIONS, forceinline=True)(_named(function)))


def _trailing_zeros(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        is_never_zero = context.get_constant(types.boolean, True)
        return builder.cttz(arguments[0], is_never_zero)

    return types.int64(types.uint64), generate


#: The place of the lowest set bit of a uint64 that is not 0.
trailing_zeros: Callable[[Any], int] = cast("Any", intrinsic(_trailing_zeros))
