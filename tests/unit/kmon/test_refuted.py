"""A k that is too small is noticed, whichever constraint it is of, and told."""

from __future__ import annotations

from typing import Any

import pytest

from backend.model.conditions import DeclaredConstraint
from backend.operators.network.core.reports import NetworkReport, OperatorCounts
from backend.operators.network.kmon.tuning import (
    UNKNOWN_K,
    ConstraintId,
    ConstraintProfile,
    ConstraintTuning,
    KMonTuning,
    Loss,
)
from backend.systems.cores import NetworkRan
from tests.unit.kmon.cases import Bench, decisions
from tests.unit.kmon.joining import GRAPHS, UNBOUNDED, Arrival, Joining, Window

RIDS, CA = ConstraintId("RIDS", 0, 2), ConstraintId("CA", 0, place=0)


def told(
    id: ConstraintId,
    arrivals: list[Arrival],
    declared: int = UNKNOWN_K,
    windows: list[Window] | None = None,
    **tuning: Any,
) -> ConstraintProfile:
    """What is told of a constraint of graph (a) in a batch."""
    constraints = (ConstraintTuning(id, declared=declared),)
    values = {"sample_prob": 0, "slack": 0, "gc_arrivals": 1, **tuning}
    joining = Joining(GRAPHS["a"], windows or [UNBOUNDED] * 3, KMonTuning(constraints, **values))
    joining.run(arrivals, arrivals[-1][2] + 1)
    profile = joining.join.profile()
    assert profile is not None
    return profile.constraints[id]


def of_values(values: list[int]) -> list[Arrival]:
    """Tuples of S1 with some A, all of whose children are there."""
    children: list[Arrival] = [(2, (0, 0), 0), *((1, (v, 0), 0) for v in sorted(set(values)))]
    return [*children, *((0, (v, 0), 1 + k) for k, v in enumerate(values))]


@pytest.mark.parametrize("loss", ["never", "budget"])
def test_a_child_beyond_a_declared_k_violates_it(loss: Loss) -> None:
    """RIDS(1), true distance 3."""
    arrivals = [(1, (1, 0), 1), (0, (1, 4), 2), (2, (9, 1), 3), (2, (8, 1), 4), (2, (4, 1), 5)]
    of_it = told(RIDS, arrivals, 1, loss=loss)
    assert (of_it.n_violations, of_it.largest) == (1, 3)


@pytest.mark.parametrize("loss", ["never", "budget"])
def test_a_value_that_comes_again_beyond_a_declared_k_violates_it(loss: Loss) -> None:
    of_it = told(CA, of_values([5, 6, 6, 6, 6, 5]), 0, loss=loss)
    assert (of_it.n_violations, of_it.largest) == (1, 4)
    assert of_it.n_returned == (loss == "never")


@pytest.mark.parametrize("loss", ["never", "budget"])
def test_a_parent_beyond_a_declared_k_of_a_one_one_join_violates_it(loss: Loss) -> None:
    """RIDS(0) from child to parent: two other parents come before its own."""
    id = ConstraintId("RIDS", 0, 1)
    tuning = KMonTuning(
        (ConstraintTuning(id, declared=0),), loss=loss, sample_prob=0, gc_arrivals=1
    )
    joining = Joining(GRAPHS["links"], [UNBOUNDED] * 3, tuning)
    joining.run([(0, (1, 0), 1), (1, (7, 0), 2), (1, (8, 0), 3), (1, (1, 0), 4)], 9)
    profile = joining.join.profile()
    assert profile is not None
    of_it = profile.constraints[id]
    assert (of_it.n_violations, of_it.largest) == (1, 3)


def test_a_refuted_k_is_none_when_it_is_to_be_estimated() -> None:
    joining = Joining(GRAPHS["a"], [UNBOUNDED] * 3, KMonTuning())
    joining.tuning = KMonTuning((ConstraintTuning(RIDS, declared=1),))
    joining.run([(0, (1, 4), 1)], 2)
    joining.tuning = KMonTuning((ConstraintTuning(RIDS),))
    joining.run([(0, (1, 5), 3)], 4)
    profile = joining.join.profile()
    assert profile is not None
    of_it = profile.constraints[RIDS]
    assert (of_it.k, of_it.kept, of_it.estimate) == (UNKNOWN_K,) * 3


#: Of the card: the greatest distance is 3, and k falls to 0 before.
CLUSTERED = [5, 5, 6, 5, 6, 7, 7, 8, 8, 9, 7, 7, 9, 9]


@pytest.mark.parametrize("estimator", ["literal", "censored"])
def test_a_jump_of_a_clustering_distance_is_seen_where_values_are_sampled(estimator: Any) -> None:
    settings: dict[str, Any] = {"estimator": estimator, "window": 4, "factor": 1.0}
    at_jump = of_values(CLUSTERED[:11])
    unseen, seen = (
        told(CA, at_jump, loss="budget", sample_prob=p, loss_budget=0.0, **settings) for p in (0, 1)
    )
    assert unseen.k < 3
    assert seen.largest == 3
    assert seen.k == (UNKNOWN_K if estimator == "literal" else 3)


def test_sampled_values_are_forgotten_with_the_window_of_the_child() -> None:
    """Value 1 comes again after its child has left: a first one."""
    values = [1, *[2] * 30, 1]
    window: Window = ("range", 10)
    settings: dict[str, Any] = {"estimator": "literal", "window": 4, "factor": 1.0}
    settings |= {"loss": "budget", "sample_prob": 1}
    kept = told(CA, of_values(values), **settings)
    left = told(CA, of_values(values), windows=[UNBOUNDED, window, UNBOUNDED], **settings)
    assert (kept.k, left.k) == (UNKNOWN_K, 0)


@pytest.mark.parametrize("loss", ["never", "budget"])
@pytest.mark.parametrize(
    ("declared", "arrivals"),
    [
        (
            DeclaredConstraint("RIDS", 1, "S1", "S3"),
            [(1, (1, 0), 1), (0, (1, 4), 2), (2, (9, 1), 3), (2, (8, 1), 4), (2, (4, 1), 5)],
        ),
        (DeclaredConstraint("CA", 0, "S1", attribute="A"), of_values([5, 6, 6, 6, 6, 5])),
    ],
)
def test_a_declared_k_is_refuted_by_what_the_join_tells(
    loss: Loss, declared: DeclaredConstraint, arrivals: list[Arrival]
) -> None:
    """From then on it is estimated, with no k at first."""
    joining = Joining(GRAPHS["a"], [UNBOUNDED] * 3, KMonTuning())
    knobs = {"loss": loss, "gc_arrivals": 1, "sample_prob": 0}
    columns = [[(name, "bigint") for name in names] for names in GRAPHS["a"].names]
    bench = Bench(joining.work, knobs=knobs, constraints=[declared], columns=columns)
    found = list[Any]()
    for batch, taus in enumerate(((0, 9), (9, 10))):
        joining.tuning = bench.join.tuning
        joining.run([one for one in arrivals if taus[0] <= one[2] < taus[1]], taus[1])
        profile = joining.join.profile()
        report = NetworkReport(operators={"join1": OperatorCounts(profile=profile)})
        found += bench.core.observe(NetworkRan(batch, 1, report)).records
    (refuted,) = decisions(found, "declared k")
    assert refuted.explanation.endswith("it is estimated from now on")
    assert profile is not None
    id = next(one.id for one in bench.join.tuning.constraints if one.id.type == declared.type)
    assert profile.constraints[id].k == UNKNOWN_K
