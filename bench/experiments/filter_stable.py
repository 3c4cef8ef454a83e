"""Convergence: Fig. 4.11 to 4.14 of [B05] §4.7.2."""

from __future__ import annotations

from typing import Final

from bench.experiments.filter_running import ComparedFilters, Setup, schemes
from bench.experiments.filter_trials import (
    NEAR,
    Groups,
    TrialSizes,
    cases,
    default_p,
    likeness,
    means,
    rates,
)
from bench.experiments.results import FigureResult, PaperClaim, listed, rising, verdict

FILTERS: Final = range(2, 11)
SELECTIVITIES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: With fewer filters A-Greedy is said to be near the optimum.
FEW: Final = 5
_BY_CHANCE: Final = (
    "Independent sees equal filters: its order changes by chance, whatever it began with.",
)


def _gain(c: ComparedFilters) -> float:
    """By how much A-Greedy's rate is above Independent's."""
    return c.total("Independent") / c.total("A-Greedy") - 1


def _percent(values: list[float]) -> str:
    return listed([100 * v for v in values], 1) + " %"


def figure_11(trials: TrialSizes) -> FigureResult:
    """A-Greedy, Independent, Optimal: 2 to 10 filters."""
    chosen = schemes()
    setups = {str(n): Setup.alike(n) for n in FILTERS}
    names = ["A-Greedy", "Independent"]
    groups = trials.stable("Fig. 4.11", setups, [chosen[name] for name in names])
    gains = means(groups, _gain)
    gaps = means(groups, lambda c: c.total("A-Greedy") / c.optimal - 1)
    few = [gap for n, gap in zip(FILTERS, gaps, strict=True) if n <= FEW]
    profile = means(groups, lambda c: c.runs["A-Greedy"].overhead)
    many = {n: compared for n, compared in groups.items() if int(n) > 2}
    better = cases(many, lambda c: _gain(c) > 0)
    claims = (
        PaperClaim(
            "A-Greedy is faster than Independent throughout (more than two filters)",
            verdict(better),
            f"{sum(better)} of {len(better)} runs; faster by {_percent(gains)} for n = 2..10",
        ),
        PaperClaim("The gap to Independent widens with n", rising(gains), _percent(gains)),
        PaperClaim(
            f"A-Greedy is near Optimal (within {NEAR:.0%}) for few filters (n up to {FEW})",
            verdict([gap <= NEAR for gap in few]),
            f"dearer by {_percent(few)}",
        ),
        PaperClaim(
            "It falls behind Optimal as n grows, because of its profiling",
            rising(gaps),
            f"dearer by {_percent(gaps)}; share of the profile {_percent(profile)}",
        ),
    )
    plot = rates("Processing rate", groups, ["Optimal", *names], "filters")
    setup = trials.stable_setup(likeness(), default_p(), ("selectivity", "0.5"))
    notes = (
        *_BY_CHANCE,
        "Optimal is the best order of the counted tuples, by search of all, without any profiling.",
    )
    return FigureResult("4.11", "Fig. 4.11 — number of filters", setup, (plot,), claims, notes)


def figure_12(trials: TrialSizes) -> FigureResult:
    """A-Greedy and Independent by selectivity."""
    chosen = schemes()
    setups = {f"{s:g}": Setup.alike(8, s) for s in SELECTIVITIES}
    names = ["A-Greedy", "Independent"]
    groups = trials.stable("Fig. 4.12", setups, [chosen[name] for name in names])
    gains = dict(zip(SELECTIVITIES, means(groups, _gain), strict=True))
    top = max(gains, key=lambda s: gains[s])
    ends = (gains[0.1], gains[0.9])
    claims = (
        PaperClaim(
            "The gain over Independent is largest at intermediate selectivities",
            verdict([0.3 <= top <= 0.7 and gains[top] > 2 * max(0.0, *ends)]),
            f"largest at {top:g}: {100 * gains[top]:.1f} %; {_percent([*gains.values()])}"
            " for 0.1..0.9",
        ),
    )
    plot = rates("Processing rate", groups, ["Optimal", *names], "selectivity of every filter")
    setup = trials.stable_setup(likeness(), default_p(), ("filters", "8 (not stated)"))
    notes = (
        "At 0.1 and 0.9 two filters agree on more than 80 % of the tuples by chance alone: there"
        " they are independent.",
    )
    return FigureResult("4.12", "Fig. 4.12 — selectivity", setup, (plot,), claims, notes)


def figure_13(trials: TrialSizes) -> FigureResult:
    """A-Greedy and Independent by Γ, three filters."""
    return _correlation(trials, 3, "4.13")


def figure_14(trials: TrialSizes) -> FigureResult:
    """The same with eight."""
    return _correlation(trials, 8, "4.14")


def _correlation(trials: TrialSizes, n: int, key: str) -> FigureResult:
    chosen, names = schemes(), ["A-Greedy", "Independent"]
    setups = {str(gamma): Setup.alike(n, gamma=gamma) for gamma in range(1, n + 1)}
    groups = trials.stable(f"Fig. {key}", setups, [chosen[name] for name in names])
    plot = rates("Processing rate", groups, ["Optimal", *names], "correlation factor Γ")
    setup = trials.stable_setup(default_p(), ("filters", str(n)), ("selectivity", "0.5"))
    title = f"Fig. {key} — correlation, {n} filters"
    return FigureResult(key, title, setup, (plot,), _correlation_claims(groups), _BY_CHANCE)


def _correlation_claims(groups: Groups) -> tuple[PaperClaim, ...]:
    gains = means(groups, _gain)
    return (
        PaperClaim(
            "The gain over Independent first rises with Γ",
            verdict([max(gains[1:-1]) > gains[0] + 0.01]),
            f"{_percent(gains)} for Γ = 1..n",
        ),
        PaperClaim(
            "It is less when Γ is close to n",
            verdict([gains[-1] < max(gains) - 0.01]),
            f"{_percent(gains[-1:])} at Γ = n, {_percent([max(gains)])} at most",
        ),
    )
