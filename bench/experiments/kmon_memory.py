"""Fig. 6.10, 6.12, 6.14, 6.16: the memory that a constraint with a known k saves. [B05] §6.6–6.8"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.kmon.tuning import ConstraintId
from backend.workloads.adhering import (
    S1,
    S2,
    S3,
    ArrivingTuples,
    always,
    clustered,
    referring,
    scrambled,
)
from bench.experiments.kmon_data import clustering_distance, join_distance, scrambling_distance
from bench.experiments.kmon_running import (
    GRAPH_A,
    GRAPH_B,
    GRAPH_C,
    BenchQuery,
    JoinGraph,
)
from bench.experiments.kmon_sizes import (
    Declared,
    KMonSizes,
    MemoryCurve,
    Traced,
    at,
    memory,
    numbers,
)
from bench.experiments.results import (
    FigureResult,
    PaperClaim,
    Plot,
    Series,
    listed,
    rising,
    verdict,
)


def referring_k(trace: ArrivingTuples) -> dict[ConstraintId, int]:
    """RIDS on both joins of graph (a)."""
    return {
        ConstraintId("RIDS", S1, child): join_distance(trace, place, child)
        for place, child in ((0, S2), (1, S3))
    }


def clustered_k(trace: ArrivingTuples) -> dict[ConstraintId, int]:
    """CA on S1.A and S2.A."""
    return {
        ConstraintId("CA", parent, place=0): clustering_distance(trace.of(parent)[:, 0])
        for parent in (S1, S2)
    }


def ordered_k(trace: ArrivingTuples) -> dict[ConstraintId, int]:
    """OAP on S1.A and S2.A."""
    return {
        ConstraintId("OAP", parent, place=0): scrambling_distance(trace.of(parent)[:, 0])
        for parent in (S1, S2)
    }


def child_ordered_k(trace: ArrivingTuples) -> dict[ConstraintId, int]:
    """OAC on S2.A."""
    return {ConstraintId("OAC", child=S2, place=0): scrambling_distance(trace.of(S2)[:, 0])}


class MemorySetUp(NamedTuple):
    """One of the four figures. full: tuples at which all windows are full, in the text."""

    graph: JoinGraph
    constraints: Declared
    words: str
    full: int


RIDS: Final = MemorySetUp(GRAPH_A, referring_k, "S1 → S2, S1 → S3, RIDS(k) on both joins", 350_000)
CA: Final = MemorySetUp(GRAPH_B, clustered_k, "S1 → S3, S2 → S3, CA(k) on S1.A and S2.A", 550_000)
OAP: Final = MemorySetUp(GRAPH_B, ordered_k, "S1 → S3, S2 → S3, OAP(k) on S1.A and S2.A", 550_000)
OAC: Final = MemorySetUp(GRAPH_C, child_ordered_k, "S1 → S2, OAC(k) on S2.A", 300_000)


def traced(of: MemorySetUp, n: int, k: float) -> Traced:
    """The trace of a figure."""
    if of is RIDS:
        return partial(_referring, n, k)
    if of is OAC:
        return partial(scrambled, n, k)
    return partial(_clustered, n, k, of is OAP)


def _referring(n: int, k: float, rng: np.random.Generator) -> ArrivingTuples:
    return referring(n, always(k), rng)


def _clustered(n: int, k: float, in_order: bool, rng: np.random.Generator) -> ArrivingTuples:
    return clustered(n, always(k), rng, in_order)


class MemoryFigure(NamedTuple):
    """Its curves by k, and that of the same join without constraints, of the first trace."""

    sizes: KMonSizes
    of: MemorySetUp
    by_k: Mapping[int, MemoryCurve]
    without: MemoryCurve
    exact: bool

    @property
    def ratios(self) -> list[float]:
        """To the tuples of SWJ."""
        return [curve.ratio for curve in self.by_k.values()]

    @property
    def byte_ratios(self) -> list[float]:
        """To the bytes of SWJ, indexes left out of both."""
        curves = self.by_k.values()
        return [curve.level(curve.n_bytes) / curve.level(curve.plain_bytes) for curve in curves]

    def result(
        self, key: str, title: str, claims: Sequence[PaperClaim], notes: Sequence[str] = ()
    ) -> FigureResult:
        """The figure, with the claims that all four have."""
        levels = [curve.held_level for curve in self.by_k.values()]
        swj = next(iter(self.by_k.values()))
        common = (
            PaperClaim(
                "Memory grows with k",
                rising(levels),
                f"tuples at k = {numbers(self.by_k)}: {numbers(levels)}; SWJ "
                f"{swj.level(swj.plain):,.0f}, many-one without constraints "
                f"{self.without.held_level:,.0f}",
            ),
            PaperClaim("No result is lost", verdict([self.exact]), f"{sum(swj.results):,} results"),
        )
        setup = self.sizes.setup(
            ("joins", self.of.words), ("k", f"{numbers(self.by_k)}, measured on the traces")
        )
        return FigureResult(key, title, setup, (self.plot,), (*common, *claims), tuple(notes))

    @property
    def plot(self) -> Plot:
        """Tuples in memory over tuples that came."""
        any_k = next(iter(self.by_k.values()))
        lines = [
            *(Series(f"k = {k:,}", tuple(c.arrivals), tuple(c.held)) for k, c in self.by_k.items()),
            Series("SWJ", tuple(any_k.arrivals), tuple(any_k.plain)),
            Series("many-one alone", tuple(self.without.arrivals), tuple(self.without.held)),
        ]
        return Plot("Memory", "tuples that came", "tuples in memory", "lines", tuple(lines))


def _figure(sizes: KMonSizes, of: MemorySetUp) -> MemoryFigure:
    query = BenchQuery(of.graph, sizes.window)
    traces = {k: traced(of, sizes.run, k) for k in sizes.adherences}
    by_k = {k: memory(sizes, query, trace, of.constraints) for k, trace in traces.items()}
    without = [memory(sizes, query, trace, None) for trace in traces.values()]
    pairs = zip(by_k.values(), without, strict=True)
    exact = all(curve.results == other.results for curve, other in pairs)
    return MemoryFigure(sizes, of, by_k, without[0], exact)


def figure_10(sizes: KMonSizes) -> FigureResult:
    """Fig. 6.10: RIDS(k)."""
    figure = _figure(sizes, RIDS)
    swj = next(iter(figure.by_k.values()))
    early, late = (at(swj.arrivals, swj.plain, share * sizes.run) for share in (350 / 600, 1.0))
    claims = (
        PaperClaim(
            "Below SWJ at every k",
            verdict([ratio < 1 for ratio in (*figure.ratios, *figure.byte_ratios)]),
            f"of SWJ's tuples {listed(figure.ratios)}; of its bytes {listed(figure.byte_ratios)}",
        ),
        PaperClaim(
            "SWJ is level from 350,000 tuples on",
            verdict([abs(early / late - 1) < 0.05]),
            f"{early:,.0f} tuples there, {late:,.0f} at the end",
        ),
    )
    notes = ("A many-one join without constraints keeps No of the children, and so more than SWJ.",)
    return figure.result("6.10", "6.10: memory under RIDS(k)", claims, notes)


def figure_12(sizes: KMonSizes) -> FigureResult:
    """Fig. 6.12: CA(k)."""
    figure = _figure(sizes, CA)
    is_level, number = _level_early(figure)
    claims = (
        _far_below(figure),
        PaperClaim("Level long before the windows are full", verdict(is_level), number),
    )
    return figure.result("6.12", "6.12: memory under CA(k)", claims)


def figure_14(sizes: KMonSizes) -> FigureResult:
    """Fig. 6.14: OAP(k)."""
    figure = _figure(sizes, OAP)
    is_level, number = _level_early(figure)
    spread = [float(np.std(curve.held[len(curve.held) // 3 :])) for curve in figure.by_k.values()]
    claims = (
        _far_below(figure),
        PaperClaim(
            "Varies about a level, more so the larger k",
            verdict([rising(spread) == "reproduced", *is_level]),
            f"standard deviations {numbers(spread)} tuples; {number}",
        ),
    )
    return figure.result("6.14", "6.14: memory under OAP(k)", claims)


def figure_16(sizes: KMonSizes) -> FigureResult:
    """Fig. 6.16: OAC(k)."""
    figure = _figure(sizes, OAC)
    middle, large = (_dip(figure.by_k[k], 6 * k) for k in sizes.adherences[2:])
    claims = (
        PaperClaim(
            "Below SWJ at every k", verdict([ratio < 1 for ratio in figure.ratios]),
            f"of SWJ's tuples {listed(figure.ratios)}",
        ),
        PaperClaim(
            "Memory drops when S2 has had k tuples, less so for the largest k",
            verdict([middle > 0.05, middle > large]),
            f"by {middle:.0%} and {large:.0%} for k = {numbers(sizes.adherences[2:])}",
        ),
    )  # fmt: skip
    return figure.result("6.16", "6.16: memory under OAC(k)", claims)


def _far_below(figure: MemoryFigure) -> PaperClaim:
    return PaperClaim(
        "Far below SWJ: less than a third of its bytes",
        verdict([ratio < 1 / 3 for ratio in figure.byte_ratios]),
        f"of SWJ's tuples {listed(figure.ratios)}; of its bytes {listed(figure.byte_ratios)}",
    )


def _level_early(figure: MemoryFigure) -> tuple[list[bool], str]:
    """Whether a quarter of the run has the level of its last third, within 5 % of SWJ's tuples."""
    early = [_share_at_a_quarter(curve) for curve in figure.by_k.values()]
    pairs = zip(early, figure.ratios, strict=True)
    number = f"of SWJ's tuples at a quarter of the run {listed(early)}, at the end "
    return [abs(share - late) < 0.05 for share, late in pairs], number + listed(figure.ratios)


def _share_at_a_quarter(curve: MemoryCurve) -> float:
    n = len(curve.held)
    near = curve.held[int(0.2 * n) : int(0.3 * n) + 1]
    return float(np.mean(near)) / curve.level(curve.plain)


def _dip(curve: MemoryCurve, moment: float) -> float:
    """The share of the tuples that go within a tenth of the run behind a moment."""
    before = curve.held[(curve.arrivals > 0.8 * moment) & (curve.arrivals <= 1.05 * moment)]
    behind = curve.held[
        (curve.arrivals > moment) & (curve.arrivals <= moment + curve.arrivals[-1] / 10)
    ]
    if not len(before) or not len(behind):
        return 0.0
    return float(1 - behind.min() / before.max())
