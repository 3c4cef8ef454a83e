"""What the traces of the experiments on k-constraints adhere to, and the packets of three links."""

from __future__ import annotations

import numpy as np

from backend.workloads.adhering import S1, ArrivingTuples, Ints, merged
from backend.workloads.links import PacketTrace, packets


def three_links(trace: PacketTrace) -> ArrivingTuples:
    """C, B and O of a trace of packets; values: packet, size, flow; ticks of a millisecond."""
    parts = []
    for link in packets(trace):
        values = np.stack([link.numbers, link.sizes, link.flows], axis=1)
        parts.append((link.times.astype(np.float64), values.astype(np.int64)))
    arriving = merged(parts)
    times = np.sort(np.concatenate([times for times, _ in parts]))
    return arriving._replace(times=(times // 1000).astype(np.int64))


def join_distance(trace: ArrivingTuples, place: int, child: int) -> int:
    """The least k for which RIDS(k) holds between column ``place`` of S1 and ``child``."""
    is_child = trace.streams == child
    counts = np.cumsum(is_child)
    keys = trace.values[is_child, 0]
    order = np.argsort(keys)
    wanted = trace.values[trace.streams == S1, place]
    places = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    number = 1 + order[places]
    joins = keys[order][places] == wanted
    return int(np.max((number - counts[trace.streams == S1])[joins], initial=0))


def clustering_distance(values: Ints) -> int:
    """The least k for which CA(k) holds."""
    places = np.arange(len(values))
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    first, last = np.full(len(counts), len(values)), np.full(len(counts), -1)
    np.minimum.at(first, inverse, places)
    np.maximum.at(last, inverse, places)
    return int(np.max(last - first - (counts - 1), initial=0))


def scrambling_distance(values: Ints) -> int:
    """The least k for which OA(k) holds."""
    highest = np.maximum.accumulate(values)
    first_above = np.searchsorted(highest, values, side="right")
    return int(np.max(np.arange(len(values)) - first_above, initial=0))
