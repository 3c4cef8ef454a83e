"""Packets on three links: the same packets for all of one seed, in time, as often as asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from backend.workloads.links import (
    LINKS,
    LatencyPhase,
    LinksError,
    LinkSource,
    PacketTrace,
    packets,
    pid,
    trace_of,
)
from backend.workloads.spec import WorkloadError, load_workload

TRACE = PacketTrace(
    3, (10.0, 100.0, 10.0), (0.5, 0.05), (LatencyPhase(0, 2, 4), LatencyPhase(500, 20, 40))
)
TRACE = TRACE._replace(seconds=1000)


@pytest.mark.parametrize("link", LINKS)
def test_any_slice_is_the_same_whatever_slices_are_taken(link: str) -> None:
    source = LinkSource(link, TRACE)
    n = source.n_tuples
    whole = source.slice(0, n + 10)
    parts = [source.slice(start, 3_333) for start in range(0, n, 3_333)]
    assert pa.concat_tables(parts).combine_chunks().equals(whole.combine_chunks())
    assert whole.column_names[:-1] == list(source.schema.names)
    assert len(whole) == n
    assert source.slice(n - 10, 100).num_rows == 10
    assert source.slice(n + 5, 100).num_rows == 0


def test_links_have_their_rates_and_shares() -> None:
    on_c, on_b, on_o = packets(TRACE)
    for rate, link in zip(TRACE.rates, (on_c, on_b, on_o), strict=True):
        assert len(link.times) / TRACE.seconds == pytest.approx(rate, rel=0.05)
        assert np.all(np.diff(link.times) >= 0)
        assert link.times[-1] < TRACE.seconds * 1_000_000
        assert len(np.unique(link.numbers)) == len(link.numbers)
    assert np.isin(on_c.numbers, on_b.numbers).mean() == pytest.approx(0.5, abs=0.02)
    assert np.isin(on_b.numbers, on_o.numbers).mean() == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize(("hop", "most"), [(0, (2, 20)), (1, (4, 40))])
def test_packets_take_their_latency_in_each_phase_and_pass_each_other(
    hop: int, most: tuple[int, int]
) -> None:
    before, after = packets(TRACE)[hop : hop + 2]
    _, first, second = np.intersect1d(before.numbers, after.numbers, return_indices=True)
    seconds = (after.times[second] - before.times[first]) / 1e6
    early = before.times[first] < 500e6
    for which, longest in zip((early, ~early), most, strict=True):
        assert seconds[which].min() >= longest / 2 - 1e-3
        assert longest * 0.95 < seconds[which].max() <= longest
    assert np.any(np.diff(second[np.argsort(first)]) < 0)
    assert np.all(before.sizes[first] == after.sizes[second])
    assert np.all(before.flows[first] == after.flows[second])


def test_without_jitter_no_packet_passes_another() -> None:
    before, after, _ = packets(TRACE._replace(jitter=0.0, latencies=TRACE.latencies[:1]))
    _, first, second = np.intersect1d(before.numbers, after.numbers, return_indices=True)
    assert np.all(np.diff(second[np.argsort(first)]) > 0)


def test_identifiers_are_not_in_order_and_differ() -> None:
    found = pid(np.arange(100_000))
    assert len(np.unique(found)) == 100_000
    assert found.min() >= 0
    assert 0.4 < np.mean(np.diff(found) > 0) < 0.6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rates": "[1, 2]"}, "rates must be a list of 3 numbers, of C, B and O, above 0"),
        ({"rates": "[1, 0, 2]"}, "rates must be"),
        ({"onward": "[0.1, 1.5]"}, "onward must be a list of 2 numbers, of C and B, above 0, at"),
        ({"rates": "[10, 1, 1]", "onward": "[0.5, 0.5]"}, "5 packets a second go on from C to B"),
        ({"latencies": "[]"}, "latencies must be a list of"),
        ({"latencies": "[[5, 1, 1]]"}, "the first start 0"),
        ({"latencies": "[[0, 1, 1], [0, 2, 2]]"}, "then later ones"),
        ({"latencies": "[[0, 1, -1]]"}, "latencies of 0 to 86400 seconds"),
        ({"jitter": "1.5"}, "jitter must be a share of the latency"),
        ({"seconds": "100000000"}, "more than 50000000 packets"),
    ],
)
def test_a_trace_that_cannot_be_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(LinksError, match=said):
        trace_of(1, options)


def test_a_workload_that_cannot_be_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text('[streams.P]\nsource = { format = "links", link = "D" }')
    with pytest.raises(WorkloadError, match=r"\[streams.P\] source link must be C, B or O"):
        load_workload(path)
