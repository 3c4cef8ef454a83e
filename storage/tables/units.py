"""The units of a run with rows in a table."""

from __future__ import annotations

from sqlalchemy import Connection, FromClause, func, select


def units_in(
    connection: Connection, table: FromClause, run_id: str, unit: str | None = None
) -> list[str]:
    """The units with rows in a table (or the one asked for); hops from key to key."""
    if unit is not None:
        return [unit]
    units: list[str] = []
    first = select(func.min(table.c.unit_id)).where(table.c.run_id == run_id)
    name = connection.execute(first).scalar()
    while name is not None:
        units.append(name)
        name = connection.execute(first.where(table.c.unit_id > name)).scalar()
    return sorted(units)
