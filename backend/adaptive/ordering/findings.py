"""One look at the invariant: which pair of filters decides, and with what numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.evidence import finite
from backend.adaptive.ordering.ranks import (
    PS_PER_US,
    Counts,
    Pair,
    Picoseconds,
    RankInterval,
    rank,
    rank_difference,
    ranks_below,
    violated_pairs,
)
from backend.adaptive.ordering.rule import Rule
from backend.adaptive.ordering.view import Columns, MatrixView


class Situation(NamedTuple):
    """What an algorithm decides on.

    columns: the window's drops by filter. costs: by filter. n_tuples: tuples of the window, passes
    included. is_complete: every filter was asked about every tuple of the window.
    """

    view: MatrixView
    columns: Columns
    costs: tuple[Picoseconds, ...]
    n_tuples: int
    rule: Rule
    is_complete: bool = True


class Finding(NamedTuple):
    """The pair that decides: a violated one, else the one nearest to a violation.

    own, other: filters at the pair's positions. v_own, v_other, both: tuples they drop of the n_row
    that reach ``row``. interval: of rank(other) - rank(own). violated: (row, position, challenger)
    of all violated pairs, row by row.
    """

    pair: Pair
    row: int
    own: int
    other: int
    v_own: int
    v_other: int
    both: int
    costs: tuple[Picoseconds, Picoseconds]
    n_row: int
    interval: RankInterval | None
    is_violated: bool
    violated: tuple[tuple[int, int, int], ...] = ()

    @property
    def ranks(self) -> tuple[float, float]:
        """Drops per microsecond and tuple of the row: own, other."""
        own = rank(self.v_own, self.costs[0])
        other = rank(self.v_other, self.costs[1])
        return (own / self.n_row, other / self.n_row) if self.n_row else (0.0, 0.0)


class Near(NamedTuple):
    """How far a pair is from a violation: the rise in the challenger's drop probability it takes.

    rise_prob: None when no drop probability is enough. drop_prob: the challenger's now, of what
    reaches the pair's row.
    """

    pair: Pair
    own: int
    other: int
    rise_prob: float | None
    drop_prob: float


def look(s: Situation, kept: NDArray[np.bool_], flat: bool = False) -> Finding | None:
    """The decisive pair among the entries ``kept`` (bool[n, n] by position); None without pairs.

    flat: every row is taken to be the first one (Independent). The first violated row counts; in
    it, the challenger of the highest rank.
    """
    allowed = kept & s.view.comparable()
    if not allowed.any():
        return None
    counts = np.tile(s.view.counts[0], (s.view.n, 1)) if flat else s.view.counts
    costs = s.view.costs(s.costs)
    pairs = violated_pairs(counts, costs, allowed, s.rule.threshold)
    if s.rule.by_evidence:
        pairs = [pair for pair in pairs if _is_evident(describe(s, pair, flat, True))]
    if pairs:
        finding = describe(s, _strongest(pairs, counts, costs), flat, True)
        cells = ((0 if flat else pair.position, *pair) for pair in pairs)
        return finding._replace(violated=tuple(cells))
    return describe(s, _nearest(counts, costs, allowed), flat, False)


def describe(s: Situation, pair: Pair, flat: bool = False, is_violated: bool = False) -> Finding:
    """The pair with its numbers. flat: on the first row, whatever its position."""
    view, row = s.view, 0 if flat else pair.position
    own, other = view.order[pair.position], view.order[pair.challenger]
    v_own, v_other = int(view.counts[row, pair.position]), int(view.counts[row, pair.challenger])
    both, n_row = view.both(row, own, other, s.columns), view.alive(s.n_tuples)[row]
    prices = (s.costs[own], s.costs[other])
    interval = rank_difference(v_own, v_other, both, prices, n_row, s.rule.confidence)
    return Finding(
        pair, row, own, other, v_own, v_other, both, prices, n_row, interval, is_violated
    )


def near_violations(s: Situation, kept: NDArray[np.bool_], most: int = 5) -> list[Near]:
    """The pairs nearest to a violation, nearest first."""
    costs, alpha = s.view.costs(s.costs), float(s.rule.threshold)
    n_rows = np.array(s.view.alive(s.n_tuples)[:-1], dtype=np.float64)[:, None]
    own = np.diag(s.view.counts)[:, None] * costs[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = own / (alpha * costs[:, None])
        rise = np.maximum(0.0, (needed - s.view.counts) / n_rows)
    rise[~(needed <= n_rows) | ~np.isfinite(rise)] = np.inf
    rows, columns = np.nonzero(kept & s.view.comparable())
    nearest = np.argsort(rise[rows, columns], kind="stable")[:most]
    nearest_pairs = []
    for i, j in zip(rows[nearest].tolist(), columns[nearest].tolist(), strict=True):
        by, n_row = float(rise[i, j]), float(n_rows[i, 0])
        names = s.view.order[i], s.view.order[j]
        now = float(s.view.counts[i, j]) / n_row if n_row else 0.0
        nearest_pairs.append(Near(Pair(i, j), *names, None if math.isinf(by) else by, now))
    return nearest_pairs


def _is_evident(finding: Finding) -> bool:
    """The interval lies above zero; without one (a free filter) the numbers are taken as exact."""
    return finding.interval is None or finding.interval.low > 0


def _strongest(pairs: list[Pair], counts: Counts, costs: NDArray[np.float64]) -> Pair:
    chosen = pairs[0]
    for pair in pairs[1:]:
        if pair.position != chosen.position:
            break
        i, best, other = pair.position, chosen.challenger, pair.challenger
        if ranks_below(
            int(counts[i, best]), int(costs[best]), int(counts[i, other]), int(costs[other])
        ):
            chosen = pair
    return chosen


def _nearest(counts: Counts, costs: NDArray[np.float64], allowed: NDArray[np.bool_]) -> Pair:
    """The pair whose challenger comes closest to the incumbent's rank."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = counts * costs[:, None] / (np.diag(counts)[:, None] * costs[None, :])
    ratio = np.where(allowed, np.nan_to_num(ratio, nan=0.0, posinf=np.inf), -1.0)
    i, j = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return Pair(int(i), int(j))


def pair_detail(finding: Finding, names: Sequence[str]) -> dict[str, Any]:
    """The deciding pair: positions count from 1; costs in us, ranks in drops per us and tuple."""
    own, other = finding.ranks
    return {
        "position": finding.pair.position + 1,
        "challenger_position": finding.pair.challenger + 1,
        "filter": names[finding.own],
        "challenger": names[finding.other],
        "dropped": finding.v_own,
        "challenger_dropped": finding.v_other,
        "both_dropped": finding.both,
        "n_reached": finding.n_row,
        "cost_us": finding.costs[0] / PS_PER_US,
        "challenger_cost_us": finding.costs[1] / PS_PER_US,
        "rank": finite(own),
        "challenger_rank": finite(other),
        "violated": finding.is_violated,
        "interval": None if finding.interval is None else finding.interval._asdict(),
    }
