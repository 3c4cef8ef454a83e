"""s1 to s8: what [AL11] says of CALS, as conditions on sweeps. Card B5

Its figures, numbers and parameters are lost: the algorithms are reconstructed, and which reading
fits which claim is part of the answer. Each claim is judged under R1, R2 and R3 apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from backend.operators.network.shedding.accuracy import AccuracyMetric
from bench.experiments.cals_running import (
    CALS,
    CALS_I,
    CALS_I_MEMORY,
    CALS_MEMORY,
    CALS_V,
    METRICS,
    OLDEST,
    RAND,
    RATIOS,
    REACH,
    REPEATS,
    THRESHOLDS,
    VARIANTS,
    ShedCell,
    ShedSizes,
    ShedVariant,
    accuracy,
)
from bench.experiments.results import FigureResult, PaperClaim, Plot, Series, Verdict, verdict

#: Where one parameter is swept and the others stand.
MIDDLE_REPEAT, HIGH_REPEAT, MIDDLE_RATIO, LOW_RATIO = 0.75, 0.95, 0.5, 0.3
#: Accuracies that are no further apart are as good as equal: noise of ten data sets.
NOISE: Final = 0.01
#: "hardly changes", "about equal" and "flat": differences of accuracy.
_NEAR: Final = 0.1
#: "comes near 10".
_TENFOLD: Final = 8.0
GRID: Final = tuple(ShedCell(p, ratio) for p in REPEATS for ratio in RATIOS)
SLIDING: Final = tuple(
    ShedCell(p, ratio, is_sliding=True) for p in (0.5, 0.75, 0.95) for ratio in (0.3, 0.5, 0.7)
)
#: Thresholds of s3 at two coalescing probabilities and two memory ratios.
THRESHOLDED: Final = tuple(
    ShedCell(p, ratio, threshold)
    for p in (0.75, 0.9)
    for ratio in (LOW_RATIO, MIDDLE_RATIO)
    for threshold in THRESHOLDS
)
_Of = Callable[[ShedVariant, ShedCell], float]


def reader(sizes: ShedSizes, metric: AccuracyMetric = "R1") -> _Of:
    """Accuracy by variant and cell."""
    return lambda variant, cell: accuracy(sizes, variant, cell).of(metric)


def at_least(
    of: _Of, better: Sequence[ShedVariant], worse: Sequence[ShedVariant], cells: Sequence[ShedCell]
) -> tuple[list[bool], str]:
    """Whether each of ``better`` is no less accurate than each of ``worse``, cell by cell."""
    gaps = [of(b, cell) - of(w, cell) for cell in cells for b in better for w in worse]
    holds = [gap >= -NOISE for gap in gaps]
    return holds, f"{sum(holds)} of {len(holds)}, by {min(gaps):+.3f} at least"


def s1(sizes: ShedSizes) -> FigureResult:
    """CALS against RAND, everywhere."""
    claims = []
    for metric in METRICS:
        cells = [at_least(reader(sizes, metric), [v], [RAND], GRID) for v in (CALS, CALS_MEMORY)]
        claims.append(
            PaperClaim(
                f"A(CALS) is at least A(RAND) in every cell ({metric})",
                verdict(cells[0][0] + cells[1][0]),
                f"cells, base exact: {cells[0][1]}; base memory: {cells[1][1]}",
            )
        )
    holds, number = at_least(reader(sizes), [CALS], [RAND], SLIDING)
    claims.append(PaperClaim("The same while windows slide (R1)", verdict(holds), number))
    return _figure(
        "s1", "s1: CALS and RAND", sizes, _sweeps(sizes, (CALS, CALS_MEMORY, RAND)), claims
    )


def s2(sizes: ShedSizes) -> FigureResult:
    """How many times CALS is as accurate as RAND."""
    claims, plots = [], []
    for metric in METRICS:
        of = reader(sizes, metric)
        ratios = {cell: of(CALS, cell) / of(RAND, cell) for cell in GRID}
        by_p = [ratios[ShedCell(p, LOW_RATIO)] for p in REPEATS]
        by_ratio = [ratios[ShedCell(HIGH_REPEAT, ratio)] for ratio in RATIOS]
        most = max(ratios.values())
        claims.append(
            PaperClaim(
                "A(CALS)/A(RAND) rises with p and with falling ratio, and comes near 10 "
                f"({metric})",
                verdict([_rises(by_p), _rises(by_ratio[::-1]), most >= _TENFOLD]),
                f"by p at ratio {LOW_RATIO:g}: {_numbers(by_p, 1)}; by ratio at p = "
                f"{HIGH_REPEAT:g}: {_numbers(by_ratio, 1)}; at most {most:.1f}",
            )
        )
        plots.append(Series(metric, REPEATS, tuple(by_p)))
    plot = Plot(
        f"CALS over RAND, ratio {LOW_RATIO:g}", "p", "A(CALS) / A(RAND)", "lines", tuple(plots)
    )
    return _figure("s2", "s2: how many times as accurate", sizes, [plot], claims)


def s3(sizes: ShedSizes) -> FigureResult:
    """What the threshold does, and shedding that knows it."""
    of = reader(sizes)
    claims = [_hardly_changes(sizes, most) for most in (0.5, 2.0)]
    for other in (CALS, OLDEST, RAND):
        holds, number = at_least(of, [REACH], [other], THRESHOLDED)
        claims.append(
            PaperClaim(
                f"Ours: A(reach) is at least A({other.name}) at every threshold (R1)",
                verdict(holds),
                number,
            )
        )
    plots = [
        _plot(
            f"p = {p:g}, ratio {ratio:g}",
            "threshold, mean runs",
            THRESHOLDS,
            (CALS, RAND, OLDEST, REACH),
            partial(_at_threshold, of, p, ratio),
        )
        for p, ratio in ((0.75, 0.5), (0.9, 0.3))
    ]
    return _figure("s3", "s3: threshold of the condition on valid time", sizes, plots, claims)


def _at_threshold(of: _Of, p: float, ratio: float, variant: ShedVariant, x: float) -> float:
    return of(variant, ShedCell(p, ratio, x))


def _hardly_changes(sizes: ShedSizes, most: float) -> PaperClaim:
    thresholds = [threshold for threshold in THRESHOLDS if threshold <= most]
    cases, numbers = [], []
    for metric in METRICS:
        of = reader(sizes, metric)
        for variant in (CALS, RAND):
            curve = [of(variant, ShedCell(0.75, MIDDLE_RATIO, x)) for x in thresholds]
            cases.append(max(curve) - min(curve) <= _NEAR)
            numbers.append(f"{variant.name} {metric} {_numbers(curve, 2)}")
    return PaperClaim(
        f"A of CALS and RAND changes by {_NEAR:g} at most up to a threshold of {most:g} mean runs "
        "(p = 0.75, ratio 0.5)",
        verdict(cases),
        "; ".join(numbers),
    )


def s4(sizes: ShedSizes) -> FigureResult:
    """CALS-V and CALS-I stand between."""
    claims = []
    for metric in METRICS:
        of = reader(sizes, metric)
        exact = _between(of, CALS, CALS_I, GRID)
        memory = _between(of, CALS_MEMORY, CALS_I_MEMORY, GRID)
        claims.append(
            PaperClaim(
                "A(CALS) is at least A(CALS-V) and A(CALS-I), and these at least A(RAND) "
                f"({metric})",
                verdict(exact[0] + memory[0]),
                f"base exact: {exact[1]}; base memory: {memory[1]}",
            )
        )
    holds, number = _between(reader(sizes), CALS, CALS_I, SLIDING)
    claims.append(PaperClaim("The same while windows slide (R1)", verdict(holds), number))
    holds, number = at_least(reader(sizes), [REACH], [CALS, OLDEST], SLIDING)
    claims.append(
        PaperClaim(
            "Ours: while windows slide reach is at least as accurate as CALS and oldest (R1)",
            verdict(holds),
            number,
        )
    )
    return _figure("s4", "s4: all algorithms", sizes, _sweeps(sizes, VARIANTS), claims)


def _between(
    of: _Of, whole: ShedVariant, intervals: ShedVariant, cells: Sequence[ShedCell]
) -> tuple[list[bool], str]:
    halves = [CALS_V, intervals]
    above, said_above = at_least(of, [whole], halves, cells)
    below, said_below = at_least(of, halves, [RAND], cells)
    return above + below, f"above both {said_above}; both above RAND {said_below}"


def s5(sizes: ShedSizes) -> FigureResult:
    """CALS-V and CALS-I by ratio."""
    cells = [ShedCell(0.5, ratio) for ratio in RATIOS]
    claims = []
    for name, variant in (("exact", CALS_I), ("memory", CALS_I_MEMORY)):
        cases, numbers = [], []
        for metric in METRICS:
            of = reader(sizes, metric)
            gaps = [abs(of(CALS_V, cell) - of(variant, cell)) for cell in cells]
            cases += [gap <= _NEAR for gap in gaps]
            numbers.append(f"{metric} {_numbers(gaps, 2)}")
        claims.append(
            PaperClaim(
                f"A(CALS-V) is within {_NEAR:g} of A(CALS-I) at every ratio (p = 0.5, base {name})",
                verdict(cases),
                f"apart by ratio: {'; '.join(numbers)}",
            )
        )
    plots = [_by_ratio(sizes, 0.5, (CALS_V, CALS_I, CALS_I_MEMORY))]
    return _figure("s5", "s5: CALS-V and CALS-I by memory ratio", sizes, plots, claims)


def s6(sizes: ShedSizes) -> FigureResult:
    """CALS-V by p."""
    return _by_p_claims(
        sizes,
        "s6",
        f"A(CALS-V) is flat in p: within {_NEAR:g}",
        (CALS_V,),
        lambda curve: max(curve) - min(curve) <= _NEAR,
    )


def s7(sizes: ShedSizes) -> FigureResult:
    """CALS-I by p."""
    return _by_p_claims(
        sizes,
        "s7",
        "A(CALS-I) is highest at p = 0.5 or next to it and falls from there",
        (CALS_I, CALS_I_MEMORY),
        lambda curve: (
            REPEATS[curve.index(max(curve))] in (0.25, 0.5, 0.75) and _rises(curve[:1:-1])
        ),
    )


def _by_p_claims(
    sizes: ShedSizes,
    key: str,
    text: str,
    variants: Sequence[ShedVariant],
    holds: Callable[[list[float]], bool],
) -> FigureResult:
    claims = []
    for metric in METRICS:
        of = reader(sizes, metric)
        curves = {v: [of(v, ShedCell(p, MIDDLE_RATIO)) for p in REPEATS] for v in variants}
        numbers = "; ".join(f"{v.name} {_numbers(curve, 3)}" for v, curve in curves.items())
        judged: Verdict = verdict([holds(curve) for curve in curves.values()])
        claims.append(PaperClaim(f"{text} (ratio 0.5, {metric})", judged, numbers))
    plots = [_by_p(sizes, (*variants, CALS, RAND))]
    return _figure(
        key, f"{key}: {variants[0].name} by coalescing probability", sizes, plots, claims
    )


def _sweeps(sizes: ShedSizes, variants: Sequence[ShedVariant]) -> list[Plot]:
    return [_by_p(sizes, variants), _by_ratio(sizes, MIDDLE_REPEAT, variants)]


def _by_p(sizes: ShedSizes, variants: Sequence[ShedVariant]) -> Plot:
    of = reader(sizes)
    title = f"Accuracy (R1) by p, ratio {MIDDLE_RATIO:g}"
    return _plot(title, "p", REPEATS, variants, lambda v, x: of(v, ShedCell(x, MIDDLE_RATIO)))


def _by_ratio(sizes: ShedSizes, p: float, variants: Sequence[ShedVariant]) -> Plot:
    of = reader(sizes)
    title = f"Accuracy (R1) by memory ratio, p = {p:g}"
    return _plot(title, "|M| / |WS|", RATIOS, variants, lambda v, x: of(v, ShedCell(p, x)))


def _plot(
    title: str,
    x_title: str,
    xs: tuple[float, ...],
    variants: Sequence[ShedVariant],
    of: Callable[[ShedVariant, float], float],
) -> Plot:
    lines = tuple(Series(v.name, xs, tuple(of(v, x) for x in xs)) for v in variants)
    return Plot(title, x_title, "accuracy", "lines", lines)


def _figure(
    key: str,
    title: str,
    sizes: ShedSizes,
    plots: Sequence[Plot],
    claims: Sequence[PaperClaim],
) -> FigureResult:
    notes = (
        "Metric and objectives are reconstructed: the text has lost its formulas and numbers.",
        f"At least: no more than {NOISE:g} below.",
    )
    return FigureResult(key, title, sizes.setup(), tuple(plots), tuple(claims), notes)


def _rises(values: Sequence[float]) -> bool:
    return all(later >= earlier - NOISE for earlier, later in pairwise(values))


def _numbers(values: Sequence[float], digits: int) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)
