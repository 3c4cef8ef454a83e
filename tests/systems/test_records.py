"""Every recorded decision of every system follows from its record alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from backend.systems.contract import System
from backend.systems.joins.decide.settings import JoinSettings
from storage.vocabulary.records import Decision
from tests.oracles.decision_records import faults
from tests.systems.running import BATTERY, Bench, tuples
from tests.unit.joins.test_controller import SETTINGS, arrivals, decisions, run

#: Decisions soon, and none left out.
SOON = {"lambda_tuples": 400, "cooldown_tuples": 500, "reject_sample_every": 1}
#: Knobs that change what is decided by, beside all those with choices.
NUMBERS = {
    "alpha": 0.7,
    "cooldown_tuples": 4000,
    "mu": 0.02,
    "min_gain": 0.0,
    "min_samples": 300,
    "profile_prob": 1.0,
}

#: Knobs that stay as they are for a run.
FIXED = ("join_trees",)


def turns(system: System) -> list[tuple[str, object]]:
    """Every value of every knob with choices but its default, one at a time, and some numbers."""
    found: list[tuple[str, object]] = [("", None)]
    for spec in system.knobs:
        found += [(spec.name, value) for value in spec.choices if value != spec.default]
        if spec.name in NUMBERS:
            found.append((spec.name, NUMBERS[spec.name]))
    return found


CASES = [(system, *turn) for system in BATTERY for turn in turns(system)]


def check(found: Sequence[Decision]) -> None:
    """No fault in any."""
    wrong = [(one, list(faults(one))) for one in found]
    said = [
        f"#{one.seq} {one.algorithm}, {one.kind}: {', '.join(why)}; {one.explanation}"
        for one, why in wrong
        if why
    ]
    assert not said, f"{len(said)} of {len(wrong)}:\n" + "\n".join(said[:10])


@pytest.mark.parametrize(
    ("system", "knob", "value"), CASES, ids=[f"{s.name} {k} {v}".strip() for s, k, v in CASES]
)
def test_decisions_of_every_system_follow_from_their_records(
    system: System, knob: str, value: object
) -> None:
    names = {spec.name for spec in system.knobs}
    soon = {name: SOON[name] for name in SOON if name in names}
    bench = Bench(system, soon | ({knob: value} if knob in FIXED else {}))
    bench.keep(bench.unit.start(None))
    bench.run(tuples(400, seed=0))
    if knob and knob not in FIXED:
        bench.turn(knob, value)
    bench.drift(8)
    found = bench.recorded.decisions
    assert found
    check(found)


@pytest.mark.parametrize("caching", ["exact", "greedy", "trees"])
@pytest.mark.parametrize("join_order", ["fixed", "a-greedy", "independent", "optimal", "joint"])
def test_decisions_on_joins_follow_from_their_records(caching: str, join_order: str) -> None:
    orders = SETTINGS.orders if join_order == "fixed" else ()
    chosen: JoinSettings = replace(
        SETTINGS, caching=caching, join_order=join_order, orders=orders, order_samples=20
    )
    join = run(chosen, (10, (1, 1, 12)), (8, (6, 1, 6)), (8, (40, 1, 1)))
    join.turn(replace(chosen, pinned=frozenset({"0,1|1"})))
    rng = np.random.default_rng(3)
    for _ in range(3):
        join.batch(arrivals(rng, 100, (1, 1, 12)))
    found = decisions(join)
    assert {"cache selection"} <= {one.kind for one in found}
    check(found)
