"""Packets, suspects, the correlated set-up and the six filters on flights."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.schema import Schema
from backend.systems.agreedy.pipeline import pipeline_of
from backend.workloads.correlated import AGREEMENT, CorrelatedSource, copy_prob
from backend.workloads.packet_functions import databases
from backend.workloads.packets import (
    ATTACK_SHARE,
    SIGNATURES,
    Attack,
    PacketSource,
    SuspectSource,
)
from backend.workloads.relations import SlidingRelation, WindowIndex
from backend.workloads.sources import MemorySource, ReplaySource, open_source
from backend.workloads.spec import WorkloadError, load_workload, shipped_workloads

PACKETS = PacketSource(3, (Attack(10_000, 20_000),), 30_000)
SHARES = (0.3, 0.5, 0.5, 0.7)


@pytest.mark.parametrize(
    "source",
    [PACKETS, SuspectSource(3), CorrelatedSource(3, SHARES, 2, 5000, 30_000)],
    ids=["packets", "suspects", "correlated"],
)
def test_any_slice_is_the_same_whatever_slices_are_taken(source: ReplaySource) -> None:
    whole = source.slice(0, 20_000)
    parts = [source.slice(start, 3_333) for start in range(0, 20_000, 3_333)]
    assert pa.concat_tables(parts).slice(0, 20_000).combine_chunks().equals(whole)
    assert whole.column_names[:-1] == list(source.schema.names)
    assert source.slice(29_990, 0).num_rows == 0
    if source.n_tuples is not None:
        assert source.slice(29_990, 100).num_rows == 10


def test_an_attack_turns_the_selectivities_over() -> None:
    def shares(start: int) -> tuple[float, float, float, float]:
        rows = PACKETS.slice(start, 5000).to_pylist()
        one, two = ([s in row["payload"] for row in rows] for s in SIGNATURES)
        both = [a and b for a, b in zip(one, two, strict=True)]
        inside = [databases.covers(row["dest"]) for row in rows]
        return tuple(sum(x) / len(rows) for x in (one, two, both, inside))  # type: ignore[return-value]  # four of them

    one, two, both, inside = shares(0)
    assert one < 0.05
    assert both / one > 0.6  # the sequences come together
    assert inside == pytest.approx(1 / 16, abs=0.02)
    one, two, both, inside = shares(12_000)
    assert min(one, two) == pytest.approx(ATTACK_SHARE, abs=0.05)
    assert inside == pytest.approx(1 / 16, abs=0.02)


def test_filters_of_a_group_agree_on_80_percent_and_keep_their_selectivity() -> None:
    passes = CorrelatedSource(9, (0.5, 0.5, 0.3, 0.3), gamma=2).passes(0, 60_000)
    assert passes.mean(axis=0) == pytest.approx([0.5, 0.5, 0.3, 0.3], abs=0.01)
    agree = [(passes[:, i] == passes[:, j]).mean() for i, j in ((0, 1), (2, 3), (0, 2))]
    assert agree == pytest.approx([AGREEMENT, AGREEMENT, 0.5], abs=0.01)
    assert copy_prob(0.5) == pytest.approx(0.775, abs=1e-3)
    assert copy_prob(0.05) == copy_prob(0.0) == copy_prob(1.0) == 0.0


def test_selectivities_change_places_at_the_period() -> None:
    source = CorrelatedSource(4, SHARES, gamma=1, period=10_000)
    assert source.selectivities_at(9_999) == SHARES
    later = source.selectivities_at(10_000)
    assert sorted(later) == sorted(SHARES)
    assert later == source.selectivities_at(19_999)
    passes = source.passes(9_000, 11_000)
    assert passes[1000:].mean(axis=0) == pytest.approx(later, abs=0.03)
    keys = np.column_stack(source.slice(9_000, 500).drop_columns(["_corrupt_record"]).columns)
    assert (keys < 10_000).tolist() == passes[:500].tolist()


def test_regimes_come_back_in_their_order() -> None:
    shares = (0.1, 0.3, 0.5, 0.7, 0.9)
    source = CorrelatedSource(4, shares, gamma=1, period=100, regimes=3)
    shown = [source.selectivities_at(100 * turn) for turn in range(7)]
    assert shown[:3] == shown[3:6]
    assert shown[6] == shares
    assert len(set(shown)) == 3


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=40),
    st.integers(1, 12),
    st.data(),
)
def test_a_sliding_relation_is_a_queue_of_the_last_rows(
    values: list[int | None], rows: int, data: st.DataObject
) -> None:
    schema = Schema.parse("v int")
    relation = SlidingRelation(MemorySource([[v] for v in values], schema), "v", rows)
    first = data.draw(st.integers(0, 45))
    last = data.draw(st.integers(first, 50))
    index = relation.over(first, last)
    for arrival in range(first, last + 1):
        window = deque(values[: arrival + 1], maxlen=rows)
        asked = np.full(6, arrival)
        assert index.contains_all(list(range(6)), asked).tolist() == [v in window for v in range(6)]


def test_an_index_of_nothing() -> None:
    assert not WindowIndex([], 0, 5).contains("x", 3)


@pytest.mark.parametrize(
    ("name", "filters"),
    [
        ("packets", ["n_bytes", "lookup", "matches", "matches_2", "source_in_Suspects"]),
        ("correlated", ["probe", *(f"probe_{i}" for i in range(2, 9))]),
        (
            "flight_filters",
            ["dep_delay", "distance", "slow", "matches", "airport_within", "feels_colder"],
        ),
    ],
)
def test_the_shipped_pipelines(name: str, filters: list[str], tmp_path: Path) -> None:
    workload = load_workload(shipped_workloads()[name])
    (query,) = workload.queries
    assert [f.name for f in pipeline_of(query)] == filters
    for stream in workload.streams:
        if stream.source.format != "flights":
            source = open_source(stream, tmp_path)
            assert source is not None
            assert source.slice(5, 3).num_rows == 3


HEAD = '[streams.S]\nschema = "a string"\nsource = { format = "memory", rows = [["x"]] }\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('functions = "none.py"\n' + HEAD, "functions: there is no file"),
        (HEAD + '[queries]\nq = "Select * From S Where lokup(a)"', "unknown function 'lokup'"),
        (
            HEAD.replace("rows", "seed = -1, rows").replace("memory", "suspects"),
            "seed must be a whole number of 0 or more, not -1",
        ),
        (
            '[streams.P]\nsource = { format = "packets", attacks = [[5, 2]] }',
            "expected [start, stop] with 0 <= start < stop",
        ),
        (
            '[streams.P]\nsource = { format = "correlated" }',
            "selectivities must be a list of 1 to 20 numbers",
        ),
        (
            '[streams.P]\nsource = { format = "correlated", selectivities = [0.5], gamma = 0 }',
            "gamma must be a whole number of 1 or more, not 0",
        ),
        (
            HEAD + '[streams.T]\nschema = "a string, t int"\ntimestamp = "t"\n'
            'source = { format = "memory", rows = [["x", 1]] }\n'
            '[queries]\nq = "Select * From S Where a in (Select a From T [Rows 3])"',
            "stream T has a timestamp; windows go by arrival number",
        ),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "w.toml"
    path.write_text(text.replace('seed = -1, rows = [["x"]]', "seed = -1"))
    with pytest.raises(WorkloadError) as caught:
        load_workload(path)
    assert said in str(caught.value)
