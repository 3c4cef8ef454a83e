"""Fig. 6.11, 6.13, 6.15: k is estimated while it changes. [B05] §6.6.4, §6.7.4, §6.8.4

Beside the estimator of the text, which forgets what it could not have seen, the one that takes
tuples that still wait for censored observations. k is not scaled: the text's window of observations
is what it has to be seen in. What the text's k were is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.kmon.tuning import (
    UNKNOWN_K,
    ConstraintId,
    ConstraintTuning,
    Estimator,
    KMonTuning,
)
from backend.workloads.adhering import (
    S1,
    S2,
    S3,
    ArrivingTuples,
    Floats,
    clustered,
    referring,
    varying,
)
from bench.experiments.kmon_running import GRAPH_A, GRAPH_B, BenchQuery, JoinGraph, kmon_run
from bench.experiments.kmon_sizes import WINDOW, KMonSizes, Traced
from bench.experiments.results import (
    FigureResult,
    PaperClaim,
    Plot,
    Series,
    listed,
    verdict,
)

#: (share of the run, k): the same, a gradual rise and drop, a quick rise and drop.
KNOTS: Final = (
    *((0.0, 50.0), (0.2, 50.0), (0.35, 200.0), (0.45, 200.0), (0.6, 50.0), (0.7, 50.0)),
    *((0.7001, 200.0), (0.85, 200.0), (0.8501, 50.0), (1.0, 50.0)),
)
#: Tuples of all streams for which lost results are counted together.
BLOCK: Final = 4000
BLOCKS: Final = 100
#: Tuples of a window at least: many more than tuples wait for each other.
LEAST_WINDOW: Final = 5000
#: An estimate is close within this of the true k.
_CLOSE: Final = 0.35


class KMonWatching(NamedTuple):
    """How a figure watches. most_lost: share of a block's results that the text loses at most."""

    key: str
    graph: JoinGraph
    constraints: tuple[ConstraintId, ...]
    factor: float
    sample_prob: float
    window: int
    most_lost: float
    in_order: bool = False


REFERRING: Final = KMonWatching(
    "6.11",
    GRAPH_A,
    (ConstraintId("RIDS", S1, S2), ConstraintId("RIDS", S1, S3)),
    factor=1.0,
    sample_prob=0.01,
    window=500,
    most_lost=0.02,
)
CLUSTERED: Final = KMonWatching(
    "6.13",
    GRAPH_B,
    (ConstraintId("CA", S1, place=0), ConstraintId("CA", S2, place=0)),
    factor=1.2,
    sample_prob=0.01,
    window=1000,
    most_lost=0.005,
)
ORDERED: Final = CLUSTERED._replace(
    key="6.15",
    constraints=(ConstraintId("OAP", S1, place=0), ConstraintId("OAP", S2, place=0)),
    most_lost=0.023,
    in_order=True,
)


class TrackedK(NamedTuple):
    """k as estimated, block by block; -1: not in use. lost: share of the block's results; lost_all:
    of all results. Means over the seeds, but k: of the first."""

    k: Floats
    lost: Floats
    lost_all: float
    saved: float

    def closeness(self, true: Floats) -> float:
        """Share of the blocks in which k is used and close to the true one."""
        used = self.k != UNKNOWN_K
        close = np.abs(self.k - true) <= _CLOSE * true
        return float(np.mean(close[used])) if used.any() else 0.0

    @property
    def used(self) -> float:
        """Share of the blocks in which the constraint is used."""
        return float(np.mean(self.k != UNKNOWN_K))


def figure_11(sizes: KMonSizes) -> FigureResult:
    """Fig. 6.11: RIDS."""
    return _figure(sizes, REFERRING, "6.11: estimated k of RIDS")


def figure_13(sizes: KMonSizes) -> FigureResult:
    """Fig. 6.13: CA."""
    return _figure(sizes, CLUSTERED, "6.13: estimated k of CA")


def figure_15(sizes: KMonSizes) -> FigureResult:
    """Fig. 6.15: OAP."""
    return _figure(sizes, ORDERED, "6.15: estimated k of OAP")


