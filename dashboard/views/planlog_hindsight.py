"""A plan log looked back on: what every plan that ran would have cost all along. [B05] §7"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashboard.components.formats import amount, show
from dashboard.views.numbers import Z_95
from dashboard.views.planlog_importance import usual_moves
from dashboard.views.planlog_returns import AdaptivityReturn, look_back
from storage.tables.rows import StoredLook
from storage.vocabulary.moves import distances
from storage.vocabulary.planlog import PAST, PRICES, counted, is_piloted, stepped_price

#: Share of the prices of other plans that a return takes.
LEAST_KNOWN: Final = 0.25
#: Conditions are alike within so many usual moves of every statistic.
LIKE: Final = 6.0


class Hindsight(NamedTuple):
    """What adapting returned between the looks of a log. back: as estimated; least, most: if prices
    that are guessed were the lowest, and the highest. plans: digests of those that ran, by the
    columns of ``back``. firsts: cost of keeping the plan of the first stretch, of the three.
    n_tuples: that ran. known, near: shares of the prices that are on record, and that are those of
    like conditions, [0, 1]. error: of what was saved, as plans are priced on samples and in like
    conditions, half of its 95 % interval. unit: of the sums; of: what ran, 'tuple'. batches:
    of the look that ended each stretch; since: of the first look, Unix s."""

    back: AdaptivityReturn
    least: AdaptivityReturn
    most: AdaptivityReturn
    plans: tuple[str, ...]
    firsts: tuple[float, float, float]
    n_looks: int
    n_tuples: int
    known: float
    near: float
    error: float
    unit: str
    of: str
    batches: tuple[int, ...]
    since: float

    @property
    def guessed(self) -> float:
        """Share of the prices that nothing is known of, [0, 1]."""
        return max(0.0, 1 - self.known - self.near)

    @property
    def saved(self) -> tuple[float, float]:
        """Over the best single plan, at least and at most."""
        return self.least.saved - self.error, self.most.saved + self.error


def look_back_on(looks: Sequence[StoredLook]) -> Hindsight | None:
    """Of the looks of one log, oldest first; None before two plans ran.

    A stretch ends with a look, whose sample is of its newest tuples: another plan is taken to have
    cost what was measured, and what it costs more on that sample, and on the one before where
    conditions changed. How far that is off is seen by the plan that ran, which was measured, too.
    """
    ended = [look for look in looks if look.record["ran"][0]]
    plans = tuple(dict.fromkeys(look.record["plan"] for look in ended))
    if len(plans) < 2:
        return None
    records, is_sampled = [look.record for look in ended], is_piloted(looks[-1].subject)
    prices, statistics = on_record(ended, plans), in_moves(records)
    filled, sources, off = _checked(prices, statistics)
    chosen = [plans.index(record["plan"]) for record in records]
    n_tuples, unit = sum(r["ran"][0] for r in records), records[-1]["schema"]["cost_unit"]
    whole = 1 if "/" in unit else n_tuples  # what is no cost of a tuple is told as a mean
    costs, missed = _costs(records, filled, chosen, is_sampled)
    switching = float(np.mean([record["switching"] for record in records]))
    deciding = sum(look.record["deciding"] for look in looks)
    back, least, most = (look_back(each / whole, chosen, switching, deciding) for each in costs)
    kept, low, high = (float(each[:, 0].sum() / whole) for each in costs)
    best = back.single.plans[0]
    near = off * _summed(costs[0][:, best], sources[:, best])
    return Hindsight(
        back=back,
        least=least,
        most=most,
        plans=plans,
        firsts=(kept, low, high),
        n_looks=len(looks),
        n_tuples=n_tuples,
        known=float(np.isfinite(prices).mean()),
        near=float((np.isfinite(filled) & np.isnan(prices)).mean()),
        error=Z_95 * float(np.linalg.norm((*near, *missed * is_sampled))) / whole,
        unit=unit.partition("/")[0],
        of=counted(unit),
        batches=tuple(look.batch for look in ended),
        since=looks[0].time,
    )


def _costs(
    records: Sequence[Any], filled: NDArray[np.float64], chosen: Sequence[int], is_sampled: bool
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """float64[T, P] of each stretch, as estimated, at least and at most; and what was measured more
    than predicted, float64[T]. filled: as of ``like_filled``; is_sampled: by an autopilot."""
    own = np.array([record["cost"] for record in records])
    more = filled - own[:, None]
    likely = guessed(more, chosen)
    shares = np.ones(len(records))
    if is_sampled:
        measured = np.array([record["ran"][1] / record["ran"][0] for record in records])
        at_looks, statistics = own[:, None] + likely, in_moves(records)
        shares = stretch_shares(at_looks, statistics, measured, chosen)
    costs, missed = list[NDArray[np.float64]](), list[NDArray[np.float64]]()
    for each in (likely, *guess_bounds(more, _cheapest(records) - own)):
        of_plans, more_than_told = stretch_costs(own[:, None] + each, shares, records, chosen)
        costs.append(of_plans)
        missed.append(more_than_told)
    return costs, missed[0]


def stretch_costs(
    prices: NDArray[np.float64],
    shares: NDArray[np.float64],
    records: Sequence[Any],
    chosen: Sequence[int],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """float64[T, P] of each stretch, that of the plan that ran as measured; and what was measured
    more than predicted, float64[T]. prices: a tuple, at looks; shares: of ``stretch_shares``."""
    n_tuples = np.array([record["ran"][0] for record in records], dtype=np.float64)
    measured = np.array([record["ran"][1] for record in records], dtype=np.float64)
    over = _over_stretches(prices, shares) * n_tuples[:, None]
    missed = measured - over[np.arange(len(chosen)), chosen]
    return np.maximum(0.0, over + missed[:, None]), missed


def in_moves(records: Sequence[Any]) -> NDArray[np.float64]:
    """float64[T, n], statistics of looks in their usual moves. What is timed counts as finely as
    all else: a cost that is another one makes another price."""
    statistics = np.array([record["statistics"] for record in records])
    return statistics / usual_moves(statistics)


def _cheapest(records: Sequence[Any]) -> NDArray[np.float64]:
    """float64[T]: the least cost that each look knew of, a tuple."""
    return np.array([min(_prices(record).values()) for record in records])


def why_none(looks: Sequence[StoredLook], back: Hindsight | None) -> str:
    """Why it cannot be told what adapting returned, in a sentence; '' where it can. An autopilot
    prices all rivals at a look; other cores one of them."""
    if not any(look.record["ran"][0] for look in looks):
        return "Nothing was measured between looks so far."
    if back is None:
        return "One plan ran so far, so there is nothing to compare it with."
    n = len(back.plans)
    others = ((back.known + back.near) * n - 1) / (n - 1)
    if not is_piloted(looks[-1].subject) and others < LEAST_KNOWN:
        return (
            f"Of the prices of plans that did not run {show(others, 'pct')} are known, too few to "
            "tell: a look prices the plan in force and one other."
        )
    return ""


def on_record(looks: Sequence[StoredLook], plans: Sequence[str]) -> NDArray[np.float64]:
    """float64[T, P]: cost a tuple of each plan on the sample of each look, NaN where it was not
    priced, neither there nor when it ran first."""
    records = [look.record for look in looks]
    priced = {record["number"]: _prices(record) for record in records}
    costs = {record["number"]: record["cost"] for record in records}
    for record in records:
        for number, step in record.get(PAST, ()):
            if number in priced:
                price = stepped_price(step, costs[number])
                priced[number].setdefault(record["plan"], price)
    rows = [[own.get(plan, np.nan) for plan in plans] for own in priced.values()]
    return np.array(rows, dtype=np.float64)


def _prices(record: Any) -> dict[str, float]:
    """Of the plans that a look priced on its own sample."""
    cost = record["cost"]
    offered = {plan: price for plan, price, *_ in record["offers"]}
    others = {plan: stepped_price(step, cost) for plan, step in record.get(PRICES, {}).items()}
    return {**others, **offered, record["plan"]: cost}


def like_filled(
    prices: NDArray[np.float64], statistics: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    """What is not known, from the look with the nearest statistics that priced the plan, if those
    are LIKE usual moves away at most, NaN where there is none; and which look that was, else -1.

    prices: float64[T, P]; statistics: float64[T, n], in usual moves, which differ by the largest of
    their differences.
    """
    apart = _apart(statistics)
    filled, sources = prices.copy(), np.full(prices.shape, -1)
    for place, own in enumerate(prices.T):
        known, missing = np.flatnonzero(np.isfinite(own)), np.flatnonzero(np.isnan(own))
        if not (len(known) and len(missing)):
            continue
        away = apart[np.ix_(missing, known)]
        nearest = np.where(away.min(axis=1) <= LIKE, known[away.argmin(axis=1)], -1)
        sources[missing, place] = nearest
        filled[missing, place] = np.where(nearest >= 0, own[nearest], np.nan)
    return filled, sources


def _checked(
    prices: NDArray[np.float64], statistics: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int_], float]:
    """As of ``like_filled``, and how far such prices are off; none is taken where that is not
    known."""
    off = like_error(prices, statistics)
    if math.isnan(off):
        return prices, np.full(prices.shape, -1), 0.0
    filled, sources = like_filled(prices, statistics)
    return filled, sources, off


def like_error(prices: NDArray[np.float64], statistics: NDArray[np.float64]) -> float:
    """How far a price from like conditions is off, as a share of it: the root of the mean square
    where the price is known, too, and looks that did not know it lie between. NaN: nothing was
    known in like conditions at two times.

    prices, statistics: as of ``like_filled``.
    """
    apart, off = _apart(statistics), list[float]()
    for own in prices.T:
        is_known = np.isfinite(own)
        spell = np.cumsum(np.diff(is_known, prepend=False))
        known = np.flatnonzero(is_known)
        for look in known:
            other = known[spell[known] != spell[look]]
            if len(other) and own[look] > 0:
                nearest = other[apart[look, other].argmin()]
                off += [own[nearest] / own[look] - 1] if apart[look, nearest] <= LIKE else []
    return math.sqrt(float(np.mean(np.square(off)))) if off else math.nan


def _apart(statistics: NDArray[np.float64]) -> NDArray[np.float64]:
    return distances(statistics, statistics, np.ones(statistics.shape[1]))


def _summed(costs: NDArray[np.float64], sources: NDArray[np.int_]) -> NDArray[np.float64]:
    """Of each look that prices were taken from, what they come to; nothing where none were."""
    is_near = sources >= 0
    return np.bincount(sources[is_near], weights=costs[is_near]).astype(np.float64)


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


def guess_bounds(
    more: NDArray[np.float64], least: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """As guessed(), but as little and as much as a plan may cost: the cheapest that the look knew
    of, as a search looked for it there; and the most that any plan is known to cost more.

    least: float64[T], a tuple more than what ran."""
    unknown = np.isnan(more)
    low = np.where(unknown, np.minimum(0.0, least)[:, None], more)
    return low, np.where(unknown, max(0.0, float(np.nanmax(more))), more)


def stretch_shares(
    prices: NDArray[np.float64],
    statistics: NDArray[np.float64],
    measured: NDArray[np.float64],
    chosen: Sequence[int],
) -> NDArray[np.float64]:
    """float64[T]: share of each stretch that was like its look; the rest was like the look before.
    Where statistics moved by more than LIKE usual moves it is that by which the plan that ran comes
    to what was measured, and else 1.

    prices: float64[T, P], a tuple, at looks; statistics: float64[T, n], in usual moves; measured:
    float64[T], a tuple; chosen: the column that ran, of each stretch.
    """
    now = prices[np.arange(len(chosen)), chosen]
    before = np.concatenate((now[:1], prices[np.arange(len(chosen) - 1), chosen[1:]]))
    moves = np.abs(np.diff(statistics, axis=0))
    has_changed = np.concatenate(([False], moves.max(axis=1, initial=0.0) > LIKE)) & (now != before)
    share = (measured - before) / np.where(has_changed, now - before, 1.0)
    return np.where(has_changed, np.clip(share, 0.0, 1.0), 1.0)


def _over_stretches(
    prices: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """float64[T, P]: a tuple, over whole stretches. shares: of ``stretch_shares``."""
    before = np.concatenate((prices[:1], prices[:-1]))
    before[shares == 1] = 0.0
    return shares[:, None] * prices + (1 - shares[:, None]) * before


class SumLine(NamedTuple):
    """What something cost or would have cost. is_spent: it did; low, high: whatever the guessed
    prices were."""

    words: str
    cost: float
    low: float
    high: float
    is_spent: bool = False


def sum_lines(back: Hindsight) -> list[SumLine]:
    """What was spent, then the best in hindsight, the best first, switching paid for."""
    own, all = back.back, (back.back, back.least, back.most)
    spent = own.running + own.switching + own.deciding
    rows = {
        "best sequence": [each.sequence.cost for each in all],
        "best two plans": [each.pair.cost for each in all],
        "best single plan": [each.single.cost for each in all],
        "first plan kept": list(back.firsts),
    }
    others = [SumLine(words, cost, low, high) for words, (cost, low, high) in rows.items()]
    return [SumLine("spent", spent, spent, spent, True), *others]


_COUNTS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def returned_words(back: Hindsight) -> str:
    """'Adapting returned 14 × what it cost; 71 % of it came from three switches.' No verdict where
    it depends on prices that are guessed, or on what samples leave open."""
    sentence, saved = back.back.sentence(), back.back.saved
    unit, (low, high) = back.unit, back.saved
    guess = f"{show(back.guessed, 'pct')} of the prices are guessed"
    is_guessed = 2 * (back.most.saved - back.least.saved) > high - low
    why = guess if is_guessed else "samples do not say it surely enough"
    untold = f"It cannot be told whether adapting paid: {why}."
    if low <= 0 < high:
        span = f"{amount(-low, unit)} less and {amount(high, unit)} more"
        return f"{untold} The best single plan would have cost between {span} than what ran."
    if saved <= 0:
        more = ", and what switching and looking cost" if sentence.ratio is not None else ""
        words = f"the best single plan would have saved {amount(-saved, unit)}{more}"
        return f"Adapting has not paid: {words}.{_lost_words(back)}"
    if sentence.ratio is None:
        return f"Adapting saved {amount(saved, unit)}, and deciding takes nothing of that kind."
    price = back.back.switching + back.back.deciding
    least, times, most = (_times(each / price) for each in (low, saved, high))
    if low < price < high and least != most:
        return f"{untold} It returned {least} to {most} × what it cost."
    words = f"Adapting returned {times} × what it cost"
    if least != most:
        words = f"Adapting returned {least} to {most} × what it cost"
        words += f", as {guess}" if is_guessed else ""
    n = sentence.n_switches
    if not n:
        return f"{words}."
    which = f"{_COUNTS[n] if n < len(_COUNTS) else n} switch{'es' if n > 1 else ''}"
    return f"{words}; {100 * sentence.share:.0f} % of it came from {which}."


def _lost_words(back: Hindsight) -> str:
    """' Most was lost after the switch at batch 82.': the fewest with half of what they lost."""
    lost = sorted(
        (switch for switch in back.back.switches if switch.saved < 0),
        key=lambda switch: switch.saved,
    )
    if not lost:
        return ""
    so_far = np.cumsum([each.saved for each in lost])
    n = int(np.searchsorted(-so_far, -so_far[-1] / 2)) + 1
    batches = ", ".join(str(back.batches[each.place - 1]) for each in lost[:n])
    which = "switches at batches" if n > 1 else "switch at batch"
    return f" Most was lost after the {which} {batches}."


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"
