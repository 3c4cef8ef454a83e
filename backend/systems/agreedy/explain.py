"""Sentences people understand, with the numbers in them, for every check."""

from __future__ import annotations

from collections.abc import Sequence

from backend.adaptive.ordering.changes import DropProbChange
from backend.adaptive.ordering.findings import Finding
from backend.adaptive.ordering.ranks import PS_PER_US
from backend.adaptive.ordering.rule import Rule
from backend.adaptive.words import arrows, significant


def finding_sentence(finding: Finding, names: Sequence[str], rule: Rule) -> str:
    """``sig_a (drops 12 of 400 at 3.1 µs: 0.0097 per µs) is outranked by ...``."""
    own, other = _side(finding, names, False), _side(finding, names, True)
    place = f"of the {finding.n_row} profiled tuples"
    if finding.row:
        place += f" that reach position {finding.row + 1}"
    if rule.by_evidence and finding.interval is not None:
        low = significant(finding.interval.low)
        sure = f"{100 * rule.confidence:g} %"
        if finding.is_violated:
            return f"{place}, {other} outranks {own} with {sure} confidence (by {low} at least)"
        return f"{place}, {other} does not outrank {own} with {sure} confidence"
    alpha = significant(float(rule.threshold))
    if finding.is_violated:
        return f"{place}, {own} ranks below {alpha} times {other}"
    return f"{place}, {own} ranks at least {alpha} times {other}"


def cost_sentence(old_us: float | None, new_us: float | None, order: Sequence[str]) -> str:
    """``new order a → b predicted at 2.10 µs per tuple against 2.90``."""
    words = f"new order {arrows(order)}"
    if old_us is None or new_us is None:
        return words
    return f"{words}, predicted at {significant(new_us)} µs per tuple against {significant(old_us)}"


def change_words(change: DropProbChange) -> str:
    """``sig_a drops 12 % of what reaches it, 88 % before``."""
    now, before = f"{100 * change.now:.0f} %", f"{100 * change.before:.0f} %"
    return f"{change.filter} drops {now} of what reaches it, {before} before"


def _side(finding: Finding, names: Sequence[str], challenger: bool) -> str:
    name = names[finding.other if challenger else finding.own]
    dropped = finding.v_other if challenger else finding.v_own
    cost = finding.costs[challenger] / PS_PER_US
    rank = finding.ranks[challenger]
    return f"{name} (drops {dropped} at {significant(cost)} µs: {significant(rank)} per µs)"
