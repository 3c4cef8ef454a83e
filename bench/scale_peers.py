"""The same filters in DuckDB, Polars and plain Spark: matched tuples and the sum of matches.

Every one adds up the filters of a tuple as integers, in a balanced tree, as a chain of thousands
is deeper than their parsers go.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow.parquet as pq

from bench.scale_data import Counts

#: Filters added up by one Polars expression.
_CHUNK: Final = 500


def balanced(parts: Sequence[str]) -> str:
    """The sum of the parts, in parentheses, as a balanced tree."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return f"({balanced(parts[:middle])} + {balanced(parts[middle:])})"


def duckdb_counts(path: Path, texts: Sequence[str]) -> Counts:
    """One query over the Parquet file, on two threads."""
    import duckdb

    hits = balanced([f"({text})::int" for text in texts])
    with duckdb.connect() as connection:
        connection.execute("set threads = 2; set max_expression_depth to 100000")
        connection.execute("set enable_progress_bar = false")
        inner = f"select {hits} as hits from read_parquet('{path}')"
        wanted = "select count(*) filter (where hits > 0), sum(hits)"
        row = connection.execute(f"{wanted} from ({inner})").fetchone()
    assert row is not None
    return int(row[0]), int(row[1] or 0)


def polars_counts(path: Path, texts: Sequence[str]) -> Counts:
    """Expressions over the columns in memory, _CHUNK filters at a time."""
    import polars as pl

    frame = pl.read_parquet(path)
    total = pl.zeros(len(frame), dtype=pl.Int32, eager=True)
    for start in range(0, len(texts), _CHUNK):
        chunk = [_polars(text).cast(pl.Int32) for text in texts[start : start + _CHUNK]]
        total = total + frame.select(pl.sum_horizontal(chunk).alias("hits"))["hits"]
    return int((total > 0).sum()), int(total.sum())


def _polars(text: str) -> Any:
    import polars as pl

    compare: dict[str, Callable[[Any, int], Any]] = {
        "=": lambda column, value: column == value,
        "<>": lambda column, value: column != value,
        "<": lambda column, value: column < value,
        "<=": lambda column, value: column <= value,
        ">": lambda column, value: column > value,
        ">=": lambda column, value: column >= value,
    }
    pieces = [piece.split() for piece in text.split(" and ")]
    return pl.all_horizontal([compare[op](pl.col(a), int(v)) for a, op, v in pieces])


def spark_counts(path: Path, texts: Sequence[str], whole_stage: bool) -> Counts:
    """A session of its own; whole_stage: with whole-stage code generation, Spark's default."""
    from backend.hosts.spark.session.session import build_session

    with TemporaryDirectory() as scratch:
        own = {"spark.sql.codegen.wholeStage": str(whole_stage).lower()}
        session = build_session("local[2]", "planwatch bench", Path(scratch), own)
        try:
            hits = balanced([f"int(coalesce({text}, false))" for text in texts])
            frame = session.read.parquet(str(path)).selectExpr(f"{hits} as hits")
            (row,) = frame.selectExpr("count_if(hits > 0) as n", "sum(hits) as hits").collect()
            return int(row["n"]), int(row["hits"] or 0)
        finally:
            session.stop()


def timed(peer: Callable[..., Any], *arguments: Any, limit_s: float) -> tuple[float, Any]:
    """Seconds and counts of a peer in a process of its own; the words of what stopped it instead
    of counts: an error, or the limit."""
    context = multiprocessing.get_context("spawn")
    answers: Any = context.Queue()
    child = context.Process(target=_answer, args=(answers, peer, arguments), daemon=True)
    child.start()
    try:
        return answers.get(timeout=limit_s)  # type: ignore[no-any-return] # what _answer puts
    except Empty:
        return limit_s, f"not done after {limit_s:.0f} s"
    finally:
        child.kill()
        child.join()


def _answer(answers: Any, peer: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what Spark says when it starts
    started = time.perf_counter()
    try:
        found: Any = peer(*arguments)
    except Exception as error:
        lines = str(error).strip().splitlines()
        found = f"{type(error).__name__}: {lines[0][:120] if lines else ''}"
    answers.put((time.perf_counter() - started, found))


def write_tuples(tuples: Any, path: Path) -> Path:
    """A Parquet file of the tuples in row groups of 50 000."""
    pq.write_table(tuples, path, row_group_size=50_000)
    return path
