"""What is kept of old matrices, decisions and commits: what was decided, and why, stays.

A decision that changed a plan stays whole, and so does the matrix it was taken on; so do those of
the last batch at which a unit decided: they say what would change its plan next. Of the others both
sides, the verdict and what they would have been under other knobs stay; long lists go.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, bindparam, delete, func, select, update

from storage.tables.columns import dump_json
from storage.tables.schema import BatchRow, CommitRow, DecisionRow, MatrixRow
from storage.tables.units import units_in
from storage.vocabulary import registry
from storage.vocabulary.records import Json

Transaction: TypeAlias = Callable[[], AbstractContextManager[Connection]]

#: Key of a decision's detail: the names of what it had before it was rolled up.
ROLLED_UP: Final = "rolled_up"
#: Details of this length (characters of JSON) stay, and those that a vocabulary says to stay.
SHORT: Final = 256
#: Decisions read and written in one transaction, so that a batch waits a few milliseconds at most.
DECISIONS_PER_TRANSACTION: Final = 32

_MATRICES = MatrixRow.__table__.c
_DECISIONS = DecisionRow.__table__.c


class Tidied(NamedTuple):
    """The last batch that was tidied up, and when it was recorded (Unix s)."""

    batch: int
    time: float


def tidied_until(connection: Connection, run_id: str) -> Tidied:
    """How far tidying came, whichever process did it: up to the commits that it forgot, which it
    does last."""
    oldest = connection.execute(_OLDEST_COMMIT, {"of_run": run_id}).scalar()
    before = select(BatchRow.id, BatchRow.time).where(BatchRow.run_id == run_id)
    if oldest is not None:
        before = before.where(BatchRow.id < oldest)
    newest = connection.execute(before.order_by(BatchRow.id.desc()).limit(1)).first()
    return Tidied(-1, 0.0) if newest is None else Tidied(*newest)


def last_before(connection: Connection, run_id: str, time: float) -> int | None:
    """The last batch recorded before ``time`` (Unix s), None when there is none."""
    earlier = (BatchRow.run_id == run_id, BatchRow.time < time)
    last = connection.execute(
        select(BatchRow.id).where(*earlier).order_by(BatchRow.time.desc()).limit(1)
    )
    return last.scalar()


def thin_matrices(
    connection: Connection, run_id: str, since: float, before: float, length_s: int
) -> None:
    """Of matrices recorded in since..before (Unix s) keep the last one in every ``length_s``
    seconds, the first one of all, and the one that was the newest when a plan was changed."""
    statement = (
        select(_MATRICES.unit_id, _MATRICES.name, _MATRICES.batch_id, _MATRICES.time)
        .where(_MATRICES.run_id == run_id, _MATRICES.time >= since, _MATRICES.time < before)
        .order_by(_MATRICES.unit_id, _MATRICES.name, _MATRICES.batch_id)
    )
    matrices = connection.execute(statement).all()
    batches = [matrix.batch_id for matrix in matrices]
    changed = _changes(connection, run_id, min(batches), max(batches)) if len(matrices) > 1 else []
    first = _first_of_all(connection, run_id, matrices)
    superseded = [
        _key(run_id, matrix)
        for matrix, later in pairwise(matrices)
        if matrix not in first
        and (matrix.unit_id, matrix.name) == (later.unit_id, later.name)
        and matrix.time // length_s == later.time // length_s
        and bisect_left(changed, matrix.batch_id) == bisect_left(changed, later.batch_id)
    ]
    if superseded:
        connection.execute(_FORGET_MATRIX, superseded)


def _first_of_all(connection: Connection, run_id: str, matrices: Sequence[Any]) -> list[Any]:
    """Of matrices, sorted by their names, those with none of the name before them."""
    groups = groupby(matrices, key=lambda matrix: (matrix.unit_id, matrix.name))
    begins = [next(same) for _, same in groups]
    return [
        matrix
        for matrix in begins
        if not connection.execute(_EARLIER, _key(run_id, matrix)).first()
    ]


def _key(run_id: str, matrix: Any) -> dict[str, Any]:
    return {
        "of_run": run_id,
        "of_unit": matrix.unit_id,
        "of_name": matrix.name,
        "of_batch": matrix.batch_id,
    }


def _changes(connection: Connection, run_id: str, first: int, last: int) -> list[int]:
    """The batches first..last after which a plan was changed, in order."""
    switched = (_DECISIONS.run_id == run_id, _DECISIONS.verdict == "switched")
    within = _DECISIONS.batch.between(first, last)
    return sorted(connection.scalars(select(_DECISIONS.batch).where(*switched, within)))


def roll_up_decisions(transaction: Transaction, run_id: str, done: int, last: int) -> int:
    """Roll up the decisions up to batch ``last`` that changed nothing, but for those of the last
    batch at which their unit decided; how many. done: the batch an earlier call came to."""
    with transaction() as connection:
        units = units_in(connection, DecisionRow.__table__, run_id)
        keys = [
            (unit, seq)
            for unit in units
            for seq in _unchanging(connection, run_id, unit, done, last)
        ]
    n = 0
    for chunk in _chunks(keys, DECISIONS_PER_TRANSACTION):
        with transaction() as connection:
            n += _shorten(connection, run_id, chunk)
    return n


def _unchanging(
    connection: Connection, run_id: str, unit: str, done: int, last: int
) -> Sequence[int]:
    """The numbers of such decisions of a unit since the one that was its newest up to ``done``."""
    of_unit = {"of_run": run_id, "of_unit": unit}
    first = connection.execute(_DECIDED, {**of_unit, "upto": done}).scalar()
    newest = connection.execute(_DECIDED, {**of_unit, "upto": _FAR}).scalar_one()
    bounds = {"first": done if first is None else first, "last": min(last, newest - 1)}
    return connection.scalars(_UNCHANGING, {**of_unit, **bounds}).all()


def _shorten(connection: Connection, run_id: str, keys: Sequence[tuple[str, int]]) -> int:
    rows = []
    for unit, seq in keys:
        key = {"of_run": run_id, "of_unit": unit, "of_seq": seq}
        short = rolled_up(connection.execute(_DETAIL, key).scalar_one())
        if short is not None:
            rows.append({**key, "short": short})
    if rows:
        connection.execute(_PUT_DETAIL, rows)
    return len(rows)


def rolled_up(detail: Json) -> dict[str, Json] | None:
    """What stays of the detail of a decision that changed nothing, and under ``rolled_up`` the
    names of what went; None when all of it stays."""
    if not isinstance(detail, Mapping) or ROLLED_UP in detail:
        return None
    staying = registry.KNOWN.staying_parts
    kept = {k: v for k, v in detail.items() if k in staying or len(dump_json(v)) <= SHORT}
    if len(kept) == len(detail):
        return None
    return {**kept, ROLLED_UP: sorted(detail.keys() - kept.keys())}


def forget_commits(connection: Connection, run_id: str, last: int) -> None:
    """Forget the commits of batches up to ``last``: nobody follows along from so far behind."""
    newest = connection.execute(_NEWEST_COMMIT, {"of_run": run_id}).scalar()
    mine = (CommitRow.run_id == run_id, CommitRow.batch_id <= last, CommitRow.id != newest)
    connection.execute(delete(CommitRow).where(*mine))


def _chunks(keys: Sequence[Any], length: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(keys), length):
        yield keys[start : start + length]


_FAR: Final = 2**62
_OF_UNIT: Final = (
    _DECISIONS.run_id == bindparam("of_run"),
    _DECISIONS.unit_id == bindparam("of_unit"),
)
_OF_DECISION: Final = (*_OF_UNIT, _DECISIONS.seq == bindparam("of_seq"))
_DECIDED: Final = select(func.max(_DECISIONS.batch)).where(
    *_OF_UNIT, _DECISIONS.batch <= bindparam("upto")
)
_UNCHANGING: Final = select(_DECISIONS.seq).where(
    *_OF_UNIT,
    _DECISIONS.batch.between(bindparam("first"), bindparam("last")),
    _DECISIONS.verdict != "switched",
)
_DETAIL: Final = select(_DECISIONS.detail).where(*_OF_DECISION)
_PUT_DETAIL: Final = (
    update(DecisionRow.__table__)  # type: ignore[arg-type]  # typed as FromClause
    .where(*_OF_DECISION)
    .values(detail=bindparam("short"))
)
_NEWEST_COMMIT: Final = select(func.max(CommitRow.id)).where(
    CommitRow.run_id == bindparam("of_run")
)
_OLDEST_COMMIT: Final = select(func.min(CommitRow.batch_id)).where(
    CommitRow.run_id == bindparam("of_run"), CommitRow.batch_id >= 0
)
_OF_NAME: Final = (
    MatrixRow.run_id == bindparam("of_run"),
    MatrixRow.unit_id == bindparam("of_unit"),
    MatrixRow.name == bindparam("of_name"),
)
_EARLIER: Final = (
    select(MatrixRow.batch_id).where(*_OF_NAME, MatrixRow.batch_id < bindparam("of_batch")).limit(1)
)
_FORGET_MATRIX: Final = delete(MatrixRow).where(
    *_OF_NAME, MatrixRow.batch_id == bindparam("of_batch")
)
