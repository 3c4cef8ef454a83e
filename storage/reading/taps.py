"""What went through tapped operators."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from storage.tables import decode
from storage.tables.rows import StoredTap
from storage.tables.schema import TapRow

_TAPS = TapRow.__table__.c


def taps(connection: Connection, run_id: str, entity: str, batch_id: int) -> tuple[StoredTap, ...]:
    """As Reader.taps()."""
    mine = _TAPS.run_id == run_id, _TAPS.entity == entity
    before = select(func.max(_TAPS.batch_id)).where(*mine, _TAPS.batch_id <= batch_id)
    after = select(func.min(_TAPS.batch_id)).where(*mine, _TAPS.batch_id > batch_id)
    tapped = [connection.execute(statement).scalar() for statement in (before, after)]
    nearest = min(
        (at for at in tapped if at is not None), key=lambda at: abs(at - batch_id), default=None
    )
    if nearest is None:
        return ()
    statement = select(TapRow.__table__).where(_TAPS.run_id == run_id, _TAPS.batch_id == nearest)
    return tuple(
        decode.tap(row)
        for row in connection.execute(statement.order_by(_TAPS.unit_id, _TAPS.entity))
    )
