"""The plan log spelt out, as a table that queries of people find beside the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from storage.reading import history, unit_history
from storage.reading.resume import Readable
from storage.tables.columns import dump_json
from storage.tables.looks import PlanLogs
from storage.tables.rows import StoredLook
from storage.vocabulary.planlog import ran_after

NAME: Final = "plan_log"
#: The newest looks of a run that are spelt out.
MOST_LOOKS: Final = 10_000
_NAMED: Final = re.compile(rf"\b{NAME}\b", re.IGNORECASE)


class SpeltTable(NamedTuple):
    """A table of one query. columns: with their types."""

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: list[tuple[Any, ...]]


_COLUMNS: Final = (
    *(("run_id", "TEXT"), ("unit_id", "TEXT"), ("decision", "BIGINT"), ("batch", "BIGINT")),
    *(("time", "DOUBLE PRECISION"), ("t", "BIGINT"), ("statistics", "TEXT"), ("plan", "TEXT")),
    *(("form", "TEXT"), ("region", "BIGINT"), ("switched", "BIGINT")),
    *(("predicted", "DOUBLE PRECISION"), ("measured", "DOUBLE PRECISION"), ("n_tuples", "BIGINT")),
    *(("deciding", "DOUBLE PRECISION"), ("switching", "DOUBLE PRECISION")),
    *(("rival", "TEXT"), ("saving", "DOUBLE PRECISION"), ("dwell", "DOUBLE PRECISION")),
    *(("cost_unit", "TEXT"), ("subject", "TEXT"), ("rival_predicted", "DOUBLE PRECISION")),
)


def subjects(store: Readable, run_id: str, unit: str | None) -> list[str]:
    """What is decided in the logs of a unit, or of all: '' by the only autopilot of its unit, else
    by name; that of most plans first."""
    with store.reading() as connection:
        return PlanLogs(connection, run_id, unit).subjects


def looks_of(
    store: Readable, run_id: str, until: int | None, unit: str | None, limit: int, subject: str
) -> tuple[StoredLook, ...]:
    """As Reader.looks(), of the logs of a subject."""
    with store.reading() as connection:
        return unit_history.looks(connection, run_id, until, unit, limit, subject)


def names_plan_log(text: str) -> bool:
    """Whether a query may read it."""
    return _NAMED.search(text) is not None


def spelt_log(connection: Connection) -> SpeltTable:
    """A row a look of every run: on the statistics S (JSON, name -> value) the plan was chosen."""
    rows: list[tuple[Any, ...]] = []
    for run in history.runs(connection):
        looks = unit_history.looks(connection, run.id, None, None, MOST_LOOKS)
        rows += ((run.id, *row) for row in _rows(looks))
    return SpeltTable(NAME, _COLUMNS, rows)


def _rows(looks: Sequence[StoredLook]) -> Iterator[tuple[Any, ...]]:
    forms: dict[str, Any] = {}
    for look, later in zip_longest(looks, looks[1:]):
        record = look.record
        forms |= {**record.get("plans", {}), **look.forms}
        same = later.record if later is not None and later.unit_id == look.unit_id else None
        n_tuples, measured = ran_after(record, same)
        chosen, schema = record["chosen"], record["schema"]
        names = [name for name, _ in schema["statistics"]]
        prices = {plan: cost for plan, cost, *_ in record["offers"]}
        yield (
            *(look.unit_id, look.seq, look.batch, look.time, record["t"]),
            dump_json(dict(zip(names, record["statistics"], strict=True))),
            *(chosen, dump_json(forms.get(chosen)), record["region"]),
            *(int(chosen != record["plan"]), prices.get(chosen, record["cost"]), measured),
            *(n_tuples, record["deciding"], record["switching"], record["rival"]),
            *(record["saving"], record["dwell"], schema["cost_unit"]),
            *(look.subject, prices.get(record["rival"])),
        )
