"""Keys that come again: withheld, counted and named alike whatever the constraints do."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from backend.operators.network.kmon.tuning import ConstraintId, ConstraintTuning, KMonTuning, Loss
from tests.unit.kmon.joining import GRAPHS, UNBOUNDED, Arrival, Joining, Window

BOTH_WAYS = tuple(ConstraintId("RIDS", *pair) for pair in ((1, 0), (2, 1), (0, 1), (1, 2)))
CHOICES = [chosen for n in range(5) for chosen in combinations(BOTH_WAYS, n)]
Told = tuple[int, tuple[str, ...], dict[tuple[int, ...], int]]


def ran(
    arrivals: list[Arrival],
    ids: tuple[ConstraintId, ...],
    loss: Loss = "never",
    gc_arrivals: int = 1,
    window: Window = UNBOUNDED,
    graph: str = "links",
) -> Told:
    """Tuples whose key came again, and the results."""
    constraints = tuple(ConstraintTuning(id, declared=8) for id in ids)
    tuning = KMonTuning(constraints, loss=loss, sample_prob=0, gc_arrivals=gc_arrivals)
    joining = Joining(GRAPHS[graph], [window] * 3, tuning)
    joining.run(arrivals, arrivals[-1][2] + 1)
    profile = joining.join.profile()
    assert profile is not None
    return profile.n_repeated, profile.repeated, dict(joining.emitted)


@pytest.mark.parametrize("ids", CHOICES)
def test_a_root_that_comes_again_is_told_whatever_the_constraints(
    ids: tuple[ConstraintId, ...],
) -> None:
    arrivals: list[Arrival] = [(k, (1, 0), k) for k in range(3)]
    told = ran([*arrivals, (2, (1, 3), 3)], ids)
    assert told == (1, ("tuple 2 of S3",), {(1, 0, 1, 0, 1, 0): 1})


@pytest.mark.parametrize("loss", ["never", "budget"])
@pytest.mark.parametrize("window", [UNBOUNDED, ("range", 25), ("rows", 9)])
def test_rids_both_ways_change_no_result_of_links(loss: Loss, window: Window) -> None:
    """Keys that come again among those that come once; k is large enough."""
    rng, arrivals = random.Random(11), list[Arrival]()
    for packet in range(60):
        links = [(k, (packet, rng.randrange(8)), 4 * packet + k) for k in range(3)]
        arrivals += links[: rng.randrange(1, 4)]
        if rng.random() < 0.2:
            late = rng.choice(links)
            arrivals.append((late[0], (late[1][0], 1), 4 * packet + 3))
    arrivals.sort(key=lambda arrival: arrival[2])
    expected = ran(arrivals, (), loss, 1, window)
    assert expected[0] > 3
    assert len(expected[2]) > 10
    for ids in CHOICES[1:]:
        for gc_arrivals in (0, 1):
            assert ran(arrivals, ids, loss, gc_arrivals, window) == expected


@pytest.mark.parametrize(
    "id", [ConstraintId("CA", 0, place=1), ConstraintId("RIDS", 0, 2), ConstraintId("OAC", 2)]
)
def test_a_child_that_comes_again_is_told_where_the_first_one_was_let_go(id: ConstraintId) -> None:
    """It fails its filter, and nobody needs it any more."""
    id = id._replace(child=2, parent=-1, place=0) if id.type == "OAC" else id
    first: list[Arrival] = [(2, (5, 9), 0), (2, (5, 1), 1)]
    assert ran(first, (id,), "budget", graph="a")[:2] == (1, ("tuple 2 of S3",))
    assert ran(first, (), "budget", graph="a")[:2] == (1, ("tuple 2 of S3",))
