"""The same filters in DuckDB, Polars and plain Spark, each in the best form that we know of it.

Queries come by name as Where clauses. DuckDB and Polars get the front in words of their own: what
the first predicates of all queries leave, by which most tuples go.
"""

from __future__ import annotations

import multiprocessing
import operator
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
import polars as pl
import pyarrow.parquet as pq

from bench.scale_data import N_THREADS, Counts, Queries

#: Name of a file that a peer writes.
MATCHES: Final = "matches.parquet"
#: Queries in one statement of DuckDB: planning takes the square of them.
_CHUNK: Final = 100
_COMPARE: Final[dict[str, Callable[[Any, int], Any]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def balanced(parts: Sequence[str], between: str = "+") -> str:
    """The parts in parentheses, as a balanced tree: parsers are not deep enough for a chain."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    halves = balanced(parts[:middle], between), balanced(parts[middle:], between)
    return f"({halves[0]} {between} {halves[1]})"


def front(queries: Queries) -> tuple[str, int]:
    """The attribute that all queries begin with, and the largest value that any of them lets by."""
    firsts = [text.split()[:3] for text in queries.values()]
    return firsts[0][0], max(int(value) for _, _, value in firsts)


def duckdb_once(path: Path, queries: Queries, folder: Path) -> None:
    """Writes matched tuples with their queries in one statement: lists where the filter holds."""
    some = balanced([f"({text})" for text in queries.values()], "or")
    names = ", ".join(f"case when {text} then '{name}' end" for name, text in queries.items())
    lists = f"list_filter([{names}], lambda name: name is not null) as query_ids"
    with _duckdb() as connection:
        wanted = f"select *, {lists} from {_read(path, queries)} and {some}"
        connection.execute(f"copy ({wanted}) to '{folder / MATCHES}' (format parquet)")


def duckdb_lists(path: Path, queries: Queries, folder: Path) -> None:
    """Writes the same, a filter a query over what the front leaves, sorted by its attribute."""
    with _duckdb() as connection:
        connection.execute(_kept(path, queries))
        connection.execute("create temp table hits (tuple bigint, query varchar)")
        for chunk in _chunks("rowid, '{name}'", queries):
            connection.execute(f"insert into hits {chunk}")
        grouped = "select tuple, list(query) as query_ids from hits group by tuple"
        wanted = f"select kept.*, query_ids from kept join ({grouped}) on kept.rowid = tuple"
        connection.execute(f"copy ({wanted}) to '{folder / MATCHES}' (format parquet)")


def duckdb_counts(path: Path, queries: Queries, folder: Path) -> Mapping[str, int]:
    """Counts a query in the same way."""
    with _duckdb() as connection:
        connection.execute(_kept(path, queries))
        chunks = _chunks("'{name}', count(*)", queries)
        return dict(row for chunk in chunks for row in connection.execute(chunk).fetchall())


def _duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": N_THREADS, "max_expression_depth": 100_000})
    connection.execute("set enable_progress_bar = false")
    return connection


def _read(path: Path, queries: Queries) -> str:
    attribute, most = front(queries)
    return f"read_parquet('{path}') where {attribute} <= {most}"


def _kept(path: Path, queries: Queries) -> str:
    wanted = f"select * from {_read(path, queries)} order by {front(queries)[0]}"
    return f"create temp table kept as {wanted}"


def _chunks(columns: str, queries: Queries) -> Iterator[str]:
    parts = [
        f"select {columns.format(name=name)} from kept where {text}"
        for name, text in queries.items()
    ]
    for start in range(0, len(parts), _CHUNK):
        yield " union all ".join(parts[start : start + _CHUNK])


def polars_lists(path: Path, queries: Queries, folder: Path) -> None:
    """Writes matched tuples with their queries: where each filter holds, put together by tuple."""
    kept = _polars_kept(path, queries).with_row_index("tuple").collect(engine="streaming").lazy()
    where = {name: _polars(text).arg_true().implode() for name, text in queries.items()}
    narrow = kept.select(pl.exclude("tuple").cast(pl.Int8))
    places = narrow.select(**where).collect()
    hits = places.unpivot(variable_name="query_ids", value_name="tuple").lazy()
    lists = hits.explode("tuple").drop_nulls().group_by("tuple").agg("query_ids")
    kept.join(lists, on="tuple").drop("tuple").sink_parquet(folder / MATCHES)


def polars_counts(path: Path, queries: Queries, folder: Path) -> Mapping[str, int]:
    """Counts a query, in one pass."""
    narrow = _polars_kept(path, queries).select(pl.all().cast(pl.Int8))
    sums = narrow.select(**{name: _polars(text).sum() for name, text in queries.items()})
    counted: Mapping[str, int] = sums.collect(engine="streaming").row(0, named=True)
    return counted


def _polars_kept(path: Path, queries: Queries) -> pl.LazyFrame:
    attribute, most = front(queries)
    return pl.scan_parquet(path).filter(pl.col(attribute) <= most)


def _polars(text: str) -> pl.Expr:
    pieces = [piece.split() for piece in text.split(" and ")]
    compared = [_COMPARE[op](pl.col(attribute), int(value)) for attribute, op, value in pieces]
    both: pl.Expr = reduce(operator.and_, compared)
    return both


def spark_counts(path: Path, texts: Sequence[str], whole_stage: bool) -> Counts:
    """A session of its own; whole_stage: with whole-stage code generation, Spark's default."""
    from backend.hosts.spark.session.session import build_session

    with TemporaryDirectory() as scratch:
        own = {"spark.sql.codegen.wholeStage": str(whole_stage).lower()}
        session = build_session(f"local[{N_THREADS}]", "planwatch bench", Path(scratch), own)
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
        answer: Any = peer(*arguments)
    except Exception as error:
        lines = str(error).strip().splitlines()
        answer = f"{type(error).__name__}: {lines[0][:120] if lines else ''}"
    answers.put((time.perf_counter() - started, answer))


def write_tuples(tuples: Any, path: Path) -> Path:
    """A Parquet file of the tuples in row groups of 50 000."""
    pq.write_table(tuples, path, row_group_size=50_000)
    return path
