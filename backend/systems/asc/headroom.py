"""What would make a selection plan change next, by the rules it is built and kept by. [L12] eq. 1-5

Two things have to come together: the trigger fires (eq. 5), and the order built then is another one
(eq. 1-3), because some attribute has overtaken one before it.
"""

from __future__ import annotations

import math
from typing import Final

from backend.adaptive.headroom import cooling, overtaking, saving, waiting_for
from backend.adaptive.stats import thinned
from backend.adaptive.words import number, percent
from backend.systems.asc.cost import PlanChoice
from backend.systems.asc.explain import plan_text
from backend.systems.asc.macro import StandingPlace, standing_places
from backend.systems.asc.trigger import DROPPING, VISITS, Watched
from backend.systems.asc.watch import EvaluationMoment
from storage.vocabulary.headroom import Headroom
from storage.vocabulary.kinds import Verdict

#: Pairs that are told.
MOST_PAIRS: Final = 3
#: Words the bitmaps of the sample looked at take, about; and the least tuples of it.
_MOST_WORDS: Final = 1 << 16
_LEAST: Final = 200
#: Orderings whose order is the macro-sequence.
_MACRO: Final = ("macro", "hybrid")
_UNIT: Final = "visits/tuple"
_THEN: Final = "; it moves at the next rearrangement"


def rejection_headroom(
    moment: EvaluationMoment, verdict: Verdict, n_sampled: int, what: str
) -> list[Headroom]:
    """Of an evaluation of the trigger that built no plan. n_sampled: tuples ``what`` there are."""
    knobs = moment.knobs
    if verdict == "thin":
        headroom = [waiting_for(n_sampled, knobs.least_samples, what)]
    elif verdict == "cooldown":
        headroom = [cooling(moment.watch.cooldown, knobs.cooldown_tuples)]
    else:
        headroom = [_trigger(moment.watched, knobs.mu)] if moment.watched else []
    return [*headroom, *order_headroom(moment)]


def choice_headroom(moment: EvaluationMoment, choice: PlanChoice) -> list[Headroom]:
    """Of a rearrangement: from where on the trigger fires again, and, where it kept the plan, what
    the other one would have to cost."""
    by_drops, mu = moment.knobs.trigger == "dropping ratio", moment.knobs.mu
    metric, init = (DROPPING, choice.d_init) if by_drops else (VISITS, choice.visits_init)
    headroom = [_trigger(Watched(metric, init, init), mu)]
    other = choice.withheld or choice.challenger
    if not choice.switches and other is not None:
        old, new = choice.incumbent.cost.value, other.cost.value
        who = f"plan {plan_text(other.shape)}"
        headroom.append(saving(who, old, new, choice.min_gain, _UNIT))
    return headroom if choice.switches else [*headroom, *order_headroom(moment)]


def order_headroom(moment: EvaluationMoment) -> list[Headroom]:
    """The attributes nearest to overtaking one before them when the order is built anew; nothing
    for orders that are built another way, or without a sample."""
    if moment.built_by not in _MACRO or not len(moment.sample):
        return []
    regions = thinned(moment.sample, max(_LEAST, _MOST_WORDS // moment.constructs.n_words))
    places = standing_places(moment.constructs, regions, moment.plan.order)
    pairs = [overtaker for place in places for overtaker in _overtakers(place)]
    return sorted(pairs, key=lambda pair: -pair.near)[:MOST_PAIRS]


def _trigger(watched: Watched, mu: float) -> Headroom:
    """Eq. 5: by how much the watched quantity would have to move further."""
    unit, change = _UNIT if watched.metric == VISITS else "prob", watched.change
    up, down = watched.init * (1 + mu), watched.init * (1 - mu)
    bounds = f"{number(up)}" if down <= 0 else f"{number(up)} or {number(down)}"
    words = (
        f"the order is built anew when {watched.metric} come to {bounds}, now {number(watched.now)}"
        f" (μ = {percent(mu)})"
    )
    missing = max(0.0, mu * watched.init - abs(watched.now - watched.init))
    near = 1.0 if math.isinf(change) or not mu else min(1.0, change / mu)
    return Headroom(words.replace("ratio come", "ratio comes"), missing, unit, near)


def _overtakers(place: StandingPlace) -> list[Headroom]:
    """Attributes behind a place against the one that stands there."""
    step, alive = place
    if not alive or step.phase == "last":
        return []
    own = step.winner.score or 0.0
    others = [c for c in step.candidates if c.attribute != step.chosen]
    if step.phase == "dropping ratio":
        return [
            overtaking(c.attribute, step.chosen, rise / alive, now / alive, _THEN)
            for c in others
            for rise, now in [(own - (c.score or 0.0), max(0.0, (c.score or 0.0) - 1 + alive))]
        ]
    return [_more_selective(c.attribute, c.score or 0.0, step.chosen, own) for c in others]


def _more_selective(entity: str, score: float, over: str, own: float) -> Headroom:
    """Phase 1: the least selectivity goes first (eq. 1)."""
    fall = score - own
    if fall <= 0:
        words, near = f"{entity} is as selective as {over} already", 1.0
    else:
        words = f"{entity} goes before {over} if its selectivity falls by {fall:.3f}"
        near = (1 - score) / (1 - own) if own < 1 else 0.0
    return Headroom(f"{words}{_THEN}", max(0.0, fall), "prob", near, entity, over)
