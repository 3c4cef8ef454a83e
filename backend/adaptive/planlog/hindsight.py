"""What plans that ran before would have cost at a look, for the record alone. Ours

What is decided goes by offers; these prices are there for who looks back on the run. Plans that ran
are priced on the sample of each look, and a plan that runs for the first time on samples kept of
looks before, so that it is known what it would have cost then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from backend.adaptive.planlog.autopilot import PilotLook
from backend.adaptive.planlog.records import LogJson, PlanLogRefused, whole_number
from backend.adaptive.planlog.steered import PilotSample, SteeredPlans
from backend.adaptive.stats import thinned
from storage.vocabulary.planlog import PAST, PRICES, price_step

#: Plans priced at a look besides its offers, at most: those that most tuples ran under.
MOST_PRICED: Final = 16
#: Plans whose tuples are counted, looks of which a sample is kept, and tuples of each, at most.
_MOST_COUNTED: Final = 64
_MOST_LOOKS: Final = 64
_MOST_TUPLES: Final = 128


class _KeptSample(NamedTuple):
    """Of a look before. plan: in force."""

    number: int
    plan: str
    rows: PilotSample


class PlansThatRan:
    """Counts the tuples that ran under each plan, and prices those plans."""

    def __init__(self) -> None:
        self._n_tuples: dict[str, int] = {}
        self._kept: list[_KeptSample] = []
        self._every = 1

    def ran(self, plan: str, n_tuples: int) -> None:
        """So many tuples ran under a plan until a look."""
        if not n_tuples:
            return
        before = self._n_tuples.pop(plan, 0)
        if len(self._n_tuples) >= _MOST_COUNTED:
            del self._n_tuples[min(self._n_tuples, key=self._n_tuples.__getitem__)]
        self._n_tuples[plan] = before + n_tuples

    def priced(
        self,
        plans: SteeredPlans,
        known: Mapping[str, LogJson],
        look: PilotLook,
        number: int,
        rows: PilotSample,
    ) -> dict[str, LogJson]:
        """What goes on record besides the offers of a look of this number. known: digest -> plan;
        rows: that the plan in force is priced on."""
        past = [] if look.plan in self._n_tuples else self._past(plans, known, look.plan)
        asked = self._asked(known, {look.plan, *(offer.plan for offer in look.offers)})
        prices = {digest: float(plans.prices(known[digest], rows).mean()) for digest in asked}
        steps = {digest: price_step(price, look.cost) for digest, price in prices.items()}
        others = {digest: step for digest, step in steps.items() if step is not None}
        self._keep(_KeptSample(number, look.plan, thinned(rows, _MOST_TUPLES)))
        return {PRICES: others, PAST: past}

    def forget(self) -> None:
        """Samples are gone, as after a kill."""
        self._kept.clear()
        self._every = 1

    def state(self) -> dict[str, int]:
        """As JSON: tuples by plan, in the order they ran of late."""
        return dict(self._n_tuples)

    def restore(self, state: Mapping[str, LogJson]) -> None:
        """Take up ``state()``. Raises PlanLogRefused for counts that cannot be."""
        if not isinstance(state, Mapping):
            raise PlanLogRefused("the tuples that ran under each plan have another form")
        self._n_tuples = {
            plan: whole_number(n, "the tuples that ran under a plan") for plan, n in state.items()
        }

    def _asked(self, known: Mapping[str, LogJson], named: Iterable[str]) -> list[str]:
        ran = self._n_tuples.keys() & known.keys() - set(named)
        by_tuples = sorted(ran, key=lambda plan: (-self._n_tuples[plan], plan))
        return by_tuples[:MOST_PRICED]

    def _past(
        self, plans: SteeredPlans, known: Mapping[str, LogJson], plan: str
    ) -> list[list[int]]:
        """[number, step] of looks before the newest, which priced the plan itself."""
        kept = [sample for sample in self._kept if sample.plan in known]
        before = dict[int, float]()
        for present in dict.fromkeys(sample.plan for sample in kept):
            before |= _means(plans, known[present], [s for s in kept if s.plan == present])
        prices = _means(plans, known[plan], kept)
        steps = {number: price_step(price, before[number]) for number, price in prices.items()}
        return [[number, step] for number, step in steps.items() if step is not None]

    def _keep(self, sample: _KeptSample) -> None:
        """Samples of looks that are evenly apart."""
        if sample.number % self._every:
            return
        self._kept.append(sample)
        while len(self._kept) > _MOST_LOOKS:
            self._every *= 2
            self._kept = [kept for kept in self._kept if not kept.number % self._every]


def _means(plans: SteeredPlans, plan: LogJson, samples: Sequence[_KeptSample]) -> dict[int, float]:
    """What a plan costs a tuple on samples of looks, by the number of the look."""
    if not samples:
        return {}
    prices = plans.prices(plan, np.concatenate([sample.rows for sample in samples]))
    ends = np.cumsum([len(sample.rows) for sample in samples])
    parts = np.split(prices, ends[:-1])
    return {s.number: float(part.mean()) for s, part in zip(samples, parts, strict=True)}
