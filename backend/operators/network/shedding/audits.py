"""How accurate answers are, measured on all value groups, or estimated from some. Card C2

A value group is in the sample by a hash of its values, so that it is always the same ones, and all
tuples of these are kept beside. Accuracy is then a ratio (or a product of two) of sums over groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from backend.adaptive.stats import Z95, Mean
from backend.operators.network.shedding.accuracy import (
    AccuracyMetric,
    AccuracyParts,
    parts_by_group,
    total,
)
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.temporal import Values


class MeasuredAccuracy(NamedTuple):
    """parts: of the groups that were compared; accuracy: measured under the metric in force, or
    with its 95 % interval; n_groups: compared. alike: the same under R1, which is what drops are
    expected to cost."""

    parts: AccuracyParts
    accuracy: Mean
    n_groups: int
    alike: Mean


def measured(window: SheddingWindow) -> MeasuredAccuracy | None:
    """Of what is in the window now; None: nothing is kept beside, or not since the window's first
    tuple, or no group is in the sample."""
    options, beside = window.options, window.beside
    if options.audit == "off" or not window.is_measurable:
        return None
    is_sample = options.audit == "sampled"
    exact = [run.span for run in beside.runs() if window.is_audited(run.values)]
    if is_sample and not exact:
        return None
    kept = [run.span for run in window.memory.runs() if window.is_audited(run.values)]
    wants = window.answer.wants
    groups: Mapping[Values, AccuracyParts] = parts_by_group(
        [run for run in exact if wants(run.values)],
        [run for run in kept if wants(run.values)],
        window.answer.lengths,
    )
    parts = total(groups.values())
    sampled = 1 / options.audit_groups if is_sample else 1.0
    compared = list(groups.values())
    accuracy, alike = (
        estimated(compared, metric, sampled) for metric in (options.accuracy_metric, "R1")
    )
    return MeasuredAccuracy(parts, accuracy, len(groups), alike)


def estimated(groups: Sequence[AccuracyParts], metric: AccuracyMetric, sampled_prob: float) -> Mean:
    """Accuracy from a sample of value groups; its interval by linearization, [0, 1] for a single
    group. sampled_prob: of a group; 1: all are there, and there is no spread."""
    parts = total(groups)
    value, m = parts.accuracy(metric), len(groups)
    if sampled_prob >= 1:
        return Mean(value, value, value, m)
    if m < 2:
        return Mean(value, 0.0, 1.0, m)
    variance = sum(_residual(group, parts, metric) ** 2 for group in groups)
    spread = value * math.sqrt((1 - sampled_prob) * m / (m - 1) * variance)
    return Mean(value, max(0.0, value - Z95 * spread), min(1.0, value + Z95 * spread), m)


def _residual(group: AccuracyParts, parts: AccuracyParts, metric: AccuracyMetric) -> float:
    pairs = zip(group.ratios(metric), parts.ratios(metric), strict=True)
    return sum(
        (own[0] / whole[0] if whole[0] else 0.0) - (own[1] / whole[1] if whole[1] else 0.0)
        for own, whole in pairs
    )
