"""Streams of keys: the same whatever slices are taken, in time, as frequent as they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from backend.workloads.keyed import (
    DAY_US,
    DAYS,
    Burst,
    KeyedError,
    KeyedSource,
    KeyOf,
    bursts_from_json,
    keys_from_json,
)
from backend.workloads.sources import open_source
from backend.workloads.spec import WorkloadError, load_workload, shipped_workloads

SOURCE = KeyedSource(3, (KeyOf("a", 4), KeyOf("b", 100, 1.0)), 100, (Burst(90, 150, 20),))


def test_any_slice_is_the_same_whatever_slices_are_taken() -> None:
    whole = SOURCE.slice(0, 20_000)
    parts = [SOURCE.slice(start, 3_333) for start in range(0, 20_000, 3_333)]
    assert pa.concat_tables(parts).slice(0, 20_000).combine_chunks().equals(whole.combine_chunks())
    assert whole.column_names[:-1] == ["t", "a", "b"] == list(SOURCE.schema.names)
    assert SOURCE.slice(SOURCE.n_tuples - 10, 100).num_rows == 10
    assert SOURCE.slice(SOURCE.n_tuples + 5, 100).num_rows == 0


def test_a_burst_comes_as_many_times_as_fast_and_time_never_goes_back() -> None:
    assert SOURCE.n_tuples == 100 * (DAYS - 60) + 100 * 60 * 20
    days = SOURCE.times_us(0, SOURCE.n_tuples) / DAY_US
    assert np.all(np.diff(days) >= 0)
    for day, wanted in ((0, 100), (89, 100), (90, 2000), (149, 2000), (150, 100), (364, 100)):
        assert np.count_nonzero((days >= day) & (days < day + 1)) == pytest.approx(wanted, abs=1)


def test_values_are_as_frequent_as_the_skew_says() -> None:
    table = SOURCE.slice(0, 100_000)
    even = np.bincount(table["a"].to_numpy(), minlength=4) / 100_000
    assert even == pytest.approx([0.25] * 4, abs=0.01)
    skewed = np.bincount(table["b"].to_numpy(), minlength=100) / 100_000
    weights = 1 / np.arange(1, 101)
    assert skewed == pytest.approx(weights / weights.sum(), abs=0.01)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "keys must be a table"),
        ('{"t": 5}', "another name than t"),
        ('{"a b": 5}', "an attribute with another name"),
        ('{"a": 0}', r"expected a number of values of 1\.\."),
        ('{"a": [5, -1]}', "a skew of 0..10"),
    ],
)
def test_keys_that_cannot_be_are_refused(text: str, said: str) -> None:
    with pytest.raises(KeyedError, match=said):
        keys_from_json(text)


@pytest.mark.parametrize(
    "text", ["5", "[[1, 2]]", "[[5, 2, 3]]", "[[1, 5, 2], [4, 6, 2]]", "[[1, 400, 2]]"]
)
def test_bursts_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(KeyedError, match="burst"):
        bursts_from_json(text)


def test_a_workload_that_cannot_be_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text('[streams.P]\nsource = { format = "keyed" }')
    with pytest.raises(WorkloadError, match="keys must be a table"):
        load_workload(path)


def test_the_streams_of_the_shipped_workload_begin_together(tmp_path: Path) -> None:
    workload = load_workload(shipped_workloads()["joins"])
    firsts = []
    for stream in workload.streams:
        source = open_source(stream, tmp_path)
        assert source is not None
        if stream.source.format == "keyed":
            assert source.schema == stream.schema
            firsts.append(source.slice(0, 1)["t"][0].as_py())
    assert len(firsts) == 4
    assert len(set(firsts)) == 1
