"""What the bench of drift counts: visits of the running order beside the best fixed ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from backend.workloads.spec import Workload, load_workload, shipped_workloads
from bench.drift import visited

LENGTHS = [1_500, 1_000]


@pytest.fixture
def short() -> Workload:
    """The demo with two short phases, of which the second has other selective attributes."""
    demo = load_workload(shipped_workloads()["drift"])
    (stream,) = demo.streams
    phases = json.loads(stream.source.options["phases"])[1:3]
    told = [{**phase, "n_tuples": n} for phase, n in zip(phases, LENGTHS, strict=True)]
    options = {**stream.source.options, "phases": json.dumps(told)}
    source = replace(stream.source, options=options)
    return replace(demo, streams=(replace(stream, source=source),))


def test_an_order_that_is_never_left_costs_what_it_costs_tuple_by_tuple(short: Workload) -> None:
    frozen = replace(short, knobs={**short.knobs, "min_gain": 1.0})
    first, second, all_, together = visited(frozen, LENGTHS)
    assert [first.n_tuples, second.n_tuples, all_.n_tuples] == [*LENGTHS, sum(LENGTHS)]
    spent = first.running * 1_500 + second.running * 1_000
    assert all_.running == together.running == pytest.approx(spent / 2_500)
    assert first.ratio > 1
    assert second.ratio > 1
    assert all_.best == pytest.approx((first.best * 1_500 + second.best * 1_000) / 2_500)
    assert all_.best < together.best < together.running
