"""Streams of a trace that adheres to a k-constraint: of one trace, the same whatever slices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from backend.workloads.adhering import (
    STREAMS,
    TRACES,
    AdheringError,
    AdheringSource,
    AdheringTrace,
    adhering_trace,
    arriving,
)
from backend.workloads.sources import open_source
from backend.workloads.spec import WorkloadError, load_workload

OPTIONS = {"trace": "clustered", "k": "[[0, 10], [0.5, 200]]", "n_tuples": "22000"}


def streams(options: dict[str, str]) -> list[AdheringSource]:
    return [AdheringSource.of(3, {**options, "stream": name}) for name in STREAMS]


def test_any_slice_is_the_same_whatever_slices_are_taken() -> None:
    source = streams(OPTIONS)[0]
    n = source.n_tuples
    whole = source.slice(0, n + 10)
    parts = [source.slice(start, 777) for start in range(0, n, 777)]
    assert pa.concat_tables(parts).combine_chunks().equals(whole.combine_chunks())
    assert whole.column_names[:-1] == list(source.schema.names)
    assert len(whole) == n
    assert source.slice(n + 5, 100).num_rows == 0


@pytest.mark.parametrize("name", TRACES)
def test_streams_together_are_the_trace_in_time(name: str) -> None:
    options = {**OPTIONS, "trace": name, "k": "50", "per_second": "40"}
    sources = [
        AdheringSource(stream, adhering_trace(3, options))
        for stream in range(2 if name == "scrambled" else 3)
    ]
    tables = [source.slice(0, source.n_tuples) for source in sources]
    whole = arriving(sources[0].trace)
    assert sum(map(len, tables)) == len(whole.streams) == pytest.approx(22_000, abs=11)
    for stream, table in enumerate(tables):
        assert table["a"].to_pylist() == whole.of(stream)[:, 0].tolist()
        times = table["t"].to_numpy()
        assert np.all(np.diff(times) >= np.timedelta64(0))
        assert times[-1] - times[0] <= np.timedelta64(22_000 // 40 + 1, "s")


def test_k_may_change() -> None:
    trace = adhering_trace(1, OPTIONS)
    assert trace == AdheringTrace(1, "clustered", ((0, 10), (0.5, 200)), 22_000)
    assert adhering_trace(1, {**OPTIONS, "k": "7"}).knots == ((0, 7),)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trace": "odd"}, "trace must be referring, clustered"),
        ({"k": "-1"}, "k must be 0..1000000, or a list of"),
        ({"k": "[]"}, "k must be"),
        ({"k": "[[0, 1], [0.5]]"}, "k must be"),
        ({"k": "[[0.5, 1], [0.2, 3]]"}, "shares 0..1 ascending"),
        ({"trace": "scrambled"}, "k of scrambled is one number"),
    ],
)
def test_a_trace_that_cannot_be_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(AdheringError, match=said):
        adhering_trace(1, {**OPTIONS, **options})


def test_a_workload_opens_it_or_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    text = '[streams.P]\nsource = {{ format = "adhering", trace = "{}", stream = "{}", k = 5 }}\n'
    path.write_text(text.format("scrambled", "s2") + 'key = "a"\ntimestamp = "t"')
    (stream,) = load_workload(path).streams
    assert stream.schema.key == ("a",)
    assert isinstance(open_source(stream, tmp_path), AdheringSource)
    path.write_text(text.format("scrambled", "S3"))
    with pytest.raises(WorkloadError, match="stream must be S1, S2 or, but for scrambled, S3"):
        load_workload(path)
