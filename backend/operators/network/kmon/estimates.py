"""What the estimators of k know of each constraint, in arrays: they lie in a region of the join."""

from __future__ import annotations

import math
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints
from backend.operators.network.kmon.tuning import DISTANCE_BINS, UNKNOWN_K, KMonTuning

#: Columns of ``rows``: what an observer may read; n of the estimate's observations, and arrivals
#: since k was none at last; the rest is the estimator's own.
K, KEPT, ESTIMATE, LOW, HIGH, N, ARRIVALS = range(7)
HEAD, UNLOOKED, CHANGED, IS_OPEN, BEFORE, PATIENCE = range(7, 13)
N_ROW: Final = 13
#: Columns of ``sums``: weights of the observations and their squares, weights of those above k and
#: of those lost; evidence that more is let go than used to be, of ended blocks and of this one;
#: what each outcome adds to it, and how far it may be below 0.
WEIGHT, SQUARES, OVER, LOST, LEVEL, BLOCK, IF_RELEASED, IF_JOINED, CREDIT = range(9)
N_SUM: Final = 9
#: Columns of ``settings``. LEAST: informative observations for a k; STEP: from look to look;
#: ALARM: evidence at which k is given up.
WINDOW, FACTOR, SLACK, BUDGET, IS_LITERAL, LEAST, STEP, ALARM = range(8)
N_SETTING: Final = 8
#: A false alarm may be raised once in so many windows.
_QUIET_WINDOWS: Final = 20
Floats: TypeAlias = NDArray[np.float64]


class Estimates(NamedTuple):
    """Of n constraints, all in arrays. ring: the last W distances, R >= W places each, came: at
    which arrival, weights: of how many pairs each is (literal: distances that may become the
    greatest). By bin: events: these weights; bins: share of joining pairs, as of the last look;
    waiting, gone: tuples that wait, and that were let go, by their age, less those by the age at
    which they were first looked at."""

    rows: Ints
    sums: Floats
    ring: Ints
    came: Ints
    weights: Floats
    events: Floats
    bins: Floats
    waiting: Floats
    gone: Floats
    settings: Floats


def settings_of(tuning: KMonTuning) -> Floats:
    """float64[N_SETTING]. Where nothing is lost, what is let go alarms nobody."""
    settings, window = np.zeros(N_SETTING), tuning.window
    settings[[WINDOW, FACTOR, SLACK, BUDGET]] = (
        window,
        tuning.factor,
        tuning.slack,
        tuning.loss_budget,
    )
    settings[[IS_LITERAL, LEAST]] = tuning.estimator == "literal", max(1, window // 4)
    is_seen = tuning.loss == "never" or tuning.sample_prob >= 1
    settings[[STEP, ALARM]] = max(1, window // 8), math.inf
    if not is_seen:
        settings[ALARM] = math.log(_QUIET_WINDOWS * window)
    return settings


def fresh(n: int, tuning: KMonTuning) -> Estimates:
    """Of n constraints of which nothing is known."""
    ring, bins = (n, max(1, tuning.window)), (n, DISTANCE_BINS)
    estimates = Estimates(
        rows=np.zeros((n, N_ROW), np.int64),
        sums=np.zeros((n, N_SUM)),
        ring=np.zeros(ring, np.int64),
        came=np.zeros(ring, np.int64),
        weights=np.zeros(ring),
        events=np.zeros(bins),
        bins=np.zeros(bins),
        waiting=np.zeros(bins),
        gone=np.zeros(bins),
        settings=settings_of(tuning),
    )
    estimates.rows[:, [K, KEPT, ESTIMATE, LOW, HIGH, BEFORE]] = UNKNOWN_K
    estimates.rows[:, PATIENCE] = 1
    return estimates


def carry(old: Estimates, new: Estimates) -> None:
    """What is known goes to larger arrays."""
    for name in ("rows", "sums", "events", "bins", "waiting", "gone"):
        getattr(new, name)[:] = getattr(old, name)
    n = old.ring.shape[1]
    for c, head in enumerate(old.rows[:, HEAD]):
        new.ring[c, :n] = np.roll(old.ring[c], -head)
        new.came[c, :n] = np.roll(old.came[c], -head)
        new.weights[c, :n] = np.roll(old.weights[c], -head)
    new.rows[:, HEAD] = 0
