"""A join that goes on: after a kill, at rest, with other pages; what it comes to is priced then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.controller import JoinController
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.telling import Told
from bench.experiments.join_running import between, elements
from bench.joins_data import ChainPhase, chained, phased
from bench.joins_lanes import AdaptiveLane
from tests.oracles.join_executor import STEP_NS
from tests.unit.joins.cases import numbered
from tests.unit.joins.running import TunedJoin, three_way
from tests.unit.joins.test_controller import SETTINGS, arrivals

RATES, TIMED_RATES = (1, 1, 12), (1, 1, 30)


class TimedJoin(TunedJoin):
    """A join whose batches tell the time they took: ``slower`` times 6 probes for each element, the
    index probes and built tuples, half of what is measured where it is watched, and operations of
    caches."""

    operation_ns = 60.0
    slower = 1.0

    def run(self, rng: np.random.Generator, rates: tuple[int, int, int] = TIMED_RATES) -> Told:
        """A batch of 100 tuples."""
        before = self.join.n_operations
        for input, row in arrivals(rng, 100, rates, domain=4):
            self.arrive(input, row)
        done, told = self.join.n_operations - before, self.join.profile()
        n = sum(one.n_plus + one.n_minus for one in told.pipelines)
        kept = sum(c.probes + c.creates + c.inserts + c.deletes for c in told.caches.values())
        taken = self.slower * (STEP_NS / 2 * (6 * n + done) + self.operation_ns * kept)
        told = replace(told, processor_ns=int(taken))
        found = self.controller.observe(len(self.told), 100, told)
        self.told.append(found)
        self.join.tune(self.controller.tuning)
        return found

    def kill(self) -> None:
        """It goes on from its state, which was written down."""
        state = json.loads(json.dumps(self.controller.state()))
        again = JoinController(three_way(), self.controller.settings)
        again.restore(state, self.controller.totals)
        assert again.state() == state
        self.controller = again
        self.join.tune(again.tuning)


TIMED = replace(SETTINGS, join_costs="measured")


def timed(settings: JoinSettings = TIMED) -> tuple[TimedJoin, np.random.Generator]:
    """A join that uses R ⋈ S and knows what that takes."""
    join, rng = TimedJoin(settings, (16, 16, 16)), np.random.default_rng(5)
    for _ in range(25):
        join.run(rng)
    assert join.used == ["R ⋈ S"]
    return join, rng


def test_what_was_measured_goes_on_after_a_kill() -> None:
    join, rng = timed()
    before = join.controller
    join.kill()
    after = join.controller
    assert after.known.probe_factor == before.known.probe_factor != 1
    assert after.known.units == before.known.units
    for _ in range(25):
        join.run(rng)
        assert join.used == ["R ⋈ S"]


def test_a_cache_that_saves_little_stays_after_a_kill() -> None:
    """Less than a fifth, which it would have to if nobody knew what caches take."""
    join, rng = timed()
    rates = (4, 1, 8)
    for _ in range(20):
        join.run(rng, rates)
    problem = join.controller.caches.problem(join.controller.known)
    saved = 1 - problem.cost(join.controller.caches.choice) / problem.cost({})
    assert 0 < saved < 0.2
    join.kill()
    for _ in range(20):
        join.run(rng, rates)
        assert join.used == ["R ⋈ S"]


def test_what_was_written_in_another_unit_is_weighed_anew() -> None:
    """As is what nobody knows the time of: caches are out until that of batches without any was
    seen."""
    join, rng = timed(replace(TIMED, join_costs="counted"))
    state = json.loads(json.dumps(join.controller.state()))
    again = JoinController(three_way(), TIMED)
    again.restore(state, join.controller.totals)
    join.turn(TIMED)
    for one in (again, join.controller):
        assert one.tuning.caches == ()
        assert set(one.caches.states.all().values()) == {"profiled"}
    for _ in range(25):
        join.run(rng)
    assert join.used == ["R ⋈ S"]
    assert join.controller.known.probe_factor == pytest.approx(0.5, rel=0.1)


def test_a_disturbed_batch_does_not_end_a_cache() -> None:
    """Not even the first one."""
    off = replace(TIMED, caching="off")
    join, rng = TimedJoin(off, (16, 16, 16)), np.random.default_rng(5)
    for _ in range(12):
        join.run(rng)
    join.turn(TIMED)
    while not join.used:
        join.run(rng)
    for slower in (8, 1, 1, 1, 8, 1, 1, 1, 1, 1):
        join.slower = slower
        join.run(rng)
        assert join.used == ["R ⋈ S"]


def steady(settings: JoinSettings, length: int, n_batches: int) -> Iterator[AdaptiveLane]:
    """After each batch of a chain of three streams that never changes, on the executor itself."""
    phase = ChainPhase("", (1, 1, 5), (60, 60))
    found = phased([phase], n_batches * length, (200,) * 3, np.random.default_rng(4))
    lane, inputs = AdaptiveLane(chained(3), found.widths, settings), elements(found)
    for begin in range(0, n_batches * length, length):
        lane.step(between(inputs, begin, begin + length), length)
        yield lane


#: With caches that pay, decided on soon.
STEADY = JoinSettings(
    join_costs="counted",
    w=0.1,
    interval_tuples=4_000,
    window_observations=10,
    block_probes=100,
    join_profile_prob=0.2,
)


@pytest.mark.parametrize("length", [200, 1000])
def test_watching_is_no_change(length: int) -> None:
    """Watched elements pass caches by and look for partners: work that is not the data's."""
    n_settled = n_watched = 0
    for lane in steady(STEADY, length, 60_000 // length):
        caches = lane.controller.caches
        if caches.in_force:
            n_settled += 1
            n_watched += bool(lane.controller.tuning.shadows)
            assert not caches.is_new
    assert n_settled > 0.8 * (60_000 // length)
    assert n_watched < n_settled / 4


def test_few_observations_are_enough_to_tell_what_a_cache_holds() -> None:
    """Sixty keys; shadow look-ups end before a run of blocks does."""
    settings = replace(STEADY, window_observations=3)
    used = [bool(lane.controller.caches.in_force) for lane in steady(settings, 1000, 30)]
    assert all(used[used.index(True) :])


def test_what_a_cache_holds_is_parted_among_shards() -> None:
    join, rng = TunedJoin(SETTINGS, (16, 16, 16)), np.random.default_rng(5)
    for _ in range(22):
        join.batch(arrivals(rng, 100, RATES))
    core = join.controller
    core.turn(replace(SETTINGS, n_shards=4))
    join.batch(arrivals(rng, 100, RATES))
    cache, known = core.caches.candidates["0,1|1"], core.known
    held = len(join.join.caches[cache.id].entries)
    assert known.estimate(cache, known.flows(), known.units).n_keys == held / 4


def test_pages_that_are_taken_are_a_moment_that_is_priced() -> None:
    join, rng = TunedJoin(SETTINGS, (16, 16, 16)), np.random.default_rng(5)
    for _ in range(22):
        join.batch(arrivals(rng, 100, RATES))
    core = join.controller
    core.turn(SETTINGS)  # prices what came until now
    join.batch(arrivals(rng, 100, RATES))
    assert core.tuning.caches
    before, expected = core.totals, core.caches.problem(core.known)
    core.allow(0)
    assert core.tuning.caches == ()
    n = core.totals.n_elements - before.n_elements
    assert n > 0
    spent = expected.cost(core.caches.choice)
    assert core.totals.spent - before.spent == pytest.approx(n * spent)
    core.allow(0)
    assert core.totals.n_elements == before.n_elements + n


def test_what_came_is_priced_with_what_was_known_then() -> None:
    """A cache goes out of use for the sake of one inside it, and what was observed of it is
    forgotten: not before what it saved is added up."""
    orders = numbered("234", "134", "124", "123")
    settings = replace(SETTINGS, orders=orders, candidates=0, interval_tuples=400)
    join = TunedJoin(settings, (6,) * 4, JoinOp((tuple((i, 0) for i in range(4)),)))
    rng, n_priced = np.random.default_rng(3), 0
    for _ in range(45):
        before, used = join.controller.totals, join.used
        inputs = rng.choice(4, 100, p=[1 / 12, 1 / 12, 1 / 12, 9 / 12]).tolist()
        join.batch([(input, (int(rng.integers(0, 6)),)) for input in inputs])
        after = join.controller.totals
        if used and not join.used:
            n_priced += after.n_elements - before.n_elements
            assert after.spent - before.spent < 0.5 * (after.bare - before.bare)
    assert n_priced > 0
