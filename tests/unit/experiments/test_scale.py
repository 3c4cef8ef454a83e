"""The peers of ``bench scale`` write and count what their queries say, and a difference is seen."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench import scale_peers as peers
from bench.scale_data import Queries, drift_tuples, selective_queries
from bench.scale_turns import WRITTEN, ScaleTurn, _check, matches_in

N_TUPLES = 3_000


def expected(rows: list[dict[str, Any]], queries: Queries) -> Counter[str]:
    """Matches by query, and matched tuples, row by row in Python."""
    python = {
        name: text.replace(" = ", " == ").replace("<>", "!=") for name, text in queries.items()
    }
    compiled = {name: compile(text, name, "eval") for name, text in python.items()}
    found: Counter[str] = Counter()
    for row in rows:
        names = [name for name, code in compiled.items() if eval(code, {}, row)]
        found.update([*names, WRITTEN] if names else [])
    return found


@pytest.mark.parametrize("k", [7, 130])
def test_peers_match_what_the_queries_say(k: int, tmp_path: Path) -> None:
    tuples, queries = drift_tuples(N_TUPLES), selective_queries(k)
    path, matches = tmp_path / "tuples.parquet", expected(tuples.to_pylist(), queries)
    peers.write_tuples(tuples, path)
    assert matches[WRITTEN] > 50
    for number, write in enumerate((peers.duckdb_once, peers.duckdb_lists, peers.polars_lists)):
        folder = tmp_path / str(number)
        folder.mkdir()
        write(path, queries, folder)
        assert matches_in(folder) == matches
    del matches[WRITTEN]
    for count in (peers.duckdb_counts, peers.polars_counts):
        assert Counter(count(path, queries, tmp_path)) == matches


def test_what_differs_is_refused() -> None:
    ran = {
        "writes": [ScaleTurn(1.0, {WRITTEN: 2, "q1": 2, "q2": 1})],
        "counts": [ScaleTurn(1.0, {"q1": 2, "q2": 1, "q3": 0})],
    }
    _check("counts", ran)
    ran["writes again"] = [ScaleTurn(1.0, {WRITTEN: 3, "q1": 2, "q2": 1})]
    with pytest.raises(AssertionError, match=f"{WRITTEN} 3 and 2"):
        _check("writes again", ran)
    ran["counts"].append(ScaleTurn(1.0, {"q1": 2, "q2": 2}))
    with pytest.raises(AssertionError, match="counts and writes differ in 1 counts: q2 2 and 1"):
        _check("counts", ran)
