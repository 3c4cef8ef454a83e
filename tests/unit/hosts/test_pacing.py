"""Rates of inputs on the host of this process: what is due, and when a batch is worth it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.hosts.pacing import BATCH_S, Pacing
from backend.model.knobs import KnobValue
from backend.model.schema import Schema
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from tests.loops import FixedLoop


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@given(
    st.floats(0.5, 500), st.lists(st.tuples(st.floats(0.1, 4), st.integers(0, 3000)), max_size=20)
)
def test_an_input_gives_what_its_rate_says_and_never_more(
    rate: float, steps: list[tuple[float, int]]
) -> None:
    clock, taken = Clock(), 0
    pacing = Pacing({"S": lambda: rate}, clock)
    began = clock.now - BATCH_S
    for seconds, most in steps:
        clock.now += seconds
        pacing.begin(["S"])
        due = pacing.due("S")
        assert due is not None
        pacing.took("S", min(due, most))
        taken += min(due, most)
        assert taken <= rate * (clock.now - began) + 1e-6
        assert pacing.backlog("S") == due - min(due, most)


def test_a_batch_waits_only_while_every_input_that_is_read_keeps_a_rate() -> None:
    clock, rates = Clock(), {"S": 5.0, "T": 0.0}
    pacing = Pacing({"S": lambda: rates["S"], "T": lambda: rates["T"]}, clock)
    pacing.begin(["S"])
    assert pacing.is_early(["S"])
    assert not pacing.is_early(["S", "T"])
    assert not pacing.is_early([])
    assert pacing.due("T") is None
    clock.now += BATCH_S
    assert not pacing.is_early(["S"])


def test_time_in_which_a_run_is_held_brings_no_tuples() -> None:
    clock = Clock()
    pacing = Pacing({"S": lambda: 100.0}, clock)
    pacing.begin(["S"])
    pacing.took("S", 100)
    clock.now += 3600
    pacing.hold()
    pacing.begin(["S"])
    assert pacing.due("S") == 100 * BATCH_S


def test_an_input_that_is_paused_stands_still() -> None:
    clock = Clock()
    pacing = Pacing({"S": lambda: 10.0}, clock)
    pacing.begin(["S"])
    pacing.took("S", 10)
    clock.now += 60
    pacing.begin([])
    assert pacing.due("S") == 0


def test_an_engine_that_falls_behind_has_a_backlog_of_ten_seconds_at_most() -> None:
    clock = Clock()
    pacing = Pacing({"S": lambda: 50.0}, clock)
    for _ in range(5):
        clock.now += 4
        pacing.begin(["S"])
        pacing.took("S", 10)
    assert pacing.backlog("S") == 490


def test_a_host_keeps_the_rate_of_its_input(tmp_path: Path) -> None:
    """1000 tuples a second: 2500 tuples are three batches of a second each, the first at once."""
    schema = Schema.parse("n int")
    stream = StreamSpec("S", schema, SourceSpec("memory"))
    source = InputSource(stream, MemorySource([[n] for n in range(2500)], schema))
    knobs: dict[tuple[str, str], KnobValue] = {("S", "rate"): 1000.0, ("S", "intake"): "on"}
    loop = FixedLoop({}, {**knobs, ("S", "at_end"): "stop", ("S", "max_batch_tuples"): 0})
    sink = SinkSpec(str(tmp_path / "out"))
    assert LocalHost(loop, [source], sink, keeps_rate=True).run() == "the stream reached its end"
    sizes = [result.inputs["S"].n_tuples for result in loop.results]
    assert sum(sizes) == 2500
    assert len(sizes) >= 3
    assert max(sizes) <= 1000 * (BATCH_S + 0.9)
