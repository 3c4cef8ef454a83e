"""The worked tables of scheduling, and what holds of Chain on random plans and arrivals."""

from __future__ import annotations

from pathlib import Path as File

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import run
from backend.operators.network.core.job import Policy
from bench.experiments import scheduling
from bench.experiments.scheduling import BURSTY, FIRST, SECOND, STEADY
from bench.experiments.scheduling_model import Path, least_memory, memory

PLANS = st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), min_size=1, max_size=3).map(
    lambda some: Path(tuple(some), (1,) * len(some))
)
ARRIVALS = st.lists(st.integers(0, 2), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("path", "policy", "wanted"),
    [
        (FIRST, "fifo", [1.0, 1.2, 2.0, 2.2, 3.0, 3.2, 4.0]),
        (FIRST, "greedy", [1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2]),
        (FIRST, "chain", [1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2]),
        (SECOND, "fifo", [1.0, 1.9, 2.9, 3.0, 3.9, 4.9, 5.0]),
        (SECOND, "chain", [1.0, 1.9, 2.9, 3.0, 3.9, 4.9, 5.0]),
        (SECOND, "greedy", [1.0, 1.9, 2.8, 3.7, 4.6, 5.5, 6.4]),
    ],
)
def test_the_worked_tables(path: Path, policy: Policy, wanted: list[float]) -> None:
    assert memory(path, STEADY, policy) == pytest.approx(wanted)


def test_the_clairvoyant_bounds_of_the_card() -> None:
    assert least_memory(SECOND, STEADY) == pytest.approx([1.0, 1.9, 2.8, 3.0, 3.9, 4.8, 5.0])
    assert least_memory(FIRST, STEADY) == pytest.approx(memory(FIRST, STEADY, "chain"))


def test_the_first_plan_is_empty_at_fourteen() -> None:
    found = memory(FIRST, (*STEADY, *[0] * 8), "chain")
    assert found[13:] == pytest.approx([0.2, 0.0])


@given(PLANS, ARRIVALS)
@settings(max_examples=40)
def test_chain_stays_within_a_block_of_the_bound(path: Path, arrivals: list[int]) -> None:
    arrivals = [*arrivals, *[0] * 12]
    found = memory(path, arrivals, "chain")
    bound = least_memory(path, arrivals)
    assert all(low - 1e-9 <= n <= low + 1.0 for n, low in zip(found, bound, strict=True))


@given(PLANS, ARRIVALS, st.sampled_from(["fifo", "round_robin", "greedy", "chain"]))
@settings(max_examples=40)
def test_every_scheduler_empties_the_queues(
    path: Path, arrivals: list[int], policy: Policy
) -> None:
    n_steps = sum(arrivals) * len(path.units)
    assert memory(path, [*arrivals, *[0] * (n_steps + 1)], policy)[-1] == pytest.approx(0)


def test_a_block_takes_its_units() -> None:
    path = Path((0.5, 0.0), (3, 1))
    assert memory(path, [1, 0, 0, 0, 0, 0], "fifo") == pytest.approx([1, 1, 1, 0.5, 0, 0])
    assert least_memory(path, [1, 0, 0, 0, 0]) == pytest.approx([1, 1, 1, 0.5, 0])


def test_the_report_holds_all_claims(tmp_path: File) -> None:
    options = run.read_command_line(["experiment", "scheduling"])[0]
    assert scheduling.main(options, tmp_path) == 0
    text = (tmp_path / "experiment-scheduling.html").read_text()
    assert "not reproduced" not in text
    assert len(BURSTY) == 90
