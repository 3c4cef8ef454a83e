"""What a join that is tuned is to its kernel: tables of integers, and room to work in."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

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


#: The place of each array in the table that kernels are given.
A: Final[Any] = Arrays(*range(len(Arrays._fields)))
