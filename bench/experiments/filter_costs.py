"""Run-time overhead: Table 4.2 and Fig. 4.15 to 4.18 of [B05] §4.7.3."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from bench.experiments.filter_running import Setup, schemes
from bench.experiments.filter_stable import FILTERS
from bench.experiments.filter_trials import (
    NEAR,
    Groups,
    TrialSizes,
    breakdown,
    cases,
    default_p,
    likeness,
    lines,
    means,
    rates,
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

#: p of Fig. 4.15 to 4.18.
HIGH_P: Final = 0.05
PRICES: Final = (1, 10, 50, 100)
NAMES: Final = ["A-Greedy", "Sweep", "Independent", "LocalSwaps"]
#: Table 4.2's shares of profile-tuple creation, by (n, p).
THESIS: Final = {(3, 0.01): 0.0088, (3, 0.05): 0.0417, (8, 0.01): 0.0292, (8, 0.05): 0.1334}
#: Two shares are the same when they differ by no more than this part of the thesis's.
_ALIKE: Final = 1 / 3


def unequal(price: int, period: int = 0) -> Setup:
    """Eight filters: four of cost 1, four of ``price``, groups of one cost."""
    return Setup((0.5,) * 8, (1,) * 4 + (price,) * 4, period=period)


def table_2(trials: TrialSizes) -> FigureResult:
    """Shares of A-Greedy's evaluations."""
    ours: dict[tuple[int, float], float] = {}
    for p in (0.01, HIGH_P):
        setups = {str(n): Setup.alike(n) for n in (3, 8)}
        compared = trials.stable(f"Table 4.2, p = {p:g}", setups, [schemes(p)["A-Greedy"]])
        overheads = means(compared, lambda c: c.runs["A-Greedy"].overhead)
        ours |= {(n, p): share for n, share in zip((3, 8), overheads, strict=True)}
    x = tuple(f"n = {n}, p = {p:g}" for n, p in THESIS)
    series = (
        Series("thesis (time)", x, tuple(100 * v for v in THESIS.values())),
        Series("here (evaluations)", x, tuple(100 * ours[key] for key in THESIS)),
    )
    title = "Profile-tuple creation"
    plot = Plot(title, "pipeline", "% of the whole", "bars", series)
    near = [abs(ours[key] - share) <= _ALIKE * share for key, share in THESIS.items()]
    pairs = [f"{100 * ours[k]:.2f} ({100 * v:.2f})" for k, v in THESIS.items()]
    claims = (
        PaperClaim(
            "Creating profile tuples takes 0.88, 4.17, 2.92 and 13.34 % of the time",
            verdict(near),
            f"{', '.join(pairs)} % of the evaluations (of the time in the thesis)",
        ),
        PaperClaim(
            "It grows with n and with p",
            verdict(
                [ours[8, p] > ours[3, p] for p in (0.01, HIGH_P)]
                + [ours[n, HIGH_P] > ours[n, 0.01] for n in (3, 8)]
            ),
            f"from {100 * ours[3, 0.01]:.2f} to {100 * ours[8, HIGH_P]:.2f} %",
        ),
    )
    setup = trials.stable_setup(likeness(), ("p", "0.01 and 0.05"), ("selectivity", "0.5"))
    notes = (
        "Counted evaluations, so that a seed gives the same numbers; the shares of window, view and"
        " violations are times, and measured by 'run.py bench filters'.",
    )
    return FigureResult(
        "table-4.2", "Table 4.2 — where A-Greedy's work goes", setup, (plot,), claims, notes
    )


@lru_cache(maxsize=1)
def _by_filters(trials: TrialSizes) -> Groups:
    setups = {str(n): Setup.alike(n) for n in FILTERS}
    return trials.stable("Fig. 4.15, 4.16", setups, list(schemes(HIGH_P).values()))


@lru_cache(maxsize=1)
def _by_price(trials: TrialSizes) -> Groups:
    setups = {str(price): unequal(price) for price in PRICES}
    return trials.stable("Fig. 4.17, 4.18", setups, list(schemes(HIGH_P).values()))


def _percent(values: list[float]) -> str:
    return listed([100 * v for v in values], 1) + " %"


def _over(groups: Groups, scheme: str, other: str) -> list[float]:
    """By how much the one is dearer than the other, profile included."""
    return means(groups, lambda c: c.total(scheme) / c.total(other) - 1)


def _overheads(groups: Groups, name: str) -> list[float]:
    """Shares of the profile."""
    return means(groups, lambda c: c.runs[name].overhead)


def _processing(groups: Groups, name: str) -> list[float]:
    """Cost of regular execution over the best order's."""
    return means(groups, lambda c: c.runs[name].processing / c.optimal)


