"""Streams each of which joins all others on an attribute of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backend.workloads.clique import CliqueError, CliqueSource, clique_schema
from backend.workloads.sources import open_source
from backend.workloads.spec import load_workload, shipped_workloads

PHASES = "[[10, [4, 5, 6, 7, 8, 9]], [20, [40, 50, 60, 70, 80, 90]]]"
OPTIONS = {"stream": "b", "phases": PHASES, "per_second": "100"}


def test_a_stream_has_an_attribute_for_each_other_one() -> None:
    assert clique_schema(OPTIONS).names == ("t", "ab", "bc", "bd")
    assert clique_schema({"stream": "a", "streams": "2"}).names == ("t", "ab")


def test_any_slice_has_the_same_tuples() -> None:
    source = CliqueSource.of(3, OPTIONS)
    whole = source.slice(0, 70)
    assert whole.num_rows == 70
    parts = [source.slice(first, 7) for first in range(0, 70, 7)]
    assert [row for part in parts for row in part.to_pylist()] == whole.to_pylist()


def test_values_are_of_the_phases_domains_which_come_round_again() -> None:
    whole = CliqueSource.of(3, OPTIONS).slice(0, 3000)
    first = np.arange(3000) % 30 < 10
    for name, small, large in (("ab", 4, 40), ("bc", 7, 70), ("bd", 8, 80)):
        values = whole[name].to_numpy()
        assert set(values[first]) == set(range(small))
        assert values[~first].max() == large - 1
    step = np.diff(whole["t"].to_numpy()).astype("timedelta64[ms]")
    assert set(step.astype(int)) == {10}


def test_two_streams_draw_by_themselves() -> None:
    one, other = (CliqueSource.of(3, OPTIONS | {"stream": s}).slice(0, 100) for s in "ab")
    assert one["ab"].to_pylist() != other["ab"].to_pylist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stream": "e"}, "stream must be one of a, b, c, d, not 'e'"),
        ({"stream": "a", "streams": "7"}, "streams must be 2 to 6, not 7"),
        ({"stream": "a", "phases": "[[5, [1, 2]]]"}, r"6 sizes of domains, ab, ac, ad, bc, bd, cd"),
        ({"stream": "a", "phases": "[[0, [1, 2, 3, 4, 5, 6]]]"}, "whole numbers from 1"),
        ({"stream": "a", "phases": "nothing"}, "not nothing"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(CliqueError, match=message):
        CliqueSource.of(1, options)


def test_the_streams_of_the_shipped_workload_are_in_step(tmp_path: Path) -> None:
    sources = [
        open_source(stream, tmp_path)
        for stream in load_workload(shipped_workloads()["amri"]).streams
        if stream.source.format == "clique"
    ]
    assert len(sources) == 4
    assert len({source.trace for source in sources if isinstance(source, CliqueSource)}) == 1
