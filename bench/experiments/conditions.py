"""What all figures of a run share: sizes, seeds, the recorded data, the progress bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from backend.systems.asc.orderings import NAMES
from bench.experiments.results import Plot, Series
from bench.experiments.running import ComparedSchemes
from bench.experiments.streams import Stream, recorded
from bench.simulate import Scenario

#: λ of the papers where it stays the same, and the least one a smaller scale comes down to.
LAMBDA: Final = 10_000
_LEAST_LAMBDA: Final = 1_000
#: τ is stated nowhere: a tenth of λ, and no more than this.
_MOST_TAU: Final = 1_000
_LEAST_TUPLES: Final = 2_000


class Conditions(NamedTuple):
    """scale: of the numbers of tuples, 1 is the papers' size. repeats: query sets and streams a
    bar is the mean of. census: the file, or None for flights in its place. cache: folder of the
    flights."""

    scale: float
    seed: int
    repeats: int
    census: Path | None
    cache: Path

    def tuples(self, full: int) -> int:
        """So many tuples at this scale."""
        return max(_LEAST_TUPLES, round(full * self.scale))

    def seeds(self) -> range:
        """A seed a repeat."""
        return range(self.seed, self.seed + self.repeats)

    def scenario(self, full_lambda: int = LAMBDA) -> Scenario:
        """Period by period, μ = 0, eq. 5 on the dropping ratio, as in the papers."""
        n_lambda = max(_LEAST_LAMBDA, round(full_lambda * min(1.0, self.scale)))
        tau = min(_MOST_TAU, n_lambda // 10)
        return Scenario(
            None, tau, n_lambda, trigger="dropping ratio", interval_tuples=n_lambda, seed=self.seed
        )

    def census_like(self, full: int) -> Stream:
        """The census, or flights; raises as streams.recorded does."""
        return recorded(self.census, self.cache, self.tuples(full))

    def setup(
        self, scenario: Scenario, n_tuples: int, *rows: tuple[str, str]
    ) -> tuple[tuple[str, str], ...]:
        """The conditions a figure is shown with."""
        return (
            ("tuples", f"{n_tuples:,}"),
            ("scale", f"{self.scale:g}"),
            ("query sets", f"{self.repeats} (seeds {', '.join(map(str, self.seeds()))})"),
            ("λ", f"{scenario.lambda_tuples:,} tuples"),
            ("τ", f"{scenario.tau_tuples:,} tuples a period (not stated in the papers)"),
            *rows,
        )


def label(scheme: str) -> str:
    """A scheme's name in diagrams and tables."""
    if scheme in ("best", "worst"):
        return f"SEQ {scheme}"
    return next((name for key, name in NAMES.items() if key == scheme), scheme)


def mean(values: Sequence[float]) -> float:
    """Mean of at least one value."""
    return sum(values) / len(values)


def relative_means(compared: Sequence[ComparedSchemes], schemes: Sequence[str]) -> dict[str, float]:
    """Mean over repeats of the visits relative to the best fixed order, by scheme."""
    return {s: mean([c.relative(s) for c in compared]) for s in schemes}


def bars(
    title: str, groups: Mapping[str, list[ComparedSchemes]], schemes: Sequence[str], x_title: str
) -> Plot:
    """Visits per tuple, a group of bars an x, a colour a scheme."""
    series = [
        Series(
            label(scheme),
            tuple(groups),
            tuple(mean([c.visits(scheme) for c in compared]) for compared in groups.values()),
        )
        for scheme in schemes
    ]
    return Plot(title, x_title, "constructs visited per tuple", "bars", tuple(series))


def unmatched(groups: Mapping[str, list[ComparedSchemes]]) -> tuple[str, str]:
    """The row of the set-up that says how many tuples nobody wants (erratum 24)."""
    parts = [
        f"{name} {mean([c.unmatched_prob for c in trials]):.2f}" for name, trials in groups.items()
    ]
    return "unmatched tuples (share)", "; ".join(parts)
