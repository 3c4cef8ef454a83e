"""Relations that queries answer as they are recorded: every row of those that are small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from storage.vocabulary.records import Json, Matrix

#: The kind of the matrix.
RELATION: Final = "relation"
#: Larger ones are not recorded.
MOST_ROWS: Final = 200
Row: TypeAlias = tuple[Json, ...]


def relation_name(query: str) -> str:
    """The name of the matrix of a query."""
    return f"{RELATION} {query}"


def relation_matrix(query: str, columns: Sequence[str], rows: Mapping[Row, int] | None) -> Matrix:
    """rows: how often each is in it, None = they are too many or not known."""
    if rows is None:
        return Matrix(relation_name(query), RELATION, (), ("count",), [], "tuples")
    listed = sorted(rows.items(), key=repr)
    return Matrix(
        name=relation_name(query),
        kind=RELATION,
        rows=tuple(map(str, range(len(listed)))),
        columns=("count",),
        values=[[n] for _, n in listed],
        unit="tuples",
        n=sum(rows.values()),
        row_stats={"row": [list(row) for row, _ in listed]},
        column_stats={"column": list(columns)},
    )


def rows_in(matrix: Matrix) -> tuple[list[str], list[tuple[Row, int]]] | None:
    """The columns, and each row with how often it is there; None where they are not recorded."""
    if not matrix.column_stats:
        return None
    rows = zip(matrix.row_stats["row"], matrix.values, strict=True)
    return matrix.column_stats["column"], [(tuple(row), n) for row, (n,) in rows]
