"""What is told of a look at the caches of a join."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from backend.operators.network.joins.join_tuning import Segment
from backend.systems.joins.decide.candidates import CacheCandidate
from backend.systems.joins.decide.estimates import CacheEstimate
from backend.systems.joins.decide.selection import CacheSelection, Choice
from backend.systems.joins.decide.states import CacheState, Transition
from storage.vocabulary.kinds import Verdict


class PricedCandidate(NamedTuple):
    """A candidate at a decision: its numbers, readers in use before and after, what became of it.
    places: of the readers its net value is told with, those in use or all that pay."""

    candidate: CacheCandidate
    estimate: CacheEstimate
    places: tuple[int, ...]
    before: tuple[Segment, ...]
    after: tuple[Segment, ...]
    state_before: CacheState
    state: CacheState
    n_pages: int


class CacheChange(NamedTuple):
    """One look at the caches. cause: 'selection', or 'monitor' of the cache ``dropped``. moved: the
    largest relative change of a benefit or cost since the last selection; None: there was none.
    n_elements: of the join, since the last look. is_chosen: caches were chosen anew, perhaps the
    same. new: what is used now; of verdict 'kept' what was found and costs more. problem: what
    there was to choose from, with which choices can be priced, as it was before the choice."""

    cause: str
    verdict: Verdict
    caches: tuple[PricedCandidate, ...]
    problem: CacheSelection
    old: Choice
    new: Choice
    moved: float | None
    n_elements: int
    is_chosen: bool = True
    dropped: str = ""
    transitions: tuple[Transition, ...] = ()


def benefit_and_cost(estimate: CacheEstimate) -> tuple[float, float]:
    """Benefit of all readers, and cost."""
    return sum(reader.benefit for reader in estimate.readers), estimate.cost


def relative_change(old: float, new: float) -> float:
    """By what share of the old value it changed."""
    if old == new:
        return 0.0
    return abs(new - old) / abs(old) if old else math.inf


def largest_change(
    compared: Mapping[str, tuple[float, float]], estimates: Mapping[str, CacheEstimate]
) -> float | None:
    """The largest relative change of a benefit or cost since these were compared, by cache; None:
    none were."""
    if not compared:
        return None
    changes = [0.0]
    for id, estimate in estimates.items():
        old = compared.get(id)
        now = benefit_and_cost(estimate)
        changes += [math.inf] if old is None else map(relative_change, old, now)
    return max(changes)