def _figure(sizes: KMonSizes, of: KMonWatching, title: str) -> FigureResult:
    literal = tracked(sizes, of, "literal")
    ours = tracked(sizes, of, "censored")
    blocks: Floats = BLOCK * np.linspace(1, BLOCKS, BLOCKS)
    true = varying(KNOTS, BLOCKS * BLOCK)(blocks - BLOCK / 2)
    both = (("text", literal), ("censored", ours))
    claims = (
        PaperClaim(
            f"The estimate tracks k closely: within {_CLOSE:.0%} in nine of ten blocks",
            verdict([literal.closeness(true) >= 0.9]),
            f"{literal.closeness(true):.0%} of the blocks in which it is used, "
            f"{literal.used:.0%} of all; censored {ours.closeness(true):.0%} of {ours.used:.0%}",
        ),
        PaperClaim(
            f"At most {of.most_lost:.1%} of a block's results are lost",
            verdict([float(literal.lost.max()) <= of.most_lost]),
            "worst block, of all: "
            + "; ".join(f"{name} {x.lost.max():.1%}, {x.lost.mean():.2%}" for name, x in both),
        ),
    )
    plots = (_plot_k(blocks, true, both), _plot_lost(blocks, both))
    memory = ", ".join(f"{name} {1 - run.saved:.3f}" for name, run in both)
    notes = (
        "k = -1: the constraint is not in use, what is in the windows stays.",
        f"Tuples held, of those of SWJ: {memory}.",
    )
    return FigureResult(of.key, title, _setup(sizes, of), plots, claims, notes)


def _setup(sizes: KMonSizes, of: KMonWatching) -> tuple[tuple[str, str], ...]:
    return KMonSizes(max(sizes.scale, LEAST_WINDOW / WINDOW), *sizes[1:]).setup(
        ("k", f"{listed([k for _, k in KNOTS], 0)} at {listed([at for at, _ in KNOTS], 2)}"),
        ("text", f"c = {of.factor:g}, p = {of.sample_prob:g}, W = {of.window}"),
        ("censored", "the same c, p and W; slack 8"),
        ("tuples", f"{BLOCKS * BLOCK:,} in blocks of {BLOCK:,}"),
    )


def tracked(sizes: KMonSizes, of: KMonWatching, estimator: Estimator) -> TrackedK:
    """k estimated, beside the same join without constraints."""
    query = BenchQuery(of.graph, max(LEAST_WINDOW, sizes.window))
    tuning = KMonTuning(
        constraints=tuple(map(ConstraintTuning, of.constraints)),
        loss="budget",
        factor=of.factor,
        slack=0 if estimator == "literal" else KMonTuning().slack,
        sample_prob=of.sample_prob,
        window=of.window,
        estimator=estimator,
    )
    ks, lost, lost_all, saved = [], [], [], []
    for rng in sizes.generators():
        trace = _traced(of)(rng)
        run = kmon_run(query, trace, tuning, BLOCK)
        exact = kmon_run(query, trace, KMonTuning(), BLOCK)
        n_results = np.array([part.profile.n_results for part in run], np.float64)
        wanted = np.array([part.profile.n_results for part in exact], np.float64)
        lost.append(np.maximum(0, wanted - n_results)[:BLOCKS] / np.maximum(1, wanted[:BLOCKS]))
        lost_all.append(1 - n_results.sum() / wanted.sum())
        ks.append([part.profile.constraints[of.constraints[0]].k for part in run][:BLOCKS])
        saved.append(1 - sum(part.held for part in run) / sum(part.plain for part in run))
    means = [float(np.mean(values)) for values in (lost_all, saved)]
    return TrackedK(np.array(ks[0], np.float64), np.mean(lost, axis=0), *means)


def _traced(of: KMonWatching) -> Traced:
    n = BLOCK * BLOCKS
    if of.graph is GRAPH_A:
        return partial(_by_share, partial(referring, n), n / 7)
    return partial(_by_share, partial(clustered, n, in_order=of.in_order), n / 11)


def _by_share(
    make: Callable[..., ArrivingTuples], length: float, rng: np.random.Generator
) -> ArrivingTuples:
    return make(k=varying(KNOTS, length), rng=rng)


def _plot_k(blocks: Floats, true: Floats, both: Sequence[tuple[str, TrackedK]]) -> Plot:
    lines = [Series("true", tuple(blocks), tuple(true))]
    lines += [Series(name, tuple(blocks), tuple(run.k)) for name, run in both]
    return Plot("k", "tuples that came", "k, arrivals", "lines", tuple(lines))


def _plot_lost(blocks: Floats, both: Sequence[tuple[str, TrackedK]]) -> Plot:
    lines = tuple(Series(name, tuple(blocks), tuple(100 * run.lost)) for name, run in both)
    return Plot("Lost results", "tuples that came", "% of a block's results", "lines", lines)
