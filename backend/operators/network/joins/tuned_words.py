"""What a join that is tuned is to its kernel: tables of integers, and room to work in."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from backend.operators.network.core.blocks import Ints
from backend.operators.network.joins.join_kernel import Pointer, words_at
from backend.operators.selection.bits import inlined

#: Of the points before and after a step: the cache that is read before it and the last step that
#: spans, the first step of the segment that ends with it; from where to where the caches updated
#: after it, the columns that give classes their values on a hit, and the shadows before it stand.
READER, LAST, ENDS, UPDATES, UPDATES_END, BOUND, BOUND_END, SHADOWS, SHADOWS_END = range(9)
N_POINT: Final = 9
#: Of pipelines: shares (the words of floating-point numbers) of elements that are profiled, and of
#: those that are timed besides; the walks of drop probing, the paths of profiles; caches to settle,
#: and keyed ones to check, after an element; whether elements that are not watched go the way of
#: joins that are not tuned, now and when no shadow is open any more; how many are.
PROFILED, TIMED, SEED, DROPS, DROPS_END, PATHS, PATHS_END = range(7)
COUNTED, COUNTED_END, KEYED, KEYED_END, IS_PLAIN, IS_PLAIN_BEHIND, OPEN = range(7, 14)
N_PIPELINE: Final = 14
#: Of columns that give classes their values: input, column, class, whether compared as a float.
INPUT, COLUMN, GROUP, AS_FLOAT = range(4)
#: Of drop probing: the walk, and the step that goes on from where it stopped, -1: none. Of paths:
#: the input they lead to, from where to where their walk stands.
WALK, GOES_ON = range(2)
PATH_TO, PATH, PATH_END = range(3)
#: Of levels: how tuples are found; from which level it was entered; of a segment that is not in
#: its cache the tuples so far, and how many, -1: too many.
MODE, CAME, CHAIN, N_CHAIN = range(4)
N_LEVEL: Final = 4
PLAIN, HIT, MISS = range(3)
#: State of the element at work: the level where it stopped, how it is watched, who drops it, when
#: the clock was read last, what that takes, and where it writes.
LEVEL, WATCH, DROPPED, MARK, OVERHEAD, CLOCK = range(6)
N_STATE: Final = 6
UNWATCHED, WATCH_TIMES, WATCH_ALL = range(3)
#: The number of an element that does not come.
NEVER: Final = 1 << 62
#: What an element may do: it joins nothing, has no partner somewhere, or goes through its pipeline.
UNBOUND, PARTNERLESS, GOES = range(3)
#: Of operations besides those of steps: indexes probed, tuples built, tuples looked at.
N_PROBED, N_BUILT, N_SCANNED = range(3)
#: Of what is observed of an element: τ, who drops it; then entering, times and scanned by step.
TAU, DROPPED_BY, ENTERING = range(3)
#: Of shadow look-ups, added up: look-ups, millionths of new keys, blocks; and such of the keys of
#: the run so far. Facts of a bitmap: bits set, look-ups of the block, blocks of the run, such
#: millionths at the end of the block before.
SHADOW_PROBES, SHADOW_MISSES, SHADOW_BLOCKS, SHADOW_KEYS, SHADOW_RUNS = range(5)
BITS_SET, IN_BLOCK, IN_RUN, KEYS_BEFORE = range(4)
N_BITMAP: Final = 4
MILLION: Final = 1_000_000


class Arrays(NamedTuple):
    """What a join is to do, where its state lies, and room for an element at work: int64 arrays.

    steps: [n, n-1, 3]; points: [n, n-1, N_POINT]; pipelines: [n, N_PIPELINE]; walks: rows as steps.
    caches and shadows: columns of cache_kernel; of shadows DIRECTORY are the bits, N_CELLS their
    number, FACTS those set and the look-ups of the block, MOST its length, N_SETS the blocks after
    which they are closed (0: never). starts: where steps begin, -1: anywhere. due: of each input
    the number of the next element that is watched. aside: as tally, of what is besides the
    pipeline. busy: [accounts, 2], ns and how often: of steps, then of look-ups and updates of each
    cache.
    """

    inputs: Any
    keys: Any
    indexes: Any
    steps: Any
    progress: Any
    points: Any
    pipelines: Any
    lists: Any
    bindings: Any
    walks: Any
    drops: Any
    paths: Any
    caches: Any
    shadows: Any
    values: Any
    cursor: Any
    starts: Any
    chosen: Any
    tally: Any
    aside: Any
    levels: Any
    state: Any
    busy: Any
    counts: Any
    operations: Any
    numbers: Any
    due: Any
    cache_counts: Any
    shadow_sums: Any
    observed: Any
    n_observed: Any


#: The place of each array in the table that kernels are given: calls that hand on arrays are dear,
#: and so is compiling them.
A: Final[Any] = Arrays(*range(len(Arrays._fields)))
_N_WORD: Final = 4


def addressed(arrays: Arrays) -> Ints:
    """Address and shape of each array, good as long as those are."""
    words: list[int] = []
    for array in arrays:
        address, _ = array.__array_interface__["data"]
        words += (address, *array.shape, *(0,) * (_N_WORD - 1 - array.ndim))
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


def _array_at(n_dims: int) -> Any:
    def typed(context: Any, at: Any, place: Any) -> Any:
        made = types.Array(types.int64, n_dims, "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = context.get_constant(types.int64, _N_WORD)
            begin = builder.gep(arguments[0], [builder.mul(arguments[1], word)])
            address, *shape = (
                builder.load(builder.gep(begin, [context.get_constant(types.int64, k)]))
                for k in range(1 + n_dims)
            )
            stride = item = context.get_constant(types.int64, 8)
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

        return made(at, types.int64), generate

    return intrinsic(typed)


#: table(at, place): an array of two dimensions as such; cube: of three.
table: Any = _array_at(2)
cube: Any = _array_at(3)
