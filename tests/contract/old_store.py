"""A store as the first version wrote it, with a run of filters added, on either database."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import psycopg

PATH = Path(__file__).parents[1] / "golden" / "store_v1.db"
FILTER_GRAPH = {
    "nodes": [
        {"id": "op:source", "kind": "source", "label": "Packets"},
        {"id": "filter:big", "kind": "filter", "label": "big"},
        {"id": "filter:table", "kind": "filter", "label": "table"},
        {"id": "op:output", "kind": "output", "label": "Output"},
    ],
    "edges": [
        {"source": "op:source", "target": "filter:big", "queue": "queue:source"},
        {"source": "filter:big", "target": "filter:table", "queue": "queue:table"},
        {"source": "filter:table", "target": "op:output", "queue": "queue:output"},
    ],
    "split": 1,
}
_START = 1_800_000_100.0
_ENTITIES = (
    ("system", "system"),
    ("op:source", "operator"),
    ("op:output", "operator"),
    ("queue:source", "queue"),
    ("queue:table", "queue"),
    ("filter:big", "operator"),
    ("filter:table", "operator"),
    ("monitor:profile", "monitor"),
    ("race:sweep", "monitor"),
    ("query:q", "query"),
)
_SAMPLES = (
    ("system", "backlog_tuples", 7.0),
    ("queue:source", "size_tuples", 7.0),
    ("queue:table", "size_tuples", 30.0),
)


def write(address: str) -> None:
    """Write the old store to an address that is empty."""
    if "://" not in address:
        shutil.copy(PATH, address)
        with sqlite3.connect(address) as connection:
            for table, row in _filter_run():
                marks = ", ".join("?" * len(row))
                names = ", ".join(f'"{name}"' for name in row)
                connection.execute(
                    f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values())
                )
        connection.close()
        return
    with psycopg.connect(address) as server:
        _copy(server)
        for table, row in _filter_run():
            _insert(server, table, row)


def _copy(server: psycopg.Connection[Any]) -> None:
    """The tables and rows of the file, in the words of PostgreSQL."""
    file = sqlite3.connect(f"{PATH.as_uri()}?immutable=1", uri=True)
    file.row_factory = sqlite3.Row
    made = file.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL ORDER BY rowid")
    tables = []
    for name, sql in made.fetchall():
        if name == "sqlite_sequence":
            continue
        words = sql.replace("INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT", "BIGSERIAL PRIMARY KEY")
        words = re.sub(r"^\tid INTEGER NOT NULL", "\tid BIGSERIAL NOT NULL", words, flags=re.M)
        words = re.sub(r"^\t(series_id|command) INTEGER", r"\t\1 BIGINT", words, flags=re.M)
        words = words.replace("DOUBLE", "DOUBLE PRECISION").replace("WITHOUT ROWID", "")
        server.execute(words)
        if sql.startswith("CREATE TABLE"):
            tables.append(name)
    for table in tables:
        for row in file.execute(f"SELECT * FROM {table}"):
            _insert(server, table, dict(row))
        names = [column[1] for column in file.execute(f"PRAGMA table_info({table})")]
        if table in ("commands", "commits", "events", "misfits", "series"):
            assert "id" in names
            server.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"
            )
    server.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    server.execute("INSERT INTO meta VALUES ('schema_version', '1')")
    file.close()


def _insert(server: psycopg.Connection[Any], table: str, row: dict[str, Any]) -> None:
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join(["%s"] * len(row))
    server.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))


def _filter_run() -> list[tuple[str, dict[str, Any]]]:
    """Rows of a second run: pipelined filters, queues, a decision held back, knobs."""
    run = {"run_id": "packets"}
    rows: list[tuple[str, dict[str, Any]]] = [
        (
            "runs",
            {
                "id": "packets", "workload": "packets", "stream": "Packets", "state": "failed",
                "started_at": _START, "ended_at": _START + 9, "heartbeat_at": _START + 3,
                "schema": '[["n","int"]]', "settings": '{"source":{"format":"packets"}}',
                "pid": 1, "host": "h", "version": "0.1.0", "note": "the disk is full",
            },
        ),
    ]  # fmt: skip
    for id, kind in _ENTITIES:
        facts = {"kind": kind, "name": id.partition(":")[2] or id, "properties": "{}", "query": ""}
        rows.append(("entities", {**run, "id": id, "batch_id": -1, **facts, "since_batch": 0}))
    batch = {"duration_ms": 5.0, "n_tuples": 40, "n_matched": 3, "n_misfits": 1, "plan_version": 1}
    for number in (0, 1):
        place = {**run, "id": number, "time": _START + 1 + number}
        rows.append(("batches", {**place, **batch, "stream_time": "t", "timings_ms": "{}"}))
    for number, (entity, name, value) in enumerate(_SAMPLES, start=101):
        series = {**run, "id": number, "entity_id": entity, "property": name, "unit": "tuples"}
        rows.append(("series", series))
        point = {"series_id": number, "batch_id": 1, "time": _START + 2, "value": value}
        rows += [("samples", point), ("latest", point)]
    plan = {**run, "version": 1, "batch": 0, "time": _START, "kind": "early drop"}
    plan |= {"order": '["filter:big","filter:table"]', "graph": json.dumps(FILTER_GRAPH)}
    rows.append(("plan_versions", {**plan, "hash": "h", "reason": "first", "evidence": "{}"}))
    for kind in ("suppressed", "restart", "algorithm", "knob"):
        event = {**run, "batch_id": 0, "time": _START + 1, "kind": kind, "title": kind}
        rows.append(("events", {**event, "detail": "", "severity": "info", "ref": "{}"}))
    for name, entity in (("rate", "op:source"), ("alpha", "system")):
        knob = {**run, "name": name, "version": 0, "batch": 0, "time": _START, "kind": "float"}
        knob |= {"value": "1", "default": "1", "unit": "", "help": "", "scale": "linear"}
        rows.append(("knobs", {**knob, "choices": "[]", "entity": entity}))
    return rows
