"""What [W13] says of costs and bounds, and drift from half a window to eight. Card A12, d1 to d3"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any, Final, cast

import numpy as np

from backend.systems.amri.assessment import ASSESSORS, AssessmentSettings
from backend.systems.amri.migration import moving_cost
from backend.systems.amri.selection import SelectionSettings, select
from bench.experiments.amri_data import N_STREAMS, EddyCase
from bench.experiments.amri_designs import AmriSettings, AmriSizes, drift, drift_of, near_bits, ours
from bench.experiments.amri_ratios import (
    NOTES,
    Prices,
    RatioClaim,
    all_runs,
    cost,
    judged,
    plots_of,
)
from bench.experiments.amri_running import EddyDesign
from bench.experiments.results import FigureResult, PaperClaim, verdict
from storage.vocabulary.amri_configurations import configurations, even_split
from storage.vocabulary.amri_costs import COUNTED, IndexCosts, SearchLoad

N: Final = N_STREAMS - 1
#: Patterns of a state in the order in which hash indexes are added.
_MODULES: Final = (0b100, 0b010, 0b001, 0b110, 0b101, 0b011, 0b111)
#: "Hardly dearer".
_HARDLY: Final = 1.1
#: Errors and thresholds of the paper, and ours.
_ASSESSED: Final = ((0.05, 0.1), (0.1, 0.15), (0.01, 0.02))
#: Batches of an assessment.
_ASSESSMENT: Final = 4
#: Of e1: tuples of a window, of a phase in windows, phases.
SMALL_WINDOW, DRIFTS, SMALL_PHASES = 100, (0.5, 4.0, 8.0), 20


def d1(sizes: AmriSizes) -> FigureResult:
    """Changing an index, and partitions."""
    bits = even_split(N, near_bits(sizes.window))
    moved = moving_cost(COUNTED, 1, bits, bits[::-1])
    anew = np.cumsum([2 * (module.bit_count() + COUNTED.link) for module in _MODULES])
    cheaper = [moved < of for of in anew]
    settings = ours(sizes.window, sizes.scale)
    parts = {"partitions of W/4": settings.even_split, "one of the window": _whole(sizes, settings)}
    designs = [design._replace(name=name) for name, design in parts.items()]
    runs = all_runs(sizes, "d1", drift(sizes), designs)
    searched = [cost(runs[name], Prices(bucket=1.0)) for name in parts]
    claims = (
        PaperClaim(
            "Changing a bit-address index takes less work than changing k = 1 to 7 hash indexes",
            verdict(cheaper),
            f"{moved:.0f} units a tuple, {', '.join(f'{of:.0f}' for of in anew)} for k indexes",
        ),
        PaperClaim(
            "Partitions make search hardly dearer: within 10 %, buckets visited counted",
            verdict([searched[0] <= _HARDLY * searched[1]]),
            f"{searched[0]:.1f} and {searched[1]:.1f} units an arrival",
        ),
    )
    plots = tuple(plots_of("even split", runs))
    return FigureResult("d1", "d1: §4, changes and partitions", sizes.setup(), plots, claims, NOTES)


def _whole(sizes: AmriSizes, settings: AmriSettings) -> EddyDesign:
    return settings.even_split.with_knobs(partition_share=1.0)


def d2(sizes: AmriSizes) -> FigureResult:
    """Lemma 1."""
    cases, counts = [], []
    for n, budget in product((2, 3, 4), (4, 8, 16)):
        exactly = SelectionSettings(budget, at_most=False, prunes=False)
        asked = dict.fromkeys(range(1, 1 << n), 1 / ((1 << n) - 1))
        n_candidates = len(configurations((budget,) * n, budget))
        terms = [
            select(SearchLoad(n, dict([*asked.items()][:k])), IndexCosts(), exactly).n_terms
            for k in range(1, len(asked) + 1)
        ]
        cases += [bool(step == n_candidates) for step in np.diff(terms)]
        counts.append(f"N = {n}, B = {budget}: {n_candidates}")
    text = "Each statistic removed saves as many cost terms as there are configurations, exactly"
    claims = (PaperClaim(text, verdict(cases), "; ".join(counts)),)
    return FigureResult("d2", "d2: §6.1, Lemma 1", (), (), claims)


def d3(sizes: AmriSizes) -> FigureResult:
    """Lemma 2, as card A6 has it, on the patterns that runs recorded."""
    settings, claims = ours(sizes.window, sizes.scale), list[PaperClaim]()
    runs = all_runs(sizes, "d3", drift(sizes), [settings.base])["AMRI"]
    windows = [
        np.sum([batch.requests[state] for batch in run[k : k + _ASSESSMENT]], axis=0)
        for run in runs
        for k in range(0, len(run), _ASSESSMENT)
        for state in range(N_STREAMS)
    ]
    for method in ("csria", "cdia"):
        judged_all = [pair for of in windows for pair in _bounded(method, of, sizes)]
        used = [over / bound for over, bound in judged_all if bound]
        holds = [over <= bound * (1 + 1e-9) + 1e-6 for over, bound in judged_all]
        claims.append(
            PaperClaim(
                f"The bound holds on every selection ({method.upper()})",
                verdict(holds),
                f"{sum(holds):,} of {len(holds):,}; of the bound {max(used, default=0):.0%} is "
                "used at most",
            )
        )
    setup = sizes.setup(("selections", f"after {_ASSESSMENT} batches, by Eq. 1, three ε and θ"))
    return FigureResult("d3", "d3: §6.2, Lemma 2", setup, (), tuple(claims))


def _bounded(method: str, asked: np.ndarray, sizes: AmriSizes) -> Iterator[tuple[float, float]]:
    """By how much the configuration chosen is dearer than the best, and may be."""
    total = int(asked.sum())
    exact = {p: n / total for p, n in enumerate(asked.tolist()) if n}
    budget = SelectionSettings(near_bits(sizes.window))
    for (epsilon, theta), scope in product(_ASSESSED, ("leaf", "all")):
        of = AssessmentSettings(epsilon, theta, fold_scope=cast(Any, scope))
        assessor = ASSESSORS[method](N, of)
        for pattern in sorted(exact, reverse=True):
            assessor.observe(pattern, int(asked[pattern]))
        report = assessor.report()
        load = partial(SearchLoad, N, arrivals=sizes.window, requests=total)
        chosen = select(load(report.frequencies), IndexCosts(), budget, report)
        best = select(load(exact), IndexCosts(), budget)
        true = IndexCosts().parts(load(exact), np.array([chosen.bits])).total
        yield float(true[0]) - best.cost, chosen.cost_bound


def e1(sizes: AmriSizes) -> FigureResult:
    """The card's own run: W = 100, drift from half a window to eight."""
    settings = ours(SMALL_WINDOW, SMALL_WINDOW / 10_000, bits=8)
    designs = [
        settings.base, settings.static_bitmap, settings.even_split, settings.portfolio,
        *(settings.hashed(k) for k in (1, 3, 7)),
    ]  # fmt: skip
    others = [design.name for design in designs[1:]]
    claims, plots = list[PaperClaim](), []
    for windows in DRIFTS:
        runs = all_runs(sizes, f"e1, {windows:g} W", small_drift(sizes, windows), designs)
        fair = [name for name in others if name not in ("portfolio", "even split")]
        least, among = (1.0, fair) if windows == DRIFTS[-1] else (1 / 1.1, others)
        text = f"Ours: at W = 100 and phases of {windows:g} W R(AMRI) is at least {least:.2f} times"
        relations = tuple(("AMRI", least, name) for name in among)
        claim = RatioClaim(f"{text} that of {', '.join(among)}", relations)
        outcome = judged(claim, "our settings, B = 8", runs)
        claims.append(outcome._replace(number=f"{_costs(runs)}; {outcome.number}"))
        plots += plots_of(f"phases of {windows:g} W", runs)
    setup = (
        ("windows", f"{SMALL_WINDOW} tuples, at any scale"),
        ("phases", f"{_n_phases(sizes)}; the card: AMRI 1.10, 1.80, 1.00 of the cheapest"),
        ("seeds", f"{sizes.repeats} from {sizes.seed} on; numbers are means"),
    )
    return FigureResult("e1", "e1: drift, ours", setup, tuple(plots), tuple(claims), NOTES)


def _costs(runs: Any) -> str:
    costs = {name: cost(of) for name, of in runs.items()}
    return "units an arrival: " + ", ".join(f"{name} {of:.1f}" for name, of in costs.items())


def _n_phases(sizes: AmriSizes) -> int:
    return max(5, round(SMALL_PHASES * sizes.scale))


def small_drift(sizes: AmriSizes, windows: float) -> EddyCase:
    """Phases of so many small windows."""
    phase = round(windows * SMALL_WINDOW)
    return drift_of(SMALL_WINDOW, phase, _n_phases(sizes), sizes.seed)
