"""A plan log looked back on: what every plan that ran would have cost all along. [B05] §7"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashboard.components.formats import show, with_mu
from dashboard.views.planlog_importance import usual_moves
from dashboard.views.planlog_returns import AdaptivityReturn, look_back
from storage.tables.rows import StoredLook
from storage.vocabulary.moves import distances

#: Share of the prices of other plans that a return takes.
LEAST_KNOWN: Final = 0.25
#: Conditions are alike within so many usual moves of every statistic.
LIKE: Final = 6.0


class Hindsight(NamedTuple):
    """What adapting returned between the looks of a log. plans: digests of those that ran, by the
    columns of ``back``. first: cost of keeping the plan of the first stretch. n_tuples: that ran.
    known, near: shares of the prices that are on record, and that are those of like conditions, [0,
    1]. unit: of the sums. batches: of the look that ended each stretch; since: of the first look,
    Unix s."""

    back: AdaptivityReturn
    plans: tuple[str, ...]
    first: float
    n_looks: int
    n_tuples: int
    known: float
    near: float
    unit: str
    batches: tuple[int, ...]
    since: float


def look_back_on(looks: Sequence[StoredLook]) -> Hindsight | None:
    """Of the looks of one log, oldest first; None before two plans ran.

    A stretch ends with a look, whose sample is of its tuples: another plan is taken to have cost
    what was measured, and what it costs more on that sample.
    """
    ended = [look for look in looks if look.record["ran"][0]]
    plans = tuple(dict.fromkeys(look.record["plan"] for look in ended))
    if len(plans) < 2:
        return None
    records = [look.record for look in ended]
    prices = on_record(ended, plans)
    filled = like_filled(prices, np.array([record["statistics"] for record in records]))
    chosen = [plans.index(record["plan"]) for record in records]
    more = guessed(filled - np.array([record["cost"] for record in records])[:, None], chosen)
    counts, unit = [record["ran"][0] for record in records], records[-1]["schema"]["cost_unit"]
    whole = 1 if "/" in unit else sum(counts)  # what is no cost of a tuple is told as a mean
    n_tuples = np.array(counts, dtype=np.float64) / whole
    measured = np.array([record["ran"][1] for record in records]) / whole
    costs = np.maximum(0.0, measured[:, None] + more * n_tuples[:, None])
    switching = float(np.mean([record["switching"] for record in records]))
    deciding = sum(look.record["deciding"] for look in looks)
    return Hindsight(
        look_back(costs, chosen, switching, deciding),
        plans,
        float(costs[:, 0].sum()),
        len(looks),
        sum(counts),
        float(np.isfinite(prices).mean()),
        float((np.isfinite(filled) & np.isnan(prices)).mean()),
        unit.partition("/")[0],
        tuple(look.batch for look in ended),
        looks[0].time,
    )


def why_none(looks: Sequence[StoredLook], back: Hindsight | None) -> str:
    """Why it cannot be told what adapting returned, in a sentence; '' where it can. An autopilot
    prices all rivals at a look; other cores one of them."""
    if not any(look.record["ran"][0] for look in looks):
        return "Nothing was measured between looks so far."
    if back is None:
        return "One plan ran so far, so there is nothing to compare it with."
    n = len(back.plans)
    others = ((back.known + back.near) * n - 1) / (n - 1)
    if looks[-1].subject and others < LEAST_KNOWN:
        return (
            f"Of the prices of plans that did not run {show(others, 'pct')} are known, too few to "
            "tell: a look prices the plan in force and one other."
        )
    return ""


def on_record(looks: Sequence[StoredLook], plans: Sequence[str]) -> NDArray[np.float64]:
    """float64[T, P]: cost a tuple of each plan on the sample of each look, NaN where it was not
    priced."""
    rows = []
    for look in looks:
        record = look.record
        priced = {plan: cost for plan, cost, *_ in record["offers"]} | {
            record["plan"]: record["cost"]
        }
        rows.append([priced.get(plan, np.nan) for plan in plans])
    return np.array(rows, dtype=np.float64)


def like_filled(
    prices: NDArray[np.float64], statistics: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What is not known, from the look with the nearest statistics that priced the plan, if those
    are LIKE usual moves away at most; NaN where there is none.

    prices: float64[T, P]; statistics: float64[T, n], which differ by the largest of their
    differences.
    """
    apart = distances(statistics, statistics, usual_moves(statistics))
    filled = prices.copy()
    for column, own in zip(filled.T, prices.T, strict=True):
        known, missing = np.flatnonzero(np.isfinite(own)), np.flatnonzero(np.isnan(own))
        if not len(known):
            continue
        away = apart[np.ix_(missing, known)]
        nearest = own[known[away.argmin(axis=1)]]
        column[missing] = np.where(away.min(axis=1) <= LIKE, nearest, np.nan)
    return filled


def guessed(more: NDArray[np.float64], chosen: Sequence[int]) -> NDArray[np.float64]:
    """What a plan costs more than the one that ran, where nothing is known of it: as much as on
    average where it is known and another ran, and never less than nothing.

    more: float64[T, P], a tuple, NaN where not known; chosen: the column that ran, of each row.
    """
    whole = more.copy()
    for place, column in enumerate(whole.T):
        others = [cost for cost, ran in zip(column.tolist(), chosen, strict=True) if ran != place]
        known = [cost for cost in others if cost == cost]
        mean = max(0.0, sum(known) / len(known)) if known else 0.0
        column[np.isnan(column)] = mean
    return whole


class SumLine(NamedTuple):
    """What something cost or would have cost. is_spent: it did."""

    words: str
    cost: float
    is_spent: bool = False


def sum_lines(back: Hindsight) -> list[SumLine]:
    """What was spent, then the best in hindsight, the best first, switching paid for."""
    own = back.back
    return [
        SumLine("spent", own.running + own.switching + own.deciding, True),
        SumLine("best sequence", own.sequence.cost),
        SumLine("best two plans", own.pair.cost),
        SumLine("best single plan", own.single.cost),
        SumLine("first plan kept", back.first),
    ]


_COUNTS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def returned_words(back: Hindsight) -> str:
    """'Adapting returned 14 × what it cost; 71 % of it came from three switches.'"""
    sentence, saved = back.back.sentence(), back.back.saved
    if saved <= 0:
        lost = f"{show(-saved, 'si')} {with_mu(back.unit)}"
        more = ", and what switching and looking cost" if sentence.ratio is not None else ""
        return f"Adapting has not paid: the best single plan would have saved {lost}{more}."
    if sentence.ratio is None:
        gain = f"{show(saved, 'si')} {with_mu(back.unit)}"
        return f"Adapting saved {gain}, and deciding takes nothing of that kind."
    ratio = sentence.ratio
    times = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"
    words = f"Adapting returned {times} × what it cost"
    n = sentence.n_switches
    if not n:
        return f"{words}."
    which = f"{_COUNTS[n] if n < len(_COUNTS) else n} switch{'es' if n > 1 else ''}"
    return f"{words}; {100 * sentence.share:.0f} % of it came from {which}."
