"""Both sides of recorded looks of the autopilot, worked out again from the record.

Written from docs/introspection.md; no decision core is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from storage.vocabulary.records import Decision

#: lhs, rhs.
Sides = tuple[float | None, float | None]


def _look(d: Decision) -> Sides:
    """What the rival surely saves for as long as it is expected to, against its price."""
    log = d.detail["plan_log"]
    _check_offers(d, log)
    known = log["saving"] is not None and log["rival"] is not None
    worth = max(0.0, log["saving"]) * log["dwell"] if known else 0.0
    return worth, log["switching"] + log["deciding"]


def _check_offers(d: Decision, log: Mapping[str, Any]) -> None:
    """A plan is chosen that is in force or was offered, and one that is switched to is cheaper on
    its newest sample, too. Prices for the record are of plans that are not among these."""
    offers = {plan: [cost, *sample] for plan, cost, *sample in log["offers"]}
    assert len(offers) == len(log["offers"])
    assert log["chosen"] in {log["plan"], log["rival"]}
    assert log["rival"] is None or log["rival"] in offers
    assert log["plan"] not in offers
    is_spelt_out = log["number"] == 1 or "state" in log
    assert isinstance(log["schema"], dict) == is_spelt_out
    if is_spelt_out:
        assert len(log["statistics"]) == len(log["schema"]["statistics"])
    assert (log["chosen"] != log["plan"]) == (d.verdict == "switched")
    others, past = log.get("prices", {}), [number for number, _ in log.get("past", ())]
    assert others.keys().isdisjoint({log["plan"], *offers})
    assert past == sorted({number for number in past if number < log["number"]})
    if d.verdict == "switched":
        cost, n, mean, *_ = offers[log["chosen"]]
        assert n >= 2
        assert mean > 0
        assert cost < log["cost"]


def is_passing(d: Decision) -> bool:
    """Whether conditions have passed before, or the newest tuples do not agree."""
    log = d.detail.get("plan_log")
    if log is None:
        return False
    offers = {plan: (cost, sample[1]) for plan, cost, *sample in log["offers"]}
    cost, mean = offers.get(log["rival"], (0.0, 1.0))
    return bool(log.get("is_transient") or mean <= 0 or cost >= log["cost"])


RULES: Final[Mapping[str, Callable[[Decision], Sides]]] = {"look": _look}
