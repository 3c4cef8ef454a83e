"""What would make the caches of a join change next, or its tree, by the rules they are kept by.

[B05] §5.5: a cache in use goes at once when its benefit falls below its cost; others come with the
next selection, which is made when something moved, and pay when their benefit is above their cost.
"""

from __future__ import annotations

import math
from typing import Final

from backend.adaptive.headroom import moving, saving
from backend.adaptive.words import significant
from backend.systems.joins.decide.changes import CacheChange, PricedCandidate
from backend.systems.joins.decide.joint_orders import TreeCheck
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape
from storage.vocabulary.headroom import Headroom

#: Caches that are told.
MOST_CACHES: Final = 3


def cache_headroom(change: CacheChange, settings: JoinSettings, shape: JoinShape) -> list[Headroom]:
    """Of a look at the caches: how far a new selection is off, where there was one to compare with,
    and the caches nearest to going or to paying."""
    of_caches = [
        _told(cache, shape, settings) for cache in change.caches if _may_change(cache, settings)
    ]
    nearest = sorted(of_caches, key=lambda headroom: -headroom.near)[:MOST_CACHES]
    if change.cause == "monitor":
        return nearest
    moved = 0.0 if change.is_chosen or change.moved is None else change.moved
    share = settings.change_share
    return [moving("a benefit or cost", moved, share, "caches are selected anew"), *nearest]


def _may_change(candidate: PricedCandidate, settings: JoinSettings) -> bool:
    """Whether its numbers decide: it is not pinned, and look-ups of it were seen. One that pays and
    is not in use gives way to others; what those would have to lose is not told."""
    if candidate.candidate.id in settings.pinned:
        return False
    benefit, cost = _benefit(candidate), candidate.estimate.cost
    is_seen = any(reader.n_probes for reader in candidate.estimate.readers)
    return bool(candidate.after) or (is_seen and benefit <= cost)


def _benefit(candidate: PricedCandidate) -> float:
    return sum(candidate.estimate.readers[place].benefit for place in candidate.places)


def _told(candidate: PricedCandidate, shape: JoinShape, settings: JoinSettings) -> Headroom:
    name, unit = candidate.candidate.said(shape), settings.cost_unit
    benefit, cost = _benefit(candidate), candidate.estimate.cost
    missing = abs(benefit - cost)
    if candidate.after:
        words, near = f"{name} goes if its benefit falls by", _share(cost, benefit)
    else:
        words, near = f"{name} pays if its benefit rises by", _share(benefit, cost)
    sentence = f"{words} {significant(missing)} {unit} (now {significant(benefit)})"
    return Headroom(sentence, missing, unit, near, name)


def _share(part: float, whole: float) -> float:
    return min(1.0, part / whole) if whole > 0 and math.isfinite(whole) else 1.0


def tree_headroom(check: TreeCheck, unit: str) -> list[Headroom]:
    """Of a look at all orders together."""
    if check.verdict == "switched":
        return []
    if check.before == check.after:
        words = "other orders would have to come to cost less than those in force: none is known"
        return [Headroom(words, None, unit, 0.0)]
    return [saving("the best other tree", check.old_cost, check.new_cost, check.gain, unit)]
