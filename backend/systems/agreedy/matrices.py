"""The matrix view for people: counts, conditional drop probabilities, ratios to cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.evidence import finite
from backend.adaptive.ordering.ranks import PS_PER_US, Picoseconds, rank
from backend.adaptive.ordering.view import MatrixView
from storage.vocabulary.planlog import SAMPLING
from storage.vocabulary.records import Matrix

#: Name prefix -> unit; the name ends in the query.
VIEWS: Final = {
    "view": "tuples",
    "view_drop_prob": "prob",
    "view_rank": "1/us",
}

#: Name prefix -> a cell from count, cost (picoseconds) and tuples that reach the row.
_CELLS: Final[Mapping[str, Callable[[int, int, int], float | None]]] = {
    "view": lambda count, cost, n_row: float(count),
    "view_drop_prob": lambda count, cost, n_row: count / n_row if n_row else None,
    "view_rank": lambda count, cost, n_row: finite(rank(count, cost) / n_row) if n_row else None,
}


def view_matrices(
    query: str,
    names: Sequence[str],
    view: MatrixView,
    kept: NDArray[np.bool_],
    costs: Sequence[Picoseconds],
    n_tuples: int,
) -> tuple[Matrix, ...]:
    """``view:<query>``, ``view_drop_prob:<query>`` and ``view_rank:<query>``, kind 'view'.

    Rows and columns: filters in the current order. Entries the algorithm does not maintain, and
    those below the diagonal, are None. V[i, j] counts profile tuples passed by the filters before
    row i and dropped by the filter of column j; row_stats.reached: tuples of the window (passes
    included) that pass the filters before the row, which the probabilities are shares of.
    column_stats: cost_us, and native = 1 for filters that run as Spark expressions.
    """
    order = tuple(names[x] for x in view.order)
    by_place = [costs[x] for x in view.order]
    reached = view.alive(n_tuples)[:-1]
    shown = np.triu(kept)
    column_stats = {
        "cost_us": tuple(cost / PS_PER_US for cost in by_place),
        "native": tuple(float(j < view.n_native) for j in range(view.n)),
    }
    return tuple(
        Matrix(
            name=f"{prefix}:{query}",
            kind="view",
            rows=order,
            columns=order,
            values=tuple(
                tuple(
                    cell(int(view.counts[i, j]), by_place[j], reached[i]) if shown[i, j] else None
                    for j in range(view.n)
                )
                for i in range(view.n)
            ),
            unit=VIEWS[prefix],
            n=n_tuples,
            row_stats={"reached": tuple(float(r) for r in reached)},
            column_stats=column_stats,
        )
        for prefix, cell in _CELLS.items()
    )


def sampling_matrix(shares: Mapping[str, float]) -> tuple[Matrix, ...]:
    """``sampling share``, by statistic of the plan log; none before the first look."""
    if not shares:
        return ()
    cells = tuple((share,) for share in shares.values())
    return (Matrix(SAMPLING, SAMPLING, tuple(shares), ("sampled",), cells, "prob"),)
