"""What the Matrix page shows of pipelined filters: V in the order that ran, and its last check.

Positions count from 0 here and from 1 in the store and on the page. Entries of V that the algorithm
does not keep are None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast, get_args

from dashboard.components.names import named
from dashboard.views.book import Book
from dashboard.views.decision_costs import digits, number_of
from storage.tables.rows import SeriesData
from storage.vocabulary.headroom import overtaking_words
from storage.vocabulary.records import Decision, Matrix, PlanVersion

VIEW: Final = "view"
Cells: TypeAlias = Literal["counts", "drop", "rank"]
#: What a cell can show -> the words of the switch.
SHOWN: Final[Mapping[Cells, str]] = {
    "counts": "Counts",
    "drop": "Drop probability",
    "rank": "Drops per µs",
}


class Card(NamedTuple):
    """A filter in the ribbon. drop: P(dropped | reached) on the window; rank: drop per us of cost.

    text: its CQL; cost: us per tuple.
    """

    name: str
    text: str
    native: bool
    drop: float | None
    cost: float | None
    rank: float | None


class CheckView(NamedTuple):
    """The check V was looked at for. move: (from, to) positions of the implied move, None without.

    pair: the recorded numbers of the deciding pair; empty for records without one. tested: the
    inequality in words. predicted: us per tuple of the order and of the one proposed.
    """

    seq: int
    batch: int
    verdict: str
    explanation: str
    move: tuple[int, int] | None
    pair: Mapping[str, Any]
    tested: str
    predicted: tuple[float | None, float | None]


class NearPair(NamedTuple):
    """A pair near to a violation. rise: of the challenger's drop probability; None: none does."""

    challenger: str
    incumbent: str
    position: int
    rise: float | None


class FiltersView(NamedTuple):
    """V of one query. rows[i]: counts of the positions i, i + 1, …; reached: by row, tuples of the
    window (of n, passes included) that pass the filters before it.

    violated: (row, position, challenger). batches: first and last the window's tuples are from.
    """

    query: str
    batch: int
    n: int
    cards: list[Card]
    rows: list[list[float | None]]
    reached: list[float | None]
    violated: list[tuple[int, int, int]]
    near: list[NearPair]
    check: CheckView | None
    batches: tuple[int, int] | None

    @property
    def order(self) -> list[str]:
        return [card.name for card in self.cards]

    @property
    def is_split(self) -> bool:
        """Some filters are comparisons, others are not."""
        return len({card.native for card in self.cards}) == 2


def view_name(matrices: Sequence[str], query: str) -> str | None:
    """The matrix to show of those of kind 'view': the query's, else the first; None without any."""
    wanted = f"{VIEW}:{query}"
    return wanted if wanted in matrices else next(iter(matrices), None)


def build_view(
    matrix: Matrix,
    batch: int,
    book: Book,
    decision: Decision | None,
    batches: tuple[int, int] | None = None,
    query: str = "",
) -> FiltersView:
    """The view of a matrix of kind 'view' as of ``batch``; decision: the check of that batch."""
    order = list(matrix.rows)
    rows = [[_number(cell) for cell in row[i:]] for i, row in enumerate(matrix.values)]
    reached = _stat(matrix.row_stats, "reached", len(order))
    costs = _stat(matrix.column_stats, "cost_us", len(order))
    native = _stat(matrix.column_stats, "native", len(order))
    detail = decision.detail if decision and isinstance(decision.detail, Mapping) else {}
    cards = [
        _card(name, book, rows[i][0], reached[i], costs[i], bool(native[i]))
        for i, name in enumerate(order)
    ]
    return FiltersView(
        query=query,
        batch=batch,
        n=matrix.n,
        cards=cards,
        rows=rows,
        reached=reached,
        violated=_violated(detail, len(order)),
        near=_near(detail),
        check=None if decision is None else _check(decision, detail, order),
        batches=batches,
    )


def cells(view: FiltersView, shown: Cells) -> list[list[float | None]]:
    """The chosen numbers, by row from the diagonal on."""
    return [
        [_cell(view, i, i + k, count, shown) for k, count in enumerate(row)]
        for i, row in enumerate(view.rows)
    ]


def shades(view: FiltersView, shown: Cells) -> list[list[float | None]]:
    """How dark a cell is, [0, 1]: against the largest of all; ranks against the largest of the
    row, as only those are compared."""
    values = cells(view, shown)
    if shown != "rank":
        top = _top(cell for row in values for cell in row)
        return [[_part(cell, top) for cell in row] for row in values]
    return [[_part(cell, _top(row)) for cell in row] for row in values]


