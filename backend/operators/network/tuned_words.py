"""What a join that is tuned is to its kernel: tables of integers, and room to work in."""

from __future__ import annotations

from typing import Final, NamedTuple

from backend.operators.network.blocks import Ints, Values

#: Of the points before and after a step: the cache that is read before it and the last step that
#: spans, the first step of the segment that ends with it; from where to where the caches updated
#: after it, the columns that give classes their values on a hit, and the shadows before it stand.
READER, LAST, ENDS, UPDATES, UPDATES_END, BOUND, BOUND_END, SHADOWS, SHADOWS_END = range(9)
N_POINT: Final = 9
#: Of pipelines: in 2^53rds, below which a hash profiles an element, or times it; the walks of drop
#: probing, the paths of profiles; caches to settle, and keyed ones to check, after an element.
PROFILED, TIMED, SEED, DROPS, DROPS_END, PATHS, PATHS_END = range(7)
COUNTED, COUNTED_END, KEYED, KEYED_END = range(7, 11)
N_PIPELINE: Final = 11
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
#: What an element may do: it joins nothing, has no partner somewhere, or goes through its pipeline.
UNBOUND, PARTNERLESS, GOES = range(3)
#: Of operations besides those of steps: indexes probed, tuples built, tuples looked at.
N_PROBED, N_BUILT, N_SCANNED = range(3)
#: Of what is observed of an element: τ, who drops it; then entering, times and scanned by step.
TAU, DROPPED_BY, ENTERING = range(3)
#: Of shadow look-ups, added up: look-ups, distinct keys, blocks.
SHADOW_PROBES, SHADOW_MISSES, SHADOW_BLOCKS = range(3)


class Program(NamedTuple):
    """What a join is to do, and where its state lies. steps: int64[n, n-1, 3]; points: int64[n,
    n-1, N_POINT]; pipelines: int64[n, N_PIPELINE]; walks: rows as steps. caches and shadows:
    columns of cache_kernel; of shadows DIRECTORY are the bits, N_CELLS their number, FACTS those
    set and the look-ups of the block, MOST its length."""

    inputs: Ints
    keys: Ints
    indexes: Ints
    steps: Ints
    progress: Ints
    points: Ints
    pipelines: Ints
    lists: Ints
    bindings: Ints
    walks: Ints
    drops: Ints
    paths: Ints
    caches: Ints
    shadows: Ints


class Workroom(NamedTuple):
    """Room for an element at work, and what is counted. busy: int64[accounts, 2], ns and how often:
    of steps, then of look-ups and updates of each cache. starts: where steps begin, -1: anywhere.
    aside: as tally, of what is besides the pipeline."""

    values: Ints
    cursor: Ints
    starts: Ints
    chosen: Ints
    tally: Ints
    aside: Ints
    levels: Ints
    state: Ints
    busy: Ints
    counts: Ints
    operations: Ints
    numbers: Ints
    cache_counts: Ints
    shadow_sums: Values
    observed: Ints
    n_observed: Ints
