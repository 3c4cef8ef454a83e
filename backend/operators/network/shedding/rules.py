"""What is chosen about shedding as the kernel takes it. Card B3"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from backend.model.draws import seed_of
from backend.operators.network.core.blocks import Ints
from backend.operators.network.shedding.forms import group_bytes, row_bytes
from backend.operators.network.shedding.options import ShedAlgorithm, ShedOptions
from backend.operators.network.shedding.receipts import LossLedger
from backend.operators.network.shedding.slides import WindowExtent
from backend.operators.network.shedding.temporal import EVERY_LENGTH, ValidCondition
from backend.operators.network.shedding.words import (
    BESIDE,
    MEMORY,
    N_MEMORY,
    NEITHER,
    RUN_BYTES,
)

#: Algorithms as the kernel numbers them.
CALS, CALS_V, CALS_I, RAND, OLD, REACH, ONE_STEP = range(7)
_NUMBERS: Final[Mapping[ShedAlgorithm, int]] = {
    "cals": CALS,
    "cals-v": CALS_V,
    "cals-i": CALS_I,
    "rand": RAND,
    "oldest": OLD,
    "reach": REACH,
    "cals-m": ONE_STEP,
}


class ShedRules(NamedTuple):
    """What is dropped, and what is in the answer. limit, target: of the fact ``held``, tuples or
    bytes as runs; group_bytes: of a value group as runs. base: the tree whose runs losses are
    shares of, NEITHER where they do not matter; needs_exact: that all tuples of the window are kept
    beside; most: a length, or -1; gaps: lengths that are not in the answer, first and last; width:
    of a part of the window."""

    algorithm: int
    held: int
    limit: int
    target: int
    group_bytes: int
    protects: bool
    needs_exact: bool
    base: int
    on_exact: bool
    weight: float
    is_whole_weight: bool
    seed: int
    by_rows: bool
    size: int
    slide: int
    width: int
    least: int
    most: int
    gaps: Ints
    every_length: bool


def shed_rules(
    options: ShedOptions, extent: WindowExtent, lengths: ValidCondition, n_values: int
) -> ShedRules:
    """Of a window of tuples of so many values, and of the answer's condition on lengths."""
    algorithm = options.shed_algorithm
    on_exact = options.needs_exact and options.rho_basis == "exact"
    by_runs = algorithm in ("cals", "cals-v", "cals-i")
    base = BESIDE if algorithm == "cals-m" or (by_runs and on_exact) else MEMORY
    limit, target = options.limits(row_bytes(n_values))
    return ShedRules(
        algorithm=_NUMBERS[algorithm],
        held=RUN_BYTES if options.as_runs else N_MEMORY,
        limit=limit,
        target=target,
        group_bytes=group_bytes(n_values),
        protects=options.newest_protected and algorithm != "rand",
        needs_exact=options.needs_exact,
        base=NEITHER if algorithm in ("rand", "oldest") else base,
        on_exact=on_exact,
        weight=float(options.delta_weight),
        is_whole_weight=float(options.delta_weight).is_integer(),
        seed=_seed_word(options.seed),
        by_rows=extent.kind == "rows",
        size=extent.size,
        slide=extent.slide,
        width=LossLedger.width(extent),
        least=lengths.least,
        most=-1 if lengths.most is None else lengths.most,
        gaps=np.array(lengths.gaps, np.int64).reshape(-1, 2),
        every_length=lengths == EVERY_LENGTH,
    )


def _seed_word(seed: int) -> int:
    """What draws by a seed begin with (model.draws), as a signed word."""
    word = seed_of(seed)
    return word - (1 << 64) if word >> 63 else word