def component_data(view: FiltersView, shown: Cells) -> dict[str, Any]:
    """All that the drawing needs, as plain data."""
    check = view.check
    return {
        "query": view.query,
        "batch": view.batch,
        "n": view.n,
        "shown": shown,
        "cards": [card._asdict() for card in view.cards],
        "cells": cells(view, shown),
        "shades": shades(view, shown),
        "counts": view.rows,
        "reached": view.reached,
        "violated": [list(cell) for cell in view.violated],
        "move": list(check.move) if check and check.move else None,
        "moved": check is not None and check.verdict == "switched",
        "batches": list(view.batches) if view.batches else None,
    }


def window_batches(series: SeriesData | None, n: int) -> tuple[int, int] | None:
    """First and last batch of the newest ``n`` profile tuples. series: n_sampled by batch, or means
    of several."""
    if series is None or not n:
        return None
    last: int | None = None
    left = float(n)
    points = (series.batch, series.value, series.n)
    for batch, sampled, n_batches in zip(*(point[::-1].tolist() for point in points), strict=True):
        if sampled != sampled or sampled <= 0:
            continue
        last = batch if last is None else last
        left -= sampled * n_batches
        if left <= 0:
            return batch, last
    return None if last is None else (int(series.batch[0]), last)


def shown_of(value: str | None) -> Cells:
    """The view of the switch; anything unknown is the drop probability."""
    return cast(Cells, value) if value in get_args(Cells) else "drop"


def near_words(near: NearPair) -> str:
    """'known overtakes table if its drop probability rises by 0.060'."""
    return overtaking_words(near.challenger, near.incumbent, near.rise)


def plan_batches(plans: Sequence[PlanVersion]) -> list[int]:
    """First batches of the plans, for the marks of the scrubber."""
    return sorted({max(0, plan.batch) for plan in plans})


def _card(
    name: str,
    book: Book,
    own: float | None,
    reached: float | None,
    cost: float | None,
    native: bool,
) -> Card:
    entity = book.get(book.named("filter", name))
    text = str(entity.properties.get("text", "")) if entity else ""
    drop = own / reached if own is not None and reached else None
    rank = drop / cost if drop is not None and cost else None
    return Card(name, text, native, drop, cost, rank)


def _cell(
    view: FiltersView, row: int, column: int, count: float | None, shown: Cells
) -> float | None:
    if count is None or shown == "counts":
        return count
    reached, cost = view.reached[row], view.cards[column].cost
    if not reached:
        return None
    share = count / reached
    if shown == "drop":
        return share
    return share / cost if cost else None


def _violated(detail: Mapping[str, Any], n: int) -> list[tuple[int, int, int]]:
    violated = []
    for cell in detail.get("violated") or ():
        row, position, challenger = (int(place) - 1 for place in cell)
        if max(row, position, challenger) < n:
            violated.append((row, position, challenger))
    return violated


def _near(detail: Mapping[str, Any]) -> list[NearPair]:
    return [
        NearPair(
            str(pair.get("challenger", "")),
            str(pair.get("filter", "")),
            int(pair.get("position", 0)),
            number_of(pair.get("rise_prob")),
        )
        for pair in detail.get("near") or ()
    ]


def _check(decision: Decision, detail: Mapping[str, Any], order: Sequence[str]) -> CheckView:
    given = detail.get("pair")
    pair: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    move = None
    if pair.get("violated") and pair.get("filter") in order and pair.get("challenger") in order:
        move = (order.index(pair["challenger"]), order.index(pair["filter"]))
    return CheckView(
        seq=decision.seq,
        batch=decision.batch,
        verdict=decision.verdict,
        explanation=named(decision.explanation),
        move=move,
        pair=pair,
        tested=_tested(decision, detail, pair),
        predicted=(decision.predicted_old, decision.predicted_new),
    )


def _tested(decision: Decision, detail: Mapping[str, Any], pair: Mapping[str, Any]) -> str:
    """'0.0275 < 0.9 × 0.0325' with its outcome: the inequality that makes a violation."""
    outcome = "violated" if pair.get("violated") else "not violated"
    if not pair.get("n_reached"):
        return "No profile tuple reached this position: nothing to compare."
    if decision.algorithm == "optimal":
        alpha = digits(detail.get("alpha"))
        costs = f"{digits(decision.lhs)} < {alpha} × {digits(decision.predicted_old)} µs"
        return f"best order {costs}: {outcome}"
    if detail.get("rule") == "evidence":
        return f"Lower bound of the difference {digits(decision.rhs)}, to exceed 0: {outcome}"
    own, other = digits(pair.get("rank"), "∞"), digits(pair.get("challenger_rank"), "∞")
    return f"{own} < {digits(detail.get('alpha'))} × {other}: {outcome}"


def _stat(stats: Any, name: str, n: int) -> list[float | None]:
    values = list((stats or {}).get(name) or ())
    return [_number(value) for value in values] if len(values) == n else [None] * n


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _top(values: Iterable[float | None]) -> float:
    return max((value for value in values if value is not None), default=0.0)


def _part(value: float | None, top: float) -> float | None:
    return None if value is None else value / top if top else 0.0
