"""What waiting for a child saves, where No would have refuted the parent."""

import json
from dataclasses import asdict

import pytest

from backend.operators.network.kmon.tuning import ComponentCounts, KMonProfile, Loss
from backend.systems.kmon.evidence import Evidence, SeenConstraint, SeenInput
from backend.systems.kmon.pricing import Pricing
from tests.unit.kmon.cases import PAIR, view_of

RIDS = "RIDS 0 1"
VIEW = view_of(PAIR)
#: Half of S1's tuples would be refuted.
PARENT = SeenInput(1000, plain=5000, row_bytes=116, spilled_bytes=24, refuted=0.5)
CHILD = SeenInput(1000, plain=500, no_share=0.5, row_bytes=116)


def pricing(loss: Loss, k: int = 0, saved: float = 0.0) -> Pricing:
    """RIDS in use for long."""
    constraints = {**Evidence.of(VIEW).constraints, RIDS: SeenConstraint(k, saved)}
    seen = Evidence([PARENT, CHILD], constraints, n_batches=9)
    return Pricing(VIEW, seen, frozenset({RIDS}), frozenset({RIDS}), {RIDS: k}, loss)


@pytest.mark.parametrize(
    ("loss", "k", "cost"),
    [
        ("budget", 0, 0),
        ("budget", 1000, 0.5 * 1000 * 116),
        ("never", 0, 0.5 * 5000 * 24),
        ("never", 1000, 0.5 * 1000 * 116 + 0.5 * 4000 * 24),
        ("never", 9000, 0.5 * 5000 * 116),
    ],
)
def test_parents_that_no_would_refute_wait_and_then_leave_their_keys(
    loss: Loss, k: int, cost: float
) -> None:
    assert pricing(loss, k).delay(RIDS) == pytest.approx(cost)


@pytest.mark.parametrize(("saved", "tuples"), [(2400, 0), (2500, 0), (2700, 200)])
def test_letting_go_what_no_would_refute_saves_nothing(saved: float, tuples: float) -> None:
    waiting, *_ = pricing("never", saved=saved).problem([RIDS]).effects or (None,)
    assert (waiting.value([RIDS]) if waiting else 0) == tuples * (116 - 24)


def test_the_share_that_no_refutes_is_that_of_the_batches_with_it_and_outlives_a_restart() -> None:
    seen = Evidence.of(VIEW)
    batches = [(200, 400, 0), (200, 0, 400), (0, 0, 900)]
    for no, unknown, spilled in batches:
        parent = ComponentCounts(yes=100, unknown=unknown, spilled=spilled, plain=1000)
        child = ComponentCounts(yes=200, no=no, plain=200)
        seen.take(VIEW, KMonProfile((parent, child), arrivals=(9, 9)), {}, 100)
    assert [input.refuted for input in seen.inputs] == [0.5, 0]
    again = Evidence.from_json(VIEW, json.loads(json.dumps(seen.to_json())))
    assert asdict(again) == asdict(seen)
    older = seen.to_json()
    older["inputs"] = [values[:-1] for values in older["inputs"]]
    assert [input.refuted for input in Evidence.from_json(VIEW, older).inputs] == [0, 0]
