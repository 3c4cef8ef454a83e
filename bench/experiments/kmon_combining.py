"""Fig. 6.17, 6.18: constraints together; the example of the links of §6.1. [B05] §6.10"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from backend.operators.network.kmon.tuning import (
    ConstraintId,
    ConstraintTuning,
    KMonTuning,
    Loss,
)
from backend.workloads.adhering import (
    S1,
    S2,
    S3,
    ArrivingTuples,
    clustered_and_referring,
    grouped_and_scrambled,
)
from backend.workloads.links import LatencyPhase, PacketTrace
from bench.experiments.kmon_data import (
    clustering_distance,
    join_distance,
    scrambling_distance,
    three_links,
)
from bench.experiments.kmon_running import (
    GRAPH_A,
    GRAPH_C,
    LINKS_GRAPH,
    BenchQuery,
    StretchOutcome,
    kmon_run,
)
from bench.experiments.kmon_sizes import (
    POINTS,
    KMonSizes,
    MemoryCurve,
    curve,
    memory,
    numbers,
)
from bench.experiments.results import FigureResult, PaperClaim, Plot, Series, listed, verdict

Held = dict[ConstraintId, int]
#: k of Fig. 6.17 and of CA in Fig. 6.18.
_K: Final = 5000
#: k of RIDS in Fig. 6.18, and where the text's curves cross.
_KS: Final = (0, 500, 1000, 1500, 2000, 3000, 4000, 6000)
_CROSSING: Final = 2000
#: The text's rates of C, B and O a second, and its windows, seconds; a tenth of the rates is run.
_RATES: Final = (1000.0, 10_000.0, 1000.0)
_WINDOW_S: Final = 600
#: Least share of those: k is seen by a thousand packets that come on.
_LEAST: Final = 0.3
#: Share of the packets that are kept to be observed: 1 % would be most of what is kept.
_WATCHED: Final = 0.001
_LATENCY_S: Final = 2.0
CUSTOMER, BACKBONE, OUTGOING = range(3)
LINKS: Final = BenchQuery(LINKS_GRAPH, range=1000 * _WINDOW_S)


def clustered_s1(trace: ArrivingTuples) -> Held:
    """CA on S1.A."""
    return {ConstraintId("CA", S1, place=0): clustering_distance(trace.of(S1)[:, 0])}


def ordered_s3(trace: ArrivingTuples) -> Held:
    """OAC on S3.B."""
    return {ConstraintId("OAC", child=S3, place=0): scrambling_distance(trace.of(S3)[:, 0])}


def referring_s2(trace: ArrivingTuples) -> Held:
    """RIDS on S1 → S2."""
    return {ConstraintId("RIDS", S1, S2): join_distance(trace, 0, S2)}


def both(first: Callable[..., Held], second: Callable[..., Held], trace: ArrivingTuples) -> Held:
    """Two constraints."""
    return {**first(trace), **second(trace)}


def figure_17(sizes: KMonSizes) -> FigureResult:
    """Fig. 6.17: CA(0) on S1.A and OAC(5000) on S3.B."""
    k = sizes.tuples(_K)
    query = BenchQuery(GRAPH_A, sizes.window)
    traced = partial(grouped_and_scrambled, sizes.run, k)
    curves = {
        "none": memory(sizes, query, traced, None),
        "CA": memory(sizes, query, traced, clustered_s1),
        "OAC": memory(sizes, query, traced, ordered_s3),
        "both": memory(sizes, query, traced, partial(both, clustered_s1, ordered_s3)),
    }
    level = {name: line.held_level for name, line in curves.items()}
    saved = {name: level["none"] - value for name, value in level.items()}
    claims = (
        PaperClaim(
            "Both together save most",
            verdict([level["both"] < min(level["CA"], level["OAC"])]),
            f"tuples: {', '.join(f'{name} {value:,.0f}' for name, value in level.items())}",
        ),
        PaperClaim(
            "More than both by themselves save together",
            verdict([saved["both"] > saved["CA"] + saved["OAC"]]),
            f"saved {saved['both']:,.0f}; {saved['CA']:,.0f} + {saved['OAC']:,.0f}",
        ),
        PaperClaim(
            "No result is lost",
            verdict([len({line.results for line in curves.values()}) == 1]),
            f"{sum(curves['none'].results):,} results",
        ),
    )
    setup = sizes.setup(
        ("joins", "S1 → S2, S1 → S3; a quarter of S1 has no child in S3"),
        ("constraints", f"CA(0) on S1.A, OAC({k:,}) on S3.B"),
    )
    plots = (_plot(curves),)
    return FigureResult("6.17", "6.17: CA and OAC together", setup, plots, claims)


def _plot(curves: dict[str, MemoryCurve]) -> Plot:
    lines = tuple(
        Series(name, tuple(line.arrivals), tuple(line.held)) for name, line in curves.items()
    )
    return Plot("Memory", "tuples that came", "tuples in memory", "lines", lines)


def figure_18(sizes: KMonSizes) -> FigureResult:
    """Fig. 6.18: CA(5000) on S1.A with RIDS(k), and without."""
    clustering = sizes.tuples(_K)
    ks = [round(sizes.scale * k) for k in _KS]
    query = BenchQuery(GRAPH_C, sizes.window, passing=0.1)
    alone, together = [], []
    for k in ks:
        traced = partial(clustered_and_referring, sizes.run, clustering, k)
        alone.append(memory(sizes, query, traced, clustered_s1).held_level)
        joined = memory(sizes, query, traced, partial(both, clustered_s1, referring_s2))
        together.append(joined.held_level)
    worse = [b > a for a, b in zip(alone, together, strict=True)]
    crossing = next((k for k, is_worse in zip(ks, worse, strict=True) if is_worse), None)
    wanted = _CROSSING * sizes.scale
    claims = (
        PaperClaim(
            "Both are better than CA alone for small k",
            verdict([not worse[0], not worse[1]]),
            f"k = {numbers(ks)}: both {numbers(together)}; CA alone {numbers(alone)}",
        ),
        PaperClaim(
            f"And worse from k of about {_CROSSING:,} on",
            verdict([worse[-1], crossing is not None and wanted / 2 <= crossing <= 2 * wanted]),
            "never worse" if crossing is None else f"worse from k = {crossing:,} on",
        ),
    )
    lines = (
        Series("CA", tuple(map(float, ks)), tuple(alone)),
        Series("CA and RIDS", tuple(map(float, ks)), tuple(together)),
    )
    plot = Plot("Memory", "k of RIDS", "tuples in memory", "lines", lines)
    setup = sizes.setup(
        ("joins", "S1 → S2, two parents for each child, 10 % pass the filter"),
        ("constraints", f"CA({clustering:,}) on S1.A, RIDS(k)"),
    )
    return FigureResult("6.18", "6.18: CA and RIDS together", setup, (plot,), claims)


def links(sizes: KMonSizes) -> FigureResult:
    """The example of §6.1: packets on three links, k estimated."""
    rates, query = links_rates(sizes), LINKS
    runs = {}
    for name, two_way in (("both ways", True), ("one way", False)):
        tuning = links_tuning(two_way)
        runs[name] = curve([_of_links(query, sizes.seed + k, rates, tuning) for k in _seeds(sizes)])
    exact = curve([_of_links(query, sizes.seed + k, rates, KMonTuning()) for k in _seeds(sizes)])
    gain = {name: 1 / run.ratio for name, run in runs.items()}
    lost = {name: 1 - sum(run.results) / sum(exact.results) for name, run in runs.items()}
    claims = (
        PaperClaim(
            "k-constraints save two orders of magnitude of memory",
            verdict([gain["both ways"] > 100]),
            f"of {exact.level(exact.plain):,.0f} tuples in the windows "
            f"{runs['both ways'].held_level:,.0f} are kept: {gain['both ways']:,.0f} times fewer; "
            f"waiting one way alone (B for C, O for B) {gain['one way']:.1f} times",
        ),
        PaperClaim(
            "Hardly any result is lost",
            verdict([lost["both ways"] < 0.01]),
            f"{lost['both ways']:.2%} of {sum(exact.results):,}",
        ),
    )
    packets = f"{listed(rates, 0)} packets a second on C, B, O; 1000, 10,000, 1000 in the text"
    setup = sizes.setup(
        ("rates", packets),
        ("windows", f"{_WINDOW_S} seconds; latencies up to {_LATENCY_S:g} seconds"),
        ("k", f"estimated, censored; p = {_WATCHED:g}"),
    )
    notes = ("The text's 400 times leave out packets that are on their way (erratum D8).",)
    plots = (_plot({"SWJ": _windows(exact), **runs}),)
    return FigureResult("6.1", "6.1: packets on three links", setup, plots, claims, notes)


def links_rates(sizes: KMonSizes) -> tuple[float, ...]:
    """Packets a second of each link."""
    return tuple(max(_LEAST, sizes.scale) * rate / 10 for rate in _RATES)


def links_tuning(two_way: bool, loss: Loss = "budget") -> KMonTuning:
    """RIDS with an estimated k: B waits for C and O for B, or the other way round, too."""
    pairs = ((BACKBONE, CUSTOMER), (OUTGOING, BACKBONE))
    one_way = [ConstraintId("RIDS", parent, child) for parent, child in pairs]
    other_way = [ConstraintId("RIDS", child, parent) for parent, child in pairs]
    known = tuple(map(ConstraintTuning, one_way + other_way * two_way))
    return KMonTuning(constraints=known, loss=loss, sample_prob=_WATCHED)


def _windows(line: MemoryCurve) -> MemoryCurve:
    return line._replace(held=line.plain)


def _seeds(sizes: KMonSizes) -> range:
    return range(sizes.repeats)


def links_trace(seed: int, rates: tuple[float, ...]) -> ArrivingTuples:
    """Packets on three links for the time of two windows."""
    latencies = (LatencyPhase(0, _LATENCY_S, _LATENCY_S),)
    return three_links(PacketTrace(seed, rates, latencies=latencies, seconds=2 * _WINDOW_S))


def _of_links(
    query: BenchQuery, seed: int, rates: tuple[float, ...], tuning: KMonTuning
) -> list[StretchOutcome]:
    trace = links_trace(seed, rates)
    return kmon_run(query, trace, tuning, max(1, len(trace.streams) // POINTS))
