"""The workload of k-Mon as it is shipped: one trace of packets, and what it declares is so."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from backend.workloads.links import LinkSource
from backend.workloads.new_york import build_table
from backend.workloads.sources import open_source
from backend.workloads.spec import load_workload, shipped_workloads


def test_the_links_of_the_shipped_workload_are_of_one_trace(tmp_path: Path) -> None:
    workload = load_workload(shipped_workloads()["kmon"])
    traces = set()
    for stream in workload.streams[:3]:
        source = open_source(stream, tmp_path)
        assert isinstance(source, LinkSource)
        assert source.link == stream.name
        traces.add(source.trace)
    assert len(traces) == 1


def test_what_the_shipped_workload_declares_of_flights_and_weather_holds() -> None:
    flights, weather = build_table("departures"), build_table("weather")
    january = np.datetime64("2013-02-01")
    leaves, hour = (flights[name].to_numpy() for name in ("sched_dep", "hour"))
    seen = weather["seen"].to_numpy()
    assert np.all(np.diff(hour) >= np.timedelta64(0))
    assert np.all(np.diff(seen) >= np.timedelta64(0))
    assert np.all((leaves - hour >= np.timedelta64(0)) & (leaves - hour < np.timedelta64(1, "h")))
    keys = [
        pair for pair in zip(weather["origin"].to_pylist(), seen, strict=True) if pair[1] < january
    ]
    assert len(set(keys)) == len(keys)
    wanted = set(zip(flights["origin"].to_pylist(), hour, strict=True))
    assert len(wanted & set(keys)) > 0.9 * len([one for one in wanted if one[1] < january])
