"""Predicate indexes beside the construct: [L07] Fig. 4, 5. Times differ from run to run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.model.conditions import Op
from bench.experiments.conditions import Conditions
from bench.experiments.progress import ProgressBar
from bench.experiments.results import FigureResult, PaperClaim, Plot, Series, listed, verdict
from bench.peers import BLOCK, N_VALUES, predicates_of
from bench.peers_build import PEERS, Search

COUNTS: Final = (50, 100, 200, 400, 800)
LIST, GROUPED, RED_BLACK = "linked list", "grouped filter (CACQ)", "red-black tree (PSoup)"
ASC: Final = "ASC, binary search"
#: The paper's four.
OF_THE_PAPER: Final = (LIST, GROUPED, RED_BLACK, ASC)
#: "No clear difference": within this factor.
_ALIKE: Final = 2.0

Times = dict[str, list[float]]


def l07_figure_4(conditions: Conditions) -> FigureResult:
    """Equality alone."""
    times, setup = _measured(conditions, "2007 Fig. 4", ("=",))
    others = [name for name in OF_THE_PAPER if name != LIST]
    worst = [times[LIST][i] > max(times[n][i] for n in others) for i in range(len(COUNTS))]
    spread = [
        max(times[n][i] for n in others) / min(times[n][i] for n in others)
        for i in range(len(COUNTS))
    ]
    claims = (
        PaperClaim("The linked list is slowest", verdict(worst), _told(times)),
        PaperClaim(
            "Grouped filter, red-black tree and ASC do not clearly differ (within a factor of 2)",
            verdict([factor <= _ALIKE for factor in spread]),
            f"slowest over fastest {listed(spread, 1)} for {listed(COUNTS, 0)} predicates",
        ),
    )
    title = "2007 Fig. 4 — equality predicates"
    return FigureResult("2007-4", title, setup, (_plot(title, times),), claims, _NOTES)


def l07_figure_5(conditions: Conditions) -> FigureResult:
    """Inequalities alone."""
    times, setup = _measured(conditions, "2007 Fig. 5", ("<", "<=", ">", ">="))
    n = range(len(COUNTS))
    best = [times[ASC][i] == min(times[name][i] for name in OF_THE_PAPER) for i in n]
    worst = [times[RED_BLACK][i] == max(times[name][i] for name in OF_THE_PAPER) for i in n]
    ahead = [times[GROUPED][i] / times[ASC][i] for i in n]
    claims = (
        PaperClaim("ASC is fastest", verdict(best), _told(times)),
        PaperClaim(
            "It is by far faster than the grouped filter (more than twice)",
            verdict([factor > _ALIKE for factor in ahead]),
            f"{listed(ahead, 1)} times for {listed(COUNTS, 0)} predicates",
        ),
        PaperClaim("The red-black tree is slowest", verdict(worst), _told(times)),
    )
    title = "2007 Fig. 5 — inequality predicates"
    return FigureResult("2007-5", title, setup, (_plot(title, times),), claims, _NOTES)


_NOTES: Final = (
    "Compiled code, one core; each index writes the satisfied predicates as a bitmap. Times are"
    " those of the fastest block of tuples; they differ a little from run to run. The IBS tree and"
    " the table are not the paper's.",
)


def _measured(
    conditions: Conditions, name: str, ops: tuple[Op, ...]
) -> tuple[Times, tuple[tuple[str, str], ...]]:
    """Nanoseconds per tuple of every index, by number of predicates."""
    n_tuples = max(4 * BLOCK, conditions.tuples(5_000_000))
    rng = np.random.default_rng(conditions.seed)
    values = rng.integers(0, N_VALUES, n_tuples)
    bar = ProgressBar(name, n_tuples * len(COUNTS) * len(PEERS))
    times: Times = {peer: [] for peer in PEERS}
    for count in COUNTS:
        predicates = predicates_of(rng, ops, count)
        for peer, build in PEERS.items():
            bar.begin(f"{count} predicates, {peer}")
            times[peer].append(_ns(build(predicates), values, count))
            bar.advance(n_tuples)
    bar.end()
    setup = (
        (
            "tuples",
            f"{n_tuples:,}, one attribute, values 0..{N_VALUES - 1}, seed {conditions.seed}",
        ),
        ("scale", f"{conditions.scale:g}"),
        ("predicates", f"{', '.join(ops)}; different ones, constants among the values"),
    )
    return times, setup


def _ns(search: Search, values: NDArray[np.int64], n_predicates: int) -> float:
    """Nanoseconds per tuple of the fastest block: what else runs here makes blocks slower."""
    out = np.zeros((BLOCK, -(-n_predicates // 64)), dtype=np.uint64)
    times = []
    for start in range(0, len(values) // BLOCK * BLOCK, BLOCK):
        started = time.perf_counter()
        search(values[start : start + BLOCK], out)
        times.append(time.perf_counter() - started)
    return min(times) / BLOCK * 1e9


def _plot(title: str, times: Times) -> Plot:
    x = tuple(map(float, COUNTS))
    series = [Series(name, x, tuple(values)) for name, values in times.items()]
    return Plot(title, "predicates", "ns per tuple", "lines", tuple(series))


def _told(times: Times) -> str:
    parts = [f"{name} {_numbers(times[name])}" for name in OF_THE_PAPER]
    return f"ns per tuple for {listed(COUNTS, 0)} predicates: {'; '.join(parts)}"


def _numbers(values: Sequence[float]) -> str:
    return listed(values, 0)
