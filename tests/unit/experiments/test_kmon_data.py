"""Traces of the experiments on k-constraints adhere to what they say."""

from __future__ import annotations

import numpy as np
import pytest

from backend.workloads.adhering import (
    MULTIPLICITY,
    S1,
    S2,
    S3,
    ArrivingTuples,
    always,
    clustered,
    clustered_and_referring,
    grouped_and_scrambled,
    referring,
    scrambled,
    varying,
)
from backend.workloads.links import LatencyPhase, PacketTrace, packets
from bench.experiments.kmon_data import (
    clustering_distance,
    join_distance,
    scrambling_distance,
    three_links,
)
from tests.oracles import k_mon

N = 700


def arrivals(trace: ArrivingTuples, place: int) -> list[tuple[str, int]]:
    """Streams and keys, as the slow definitions take them."""
    keys = np.where(trace.streams == S1, trace.values[:, place], trace.values[:, 0])
    return [(f"S{s + 1}", int(key)) for s, key in zip(trace.streams, keys, strict=True)]


@pytest.mark.parametrize("k", [0, 1, 7, 40])
def test_distances_are_those_of_the_slow_twin(k: int) -> None:
    rng = np.random.default_rng(k)
    trace = referring(N, always(k), rng)
    for place, child in ((0, S2), (1, S3)):
        wanted = k_mon.join_distance(arrivals(trace, place), "S1", f"S{child + 1}")
        assert join_distance(trace, place, child) == wanted == k
    values = clustered(N, always(k), rng).of(S1)[:, 0]
    assert clustering_distance(values) == k_mon.clustering_distance(values.tolist())
    values = scrambled(N, k, rng).of(S2)[:, 0]
    assert scrambling_distance(values) == k_mon.scrambling_distance(values.tolist())


def test_strict_traces_are_strict() -> None:
    rng = np.random.default_rng(2)
    assert join_distance(referring(7000, always(0), rng), 0, S2) == 0
    trace = clustered(11_000, always(0), rng, in_order=True)
    assert clustering_distance(trace.of(S1)[:, 0]) == 0
    assert scrambling_distance(trace.of(S2)[:, 0]) == 0
    assert scrambling_distance(scrambled(6000, 0, rng).of(S2)[:, 0]) == 0


def test_a_child_has_five_parents_and_comes_first() -> None:
    trace = clustered(11_000, always(30), np.random.default_rng(3))
    assert np.bincount(trace.of(S1)[:, 0]).tolist() == [MULTIPLICITY] * 1000
    assert join_distance(trace, 0, S3) == 0
    assert clustering_distance(trace.of(S2)[:, 0]) == pytest.approx(30, abs=15)
    referred = referring(70_000, always(50), np.random.default_rng(3))
    joined = np.isin(referred.of(S1)[:, 0], referred.of(S2)[:, 0])
    assert np.mean(joined) > 0.99
    assert len(referred.of(S1)) == 5 * len(referred.of(S2)) == 5 * len(referred.of(S3))


def test_a_quarter_of_the_parents_has_no_child() -> None:
    trace = grouped_and_scrambled(70_000, 200, np.random.default_rng(4))
    assert clustering_distance(trace.of(S1)[:, 0]) == 0
    assert scrambling_distance(trace.of(S3)[:, 0]) == pytest.approx(200, rel=0.2)
    assert np.isin(trace.of(S1)[:, 1], trace.of(S3)[:, 0]).mean() == pytest.approx(0.75, abs=0.02)
    both = clustered_and_referring(30_000, 500, 100, np.random.default_rng(4))
    assert join_distance(both, 0, S2) == pytest.approx(100, abs=2)
    assert clustering_distance(both.of(S1)[:, 0]) == pytest.approx(500, rel=0.1)


def test_k_varies_in_straight_lines() -> None:
    k = varying(((0, 10), (0.5, 30), (1, 30)), 100.0)
    assert k(np.array([0.0, 25.0, 50.0, 99.0])).tolist() == [10, 20, 30, 30]
    trace = referring(70_000, varying(((0, 0), (0.5, 0), (0.5001, 60), (1, 60)), 10_000), rng())
    half = trace._replace(streams=trace.streams[:34_000], values=trace.values[:34_000])
    assert join_distance(half, 0, S2) == 0
    assert join_distance(trace, 0, S2) == 60


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_packets_of_links_come_in_milliseconds() -> None:
    trace = PacketTrace(1, (5.0, 50.0, 5.0), latencies=(LatencyPhase(0, 2, 2),), seconds=100)
    found = three_links(trace)
    assert np.all(np.diff(found.times) >= 0)
    for place, link in enumerate(packets(trace)):
        own = found.streams == place
        assert found.times[own].tolist() == (link.times // 1000).tolist()
        assert found.values[own, 0].tolist() == link.numbers.tolist()
