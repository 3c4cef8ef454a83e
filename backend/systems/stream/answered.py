"""How much each query of a network has answered so far, and every row of a small relation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import Changed, NetworkReport
from storage.vocabulary.records import Json, Matrix
from storage.vocabulary.relations import MOST_ROWS, Row, relation_matrix

#: A query and the batch it was registered at.
Start: TypeAlias = tuple[str, int]
#: Values that are kept for the time after a kill, of the smallest relations first.
_MOST_VALUES: Final = 8000


class AnsweredSoFar(NamedTuple):
    """Of a query. size: elements with sign + less those with sign -; rows: how often each row is in
    its relation, None = they are more than are recorded, or were since it was empty last."""

    size: int
    rows: Mapping[Row, int] | None

    def changed(self, net: int, changed: Changed) -> AnsweredSoFar:
        """After a batch."""
        size = self.size + net
        if not size:
            return _NOTHING
        if self.rows is None or changed is None or not 0 < size <= MOST_ROWS:
            return AnsweredSoFar(size, None)
        rows = Counter(self.rows)
        rows.update(dict(changed))
        is_known = min(rows.values(), default=0) >= 0 and rows.total() == size
        there = {row: n for row, n in rows.items() if n}
        return AnsweredSoFar(size, there if is_known else None)


_NOTHING: Final = AnsweredSoFar(0, {})


class AnswersSoFar:
    """By query and start; of a query that an earlier run began nothing is known."""

    def __init__(self, starts: Iterable[Start]) -> None:
        self._by_start = dict.fromkeys(starts, _NOTHING)

    def restore(self, facts: Mapping[str, Json], starts: Sequence[Start], batch: int) -> None:
        """What was known when the last batch was over. batch: queries that start there are new."""
        rows = {(name, since): own for name, since, own in facts.get("relations", ())}
        known = {(name, since): size for name, since, size in facts.get("sizes", ())}
        self._by_start = {
            start: AnsweredSoFar(known[start], _rows_of(rows.get(start), known[start]))
            for start in starts
            if start in known
        }
        self._by_start |= dict.fromkeys((s for s in starts if s[1] == batch), _NOTHING)

    def ran(self, report: NetworkReport) -> None:
        """A batch is over."""
        for start, so_far in self._by_start.items():
            query = start[0]
            net = report.net.get(query, 0)
            self._by_start[start] = so_far.changed(net, report.changed.get(query, ()))

    def keep(self, starts: Iterable[Start], before: Iterable[Start]) -> None:
        """The queries are others. before: those there were."""
        known = set(before)
        self._by_start = {
            start: self._by_start.get(start, _NOTHING)
            for start in starts
            if start in self._by_start or start not in known
        }

    def facts(self) -> dict[str, Json]:
        """As ``restore`` takes them; of the largest of many relations no rows."""
        known = self._by_start.items()
        rows = {start: so_far.rows for start, so_far in known if so_far.rows}
        kept, n_values = [], 0
        for start in sorted(rows, key=lambda start: len(rows[start])):
            n_values += sum(map(len, rows[start]))
            if n_values <= _MOST_VALUES:
                kept.append([*start, [[list(row), n] for row, n in rows[start].items()]])
        return {"sizes": [[*start, so_far.size] for start, so_far in known], "relations": kept}

    def size(self, start: Start) -> int | None:
        """None: not known."""
        so_far = self._by_start.get(start)
        return None if so_far is None else so_far.size

    def matrices(self, plan: NetworkPlan, starts: Iterable[Start]) -> list[Matrix]:
        """The rows of relations, for the record."""
        matrices = []
        for start in starts:
            answer, so_far = plan.answers[start[0]], self._by_start.get(start)
            if not answer.is_stream:
                columns = [field.name for field in plan.operator(answer.operator).fields]
                rows = None if so_far is None else so_far.rows
                matrices.append(relation_matrix(start[0], columns, rows))
        return matrices


def _rows_of(listed: Any, size: int) -> Mapping[Row, int] | None:
    if listed is None:
        return None if size else {}
    return {tuple(row): n for row, n in listed}