def figure_15(trials: TrialSizes) -> FigureResult:
    """All algorithms at p = 0.05, 2 to 10 filters."""
    groups = _by_filters(trials)
    claims = tuple(
        PaperClaim(
            f"{name} is faster than A-Greedy, the more so the more filters",
            rising(_over(groups, "A-Greedy", name)),
            f"by {_percent(_over(groups, 'A-Greedy', name))} for n = 2..10",
        )
        for name in ("Sweep", "LocalSwaps")
    )
    plot = rates("Processing rate at p = 0.05", groups, ["Optimal", *NAMES], "filters")
    setup = trials.stable_setup(likeness(), default_p(HIGH_P), ("selectivity", "0.5"))
    return FigureResult("4.15", "Fig. 4.15 — all algorithms", setup, (plot,), claims)


def figure_16(trials: TrialSizes) -> FigureResult:
    """What of Fig. 4.15 is overhead."""
    groups = _by_filters(trials)
    names = ["A-Greedy", "Sweep", "LocalSwaps"]
    near = cases(
        groups,
        lambda c: max(c.runs[n].processing for n in names) <= (1 + NEAR) * c.optimal,
    )
    most = {n: max(_processing(groups, n)) for n in names}
    shares = {n: _overheads(groups, n) for n in names}
    text = "; ".join(f"{n} {_percent(values)}" for n, values in shares.items())
    claims = (
        PaperClaim(
            f"Optimal, A-Greedy, Sweep and LocalSwaps process tuples alike (within {NEAR:.0%})",
            verdict(near),
            f"{sum(near)} of {len(near)} runs; at most, on average: "
            + ", ".join(f"{n} {v:.3f} × Optimal" for n, v in most.items()),
        ),
        PaperClaim(
            "The overhead of A-Greedy grows with n, that of Sweep and LocalSwaps does not",
            verdict(
                [rising(shares["A-Greedy"]) == "reproduced"]
                + [shares[n][-1] <= 1.5 * shares[n][0] for n in names[1:]]
            ),
            f"shares of the profile for n = 2..10: {text}",
        ),
    )
    plots = breakdown("p = 0.05", groups, NAMES, "filters")
    setup = trials.stable_setup(likeness(), default_p(HIGH_P), ("selectivity", "0.5"))
    return FigureResult("4.16", "Fig. 4.16 — breakdown of Fig. 4.15", setup, plots, claims)


def figure_17(trials: TrialSizes) -> FigureResult:
    """Four filters of cost 1, four of cost c."""
    groups = _by_price(trials)
    dear = {c: compared for c, compared in groups.items() if int(c) >= 50}
    names = ("Sweep", "LocalSwaps")
    missed = _processing(dear, "LocalSwaps")
    claims = (
        PaperClaim(
            "Sweep and LocalSwaps are faster than A-Greedy, by their lower overhead",
            verdict([v > 0 for n in names for v in _over(groups, "A-Greedy", n)]),
            "; ".join(f"{n} by {_percent(_over(groups, 'A-Greedy', n))}" for n in names)
            + " for c = 1, 10, 50, 100",
        ),
        PaperClaim(
            "LocalSwaps does not find the optimal order for c = 50 and 100",
            verdict([ratio > 1 + NEAR for ratio in missed]),
            f"processing {listed(missed)} × Optimal",
        ),
        PaperClaim(
            "So Sweep is faster than LocalSwaps there",
            verdict([v > 0 for v in _over(dear, "LocalSwaps", "Sweep")]),
            f"by {_percent(_over(dear, 'LocalSwaps', 'Sweep'))}",
        ),
    )
    plot = lines(
        "Cost at p = 0.05",
        groups,
        ["Optimal", *NAMES],
        "cost of the dear filters, in probes",
        "probes per tuple",
        lambda c, name: c.total(name),
    )
    setup = trials.stable_setup(likeness(), default_p(HIGH_P), *_priced())
    return FigureResult("4.17", "Fig. 4.17 — filters of unequal cost", setup, (plot,), claims)


def figure_18(trials: TrialSizes) -> FigureResult:
    """What of Fig. 4.17 is overhead."""
    groups = _by_price(trials)
    shares = {n: _overheads(groups, n) for n in NAMES}
    text = "; ".join(f"{n} {_percent(values)}" for n, values in shares.items())
    claims = (
        PaperClaim(
            "The overhead of A-Greedy grows with c, to about 25 % at c = 100",
            verdict(
                [
                    rising(shares["A-Greedy"]) == "reproduced",
                    abs(shares["A-Greedy"][-1] - 0.25) <= _ALIKE * 0.25,
                ]
            ),
            f"shares of the profile for c = 1, 10, 50, 100: {text}",
        ),
        PaperClaim(
            "That of LocalSwaps is a little lower than Sweep's",
            verdict([a < b for a, b in zip(shares["LocalSwaps"], shares["Sweep"], strict=True)]),
            text,
        ),
    )
    plots = breakdown("p = 0.05", groups, NAMES, "cost of the dear filters")
    setup = trials.stable_setup(likeness(), default_p(HIGH_P), *_priced())
    return FigureResult("4.18", "Fig. 4.18 — breakdown of Fig. 4.17", setup, plots, claims)


def _priced() -> tuple[tuple[str, str], ...]:
    return (
        ("filters", "8, of selectivity 0.5: 1 to 4 cost one probe, 5 to 8 cost c"),
        ("groups", "of filters of one cost (not stated in the thesis)"),
    )
