"""DuckDB and Polars beside the product, with Spark and without, from one Parquet file: (a) counts a
query, (b) matched tuples with the list of their queries, written to Parquet.

In turns, each in a process of its own, on all cores. The product does both kinds of work in each
run; what all of them write and count is compared.
"""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow.compute as pc
import pyarrow.parquet as pq

from backend.workloads.drift import DRIFT_SCHEMA
from bench.processes import ROOT
from bench.scale_data import N_THREADS, Queries, drift_tuples, selective_queries
from bench.scale_peers import (
    duckdb_counts,
    duckdb_lists,
    duckdb_once,
    polars_counts,
    polars_lists,
    timed,
    write_tuples,
)

#: A peer may take so long.
LIMIT_S: Final = 300.0
#: With more queries one statement of DuckDB takes minutes.
MOST_AT_ONCE: Final = 500
WRITTEN: Final = "matched tuples"
#: Matches by query; of who writes also the tuples written, as WRITTEN.
Matches: TypeAlias = Mapping[str, int]


class ScaleTurn(NamedTuple):
    """A turn. later_s: of the product, seconds for as many tuples after its first batch."""

    seconds: float
    matches: Matches
    later_s: float | None = None


#: Given the file of tuples, the queries, and an empty folder to write to.
Lane: TypeAlias = Callable[[Path, Queries, Path], ScaleTurn]


def compare(k: int, n_tuples: int, rounds: int) -> None:
    """Print a table: tuples a second, medians of the rounds. Raises AssertionError when what two of
    them counted or wrote differs."""
    queries, ran = selective_queries(k), dict[str, list[ScaleTurn]]()
    with TemporaryDirectory() as name:
        path = write_tuples(drift_tuples(n_tuples), Path(name) / "tuples.parquet")
        for _ in range(rounds):
            for title, lane in _lanes(k).items():
                with TemporaryDirectory(dir=name) as folder:
                    ran.setdefault(title, []).append(lane(path, queries, Path(folder)))
                _check(title, ran)
    load = os.getloadavg()[0]
    print(f"\nk = {k}, {n_tuples} tuples, {N_THREADS} cores, load {load:.1f}, {rounds} rounds")
    for title, turns in ran.items():
        _line(title, n_tuples, [turn.seconds for turn in turns])
        if later := [turn.later_s for turn in turns if turn.later_s is not None]:
            _line("… after its first batch", n_tuples, later)


def _lanes(k: int) -> dict[str, Lane]:
    lanes: dict[str, Lane] = {
        "(a) DuckDB": partial(_peer, duckdb_counts),
        "(a) Polars": partial(_peer, polars_counts),
        "(b) DuckDB, one statement": partial(_peer, duckdb_once),
        "(b) DuckDB, a filter a query": partial(_peer, duckdb_lists),
        "(b) Polars": partial(_peer, polars_lists),
        "(a, b) ours, --master none": partial(_product, "none"),
        "(a, b) ours, Spark": partial(_product, f"local[{N_THREADS}]"),
    }
    if k > MOST_AT_ONCE:
        del lanes["(b) DuckDB, one statement"]
    return lanes


def _peer(
    peer: Callable[..., Matches | None], path: Path, queries: Queries, folder: Path
) -> ScaleTurn:
    seconds, counted = timed(peer, path, queries, folder, limit_s=LIMIT_S)
    if isinstance(counted, str):
        raise AssertionError(f"{peer.__name__}: {counted}")
    return ScaleTurn(seconds, matches_in(folder) if counted is None else counted)


def _product(master: str, path: Path, queries: Queries, folder: Path) -> ScaleTurn:
    """``run.py backend --once``; its seconds are those of the run in the store."""
    workload, store, sink = folder / "scale.toml", folder / "scale.db", folder / "matches"
    workload.write_text(_workload(path, queries, sink), encoding="utf-8")
    words = ["backend", str(workload), "--once", "--master", master, "--store", str(store)]
    command = [sys.executable, "run.py", *words]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if ended.returncode:
        raise AssertionError(f"our run on {master} failed: {ended.stderr[-500:]}")
    with sqlite3.connect(store) as rows:
        ((seconds,),) = rows.execute("select ended_at - started_at from runs")
        batches = rows.execute("select time, n_tuples from batches order by id").fetchall()
    (first, n_first), last, n = batches[0], batches[-1][0], sum(n for _, n in batches)
    later = (last - first) * n / (n - n_first) if n > n_first else None
    return ScaleTurn(seconds, matches_in(sink), later)


def _workload(path: Path, queries: Queries, sink: Path) -> str:
    texts = {name: f"Select * From Drift Where {text}" for name, text in queries.items()}
    lines = [
        "[streams.Drift]",
        f'schema = "{", ".join(f"{name} int" for name in DRIFT_SCHEMA.names)}"',
        f'source = {{ format = "parquet", path = "{path}" }}',
        "[sink]",
        f'path = "{sink}"',
        "[queries]",
        *(f"{name} = {json.dumps(text)}" for name, text in texts.items()),
    ]
    return "\n".join(lines)


def matches_in(folder: Path) -> Matches:
    """Written matches by query, and the tuples they are of."""
    lists = pq.read_table(folder, columns=["query_ids"]).column(0)
    counted: Sequence[Any] = pc.value_counts(pc.list_flatten(lists)).to_pylist()
    return {WRITTEN: len(lists), **{each["values"]: each["counts"] for each in counted}}


def _check(title: str, ran: Mapping[str, Sequence[ScaleTurn]]) -> None:
    """Raises AssertionError when the newest turn has other matches than the first of its kind."""
    mine = {name: n for name, n in ran[title][-1].matches.items() if n}
    for other, turns in ran.items():
        theirs = {name: n for name, n in turns[0].matches.items() if n}
        common = set() if WRITTEN in mine and WRITTEN in theirs else {WRITTEN}
        differing = {name for name, n in mine.items() ^ theirs.items()} - common
        if differing:
            name = min(differing)
            raise AssertionError(
                f"{title} and {other} differ in {len(differing)} counts: "
                f"{name} {mine.get(name, 0)} and {theirs.get(name, 0)}"
            )


def _line(title: str, n_tuples: int, seconds: Sequence[float]) -> None:
    middle = statistics.median(seconds)
    extent = f"{min(seconds):.2f}..{max(seconds):.2f}"
    print(
        f"  {title:32} {middle:8.2f} s {extent:>16} {n_tuples / middle:13,.0f} tuples/s", flush=True
    )
