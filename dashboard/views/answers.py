"""The relation a query answers, as far as its last changes tell, and how its answer went on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from dashboard.views.numbers import known
from dashboard.views.plan import points
from dashboard.views.results import cell_text, whole_of
from storage.tables.rows import SeriesData, StoredMatrix, StoredResult
from storage.vocabulary.records import SIGN, TAU
from storage.vocabulary.relations import rows_in

#: What a query did batch by batch: elements of an answer, or tuples that were selected.
CHANGES: Final = ("answer_tuples", "matched_tuples")
Row: TypeAlias = tuple[str | None, ...]


class RelationView(NamedTuple):
    """Tuples that are in the relation for certain, and how often. size: of the relation, None =
    not known. whole: these are all."""

    columns: list[str]
    rows: list[tuple[Row, int]]
    size: int | None
    whole: bool

    @property
    def n_known(self) -> int:
        """Tuples that are in it for certain."""
        return sum(n for _, n in self.rows)


class AnswerView(NamedTuple):
    """How an answer went on. property: of the query; points: (batch, value). relation: None for a
    stream."""

    entity: str
    property: str
    points: list[tuple[int, float | None]]
    relation: RelationView | None


def build_answer(
    entity: str,
    is_relation: bool,
    results: Sequence[StoredResult],
    series: Mapping[tuple[str, str], SeriesData],
    size: float | None,
    at: int | None = None,
    stored: StoredMatrix | None = None,
) -> AnswerView:
    """The answer of a query. results: newest first; size: of the relation at the batch shown, which
    is ``at``; stored: its rows as recorded last up to there, and series from then on."""
    name = next((change for change in CHANGES if (entity, change) in series), CHANGES[0])
    relation = None
    if is_relation:
        elements = [result for result in results if SIGN in result.values]
        newest = _last_in_a_row(elements, series.get((entity, CHANGES[0])))
        number = int(size) if size is not None and known(size) else None
        relation = _stored_relation(stored, series.get((entity, CHANGES[0])))
        relation = relation or build_relation(newest, number)
    return AnswerView(entity, name, _course(series.get((entity, name)), at), relation)


def _stored_relation(
    stored: StoredMatrix | None, changed: SeriesData | None
) -> RelationView | None:
    """Every row, as recorded. None where they are not, or changed since: with time only the last
    record of a minute is kept."""
    known_rows = None if stored is None else rows_in(stored.matrix)
    if stored is None or known_rows is None:
        return None
    if changed is not None and changed.value[changed.batch > stored.batch].any():
        return None
    columns, rows = known_rows
    texts = [(tuple(map(cell_text, row)), n) for row, n in rows]
    return RelationView(columns, _in_order(texts), stored.matrix.n, True)


def _in_order(rows: Iterable[tuple[Row, int]]) -> list[tuple[Row, int]]:
    """NULL first."""
    return sorted(rows, key=lambda pair: tuple((cell is not None, cell or "") for cell in pair[0]))


def _course(changed: SeriesData | None, at: int | None) -> list[tuple[int, float | None]]:
    """The points up to batch ``at``: 0 in batches without any, where points are batches."""
    course = points(changed)
    if changed is None or at is None or not course or max(changed.n.tolist()) > 1:
        return course
    own = dict(course)
    return [(batch, own.get(batch, 0)) for batch in range(course[0][0], at + 1)]


def build_relation(changes: Sequence[StoredResult], size: int | None) -> RelationView:
    """What is in a relation after its last changes, newest first, none of them missing.

    However often a tuple came more than it went since any of these changes, so often it is there
    at least. When these come to as many as there are, they are all.
    """
    names = {name: None for change in changes for name in change.values if name not in (SIGN, TAU)}
    columns, net, least = list(names), Counter[Row](), Counter[Row]()
    for result in changes:
        row = tuple(cell_text(result.values.get(name)) for name in columns)
        net[row] += whole_of(result, SIGN)
        least[row] = max(least[row], net[row])
    rows = _in_order((row, n) for row, n in least.items() if n > 0)
    return RelationView(columns, rows, size, size == sum(n for _, n in rows))


def told_columns(names: Sequence[str], intervals: Container[str]) -> list[tuple[int, bool]]:
    """The places of columns to show, and whether each is an estimate: those with the ends of its
    interval are left out, as they are told with it."""
    estimates = [
        k
        for k, name in enumerate(names)
        if name in intervals and list(names[k + 1 : k + 3]) == [f"{name}_low", f"{name}_high"]
    ]
    ends = {place for k in estimates for place in (k + 1, k + 2)}
    return [(k, k in estimates) for k in range(len(names)) if k not in ends]


def _last_in_a_row(
    results: Sequence[StoredResult], changed: SeriesData | None
) -> list[StoredResult]:
    """The newest results up to the first that is not stored. changed: elements a batch."""
    n_of = {} if changed is None else _changes_of(changed)
    newest = max((batch for batch, n in n_of.items() if n), default=None)
    last: list[StoredResult] = []
    for batch, group in groupby(results, key=lambda result: result.batch):
        stored = list(group)
        if batch != newest:
            break
        last += stored
        if len(stored) < n_of.get(batch, 0):
            break
        newest = max((b for b, n in n_of.items() if n and b < batch), default=None)
    return last


def _changes_of(changed: SeriesData) -> dict[int, float]:
    """Batch -> elements of the answer; without end where several batches are one point."""
    points = zip(changed.batch.tolist(), changed.value.tolist(), changed.n.tolist(), strict=True)
    return {batch: value if n == 1 and known(value) else float("inf") for batch, value, n in points}
