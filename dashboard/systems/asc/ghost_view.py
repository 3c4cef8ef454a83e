"""The recorded run beside its ghost: what would vanish, what would appear, what it would cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from dashboard.systems.asc.recorded_trials import Plan
from dashboard.systems.asc.whatif_view import UNKNOWN, GhostStep
from dashboard.views.numbers import MeanInterval, mean_interval

REBUILT: Final = ("switched", "kept")
COMMON, VANISHES, APPEARS = "common", "vanishes", "appears"


class GhostTotals(NamedTuple):
    """One run: rearrangements, plans built (rearranged or kept), visits per tuple (None: thin)."""

    switched: int
    rebuilt: int
    visits: float | None


class GhostComparison(NamedTuple):
    """The ghost run beside the recorded one.

    saved: visits per tuple the ghost saves (negative: costs), with a 95 % interval over the
    evaluations; None when there are too few. n: sampled tuples behind it. vanish, appear, common:
    rearrangements. All of it up to where the ghost run ends; n_unknown: evaluations after that,
    which cannot be decided; until: when the last one was that can (Unix s), None = all or none.
    """

    real: GhostTotals
    ghost: GhostTotals
    saved: MeanInterval | None
    n: int
    n_tuples: int
    n_unknown: int
    vanish: int
    appear: int
    common: int
    until: float | None = None

    @property
    def is_same(self) -> bool:
        """Whether both runs have the same plans throughout."""
        return self.vanish == self.appear == 0


def compare(steps: Sequence[GhostStep], min_samples: int) -> GhostComparison:
    """Sum up both runs. min_samples: fewer sampled tuples give no number."""
    decided = [step for step in steps if step.ghost != UNKNOWN]
    known = [s for s in decided if s.real_cost is not None and s.ghost_cost is not None]
    n = sum(s.trial.n for s in known)
    n_tuples = sum(s.n_tuples for s in known)
    enough = n >= min_samples and n_tuples > 0
    pairs = [(s.real_cost or 0.0, s.ghost_cost or 0.0, s.n_tuples) for s in known]
    real = sum(a * w for a, _, w in pairs) / n_tuples if enough else None
    ghost = sum(b * w for _, b, w in pairs) / n_tuples if enough else None
    effects = Counter(effect(step) for step in decided)
    n_unknown = len(steps) - len(decided)
    common, vanish, appear = effects[COMMON], effects[VANISHES], effects[APPEARS]
    return GhostComparison(
        real=GhostTotals(common + vanish, sum(s.real in REBUILT for s in decided), real),
        ghost=GhostTotals(common + appear, sum(s.ghost in REBUILT for s in decided), ghost),
        saved=mean_interval([(a - b, w) for a, b, w in pairs]) if enough else None,
        n=n,
        n_tuples=n_tuples,
        n_unknown=n_unknown,
        vanish=vanish,
        appear=appear,
        common=common,
        until=decided[-1].trial.time if decided and n_unknown else None,
    )


def effect(step: GhostStep) -> str | None:
    """What becomes of a rearrangement in the ghost run: COMMON, VANISHES or APPEARS; None where
    neither run has one, or where the ghost run has ended."""
    if step.ghost == UNKNOWN:
        return None
    effects = {(True, True): COMMON, (True, False): VANISHES, (False, True): APPEARS}
    return effects.get((step.real == "switched", step.ghost == "switched"))


def plan_words(plan: Plan) -> str:
    """``hybrid: a → b → c``; the kind is left out for plain early drop."""
    order = " → ".join(plan.order)
    return order if plan.kind == "early drop" else f"{plan.kind}: {order}"
