"""What keeps the order of a pipeline: the algorithms of filters, on logical filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.operators.network.joins.join_tuning import PipelineProfile
from backend.systems.joins.decide.ordering import OrderCheck, PipelineOrder
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape
from tests.unit.agreedy.stream import Stream, query_of
from tests.unit.agreedy.stream import settings as filter_settings
from tests.unit.joins.cases import shape_of

ALGORITHMS: tuple[str, ...] = ("a-greedy", "sweep", "independent", "local swaps", "optimal")
COMPLETE: tuple[str, ...] = ("a-greedy", "independent", "optimal")
PARTIAL: tuple[str, ...] = ("sweep", "local swaps")
#: R1 in the middle, at the end of two arms, and in a ring.
STAR = shape_of(5, "12", "13", "14", "15")
ARMS = shape_of(5, "12", "23", "14", "45")
RING = shape_of(5, "12", "23", "34", "45", "15")
INPUTS = (1, 2, 3, 4)
#: Of joining with each input, in nanoseconds.
COSTS = (0.0, 1000.0, 3000.0, 2000.0, 1000.0)
SETTINGS = JoinSettings(
    alpha=0.95, order_samples=100, profile_tuples=600, stage_tuples=250, caching="off"
)
BATCH = 120


def profile(drops: NDArray[np.bool_]) -> PipelineProfile:
    """Of elements of R1. drops: bool[k, 4], by R2 to R5."""
    n = len(drops)
    words = (drops.astype(np.uint64) << np.array(INPUTS, np.uint64)).sum(axis=1, dtype=np.uint64)
    steps, entering = np.zeros((n, 4), np.int64), np.zeros((n, 5), np.int64)
    return PipelineProfile(n, 0, 0, 0, 0, np.arange(n), entering, steps, steps, words)


def filters_of(shape: JoinShape, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
    """Batches of what drops what. Along a path nothing joins behind what does not; who drops most
    changes half way."""
    found = []
    for _ in range(2):
        shares = rng.permutation([0.1, 0.25, 0.4, 0.6])
        for _ in range(20):
            common = rng.random((BATCH, 1)) < 0.3
            own = np.where(common, rng.random((BATCH, 1)), rng.random((BATCH, 4))) < shares
            drops = [own[:, [k - 1 for k in shape.path(0, j)]].any(axis=1) for j in INPUTS]
            found.append(np.stack(drops, axis=1))
    return found


def look(pipeline: PipelineOrder, told: PipelineProfile, settings: JoinSettings) -> OrderCheck:
    """Take a batch in and look at the order."""
    pipeline.take(told, settings)
    assert pipeline.is_due(settings)
    check = pipeline.check(COSTS, settings)
    assert check is not None
    if check.verdict == "switched":
        pipeline.adopt(check.filters)
    return check


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("shape", [STAR, ARMS, RING], ids=["star", "arms", "ring"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pipeline_is_ordered_as_filters_with_the_same_outcomes_are(
    algorithm: str, shape: JoinShape, seed: int
) -> None:
    settings = replace(SETTINGS, join_order=algorithm)
    knobs = filter_settings(
        filter_algorithm=algorithm, alpha=0.95, min_samples=100, window_tuples=600, stage_tuples=250
    )
    prices = {f"F{j}": sum(COSTS[k] for k in shape.path(0, j)) / 1000 for j in INPUTS}
    filters = Stream(knobs, query_of(4), prices)
    pipeline, n_switched = PipelineOrder(shape, 0, INPUTS), 0
    for drops in filters_of(shape, np.random.default_rng(seed)):
        n_switched += look(pipeline, profile(drops), settings).verdict == "switched"
        filters.feed(drops)
        assert tuple(f"F{j}" for j in pipeline.filters) == filters.core.plan.order
    assert n_switched == len(filters.decisions("switched")) > 0


def seen(algorithm: str, *dropped_by: Sequence[int]) -> list[list[int]]:
    """The inputs that the algorithm sees to drop elements."""
    settings = replace(SETTINGS, join_order=algorithm)
    pipeline = PipelineOrder(STAR, 0, INPUTS)
    pipeline.take(profile(np.array([[j in one for j in INPUTS] for one in dropped_by])), settings)
    check = pipeline.check(COSTS, settings)
    assert check is not None
    assert (check.verdict, check.n_window) == ("thin", len(dropped_by))
    return [[INPUTS[x] for x in np.flatnonzero(row)] for row in pipeline.window.drops()]


def test_an_algorithm_sees_no_more_than_it_would_of_filters() -> None:
    """Sweep watches the second one first; LocalSwaps the one behind that which drops."""
    dropped_by = [1, 2], [1, 4], [2, 3, 4], [3]
    for algorithm in COMPLETE:
        assert seen(algorithm, *dropped_by) == list(dropped_by)
    assert seen("sweep", *dropped_by) == [[1, 2], [1], [2], [3]]
    assert seen("local swaps", *dropped_by) == [[1, 2], [1], [2, 3], [3]]


def test_entries_of_v_that_an_algorithm_does_not_maintain_are_known_as_such() -> None:
    pipeline = PipelineOrder(STAR, 0, INPUTS)
    told = profile(np.ones((120, 4), np.bool_))
    kept: dict[str, list[list[int]]] = {
        "a-greedy": [[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]],
        "sweep": [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
        "independent": [[1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
        "local swaps": [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1]],
    }
    for algorithm, expected in kept.items():
        pipeline.take(told, replace(SETTINGS, join_order=algorithm))
        assert pipeline.kept.astype(int).tolist() == expected


@pytest.mark.parametrize("algorithm", PARTIAL)
def test_another_algorithm_begins_with_what_was_seen_of_all_filters(algorithm: str) -> None:
    """All that A-Greedy saw is of use to any, what Sweep or LocalSwaps saw to none."""
    drops = np.zeros((BATCH, 4), np.bool_)
    drops[:, 0] = True  # the first one drops all: nothing changes
    partly, fully = (replace(SETTINGS, join_order=one) for one in (algorithm, "a-greedy"))
    pipeline = PipelineOrder(STAR, 0, INPUTS)
    held = []
    for settings in (fully, fully, partly, fully, partly):
        held.append(look(pipeline, profile(drops), settings).n_window // BATCH)
    assert held == [1, 2, 3, 3, 4]
    told = profile(drops)
    pipeline.take(told, partly)  # and is not looked at
    assert look(pipeline, told, fully).n_window == 4 * BATCH
