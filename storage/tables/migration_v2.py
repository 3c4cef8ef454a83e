"""From layout 1 to layout 2: inputs and units get tables, units and scopes get into keys.

A run of layout 1 read one stream and had one unit, an ASC or an A-Greedy one: which, the ids of its
plan's operators tell, here and nowhere else. Tables are written out, as later layouts change them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    MetaData,
    Row,
    Table,
    Text,
    text,
)

_TYPES: Final = {"t": Text, "i": BigInteger, "f": Double}
#: Table -> its key behind run_id, and its columns as name:type, a ? where NULL is allowed.
_TABLES: Final = {
    "inputs": ("name", "name:t place:i schema:t source:t timestamp:t state:t note:t"),
    "units": (
        "id",
        "id:t system:t title:t inputs:t queries:t since_batch:i removed_batch:i?",
    ),
    "input_batches": (
        "batch_id input",
        "batch_id:i input:t n_tuples:i n_misfits:i backlog_tuples:i? stream_time:t state:t note:t",
    ),
    "plan_versions": (
        "unit_id version",
        "unit_id:t version:i batch:i time:f kind:t order:t graph:t hash:t reason:t decision:i? "
        "evidence:t",
    ),
    "decisions": (
        "unit_id seq",
        "unit_id:t seq:i batch:i time:f algorithm:t kind:t verdict:t metric:t lhs:f? relation:t "
        "rhs:f? n:i n_sample:i knob_version:i explanation:t old:t new:t predicted_old:f? "
        "predicted_new:f? plan_version:i? detail:t",
    ),
    "decision_outcomes": (
        "unit_id decision",
        "unit_id:t decision:i batch:i time:f actual_new:f? n:i sample_new:f? "
        "counterfactual_old:f? n_sample:i",
    ),
    "matrices": (
        "unit_id name batch_id",
        "unit_id:t name:t batch_id:i time:f kind:t rows:t columns:t cells:t unit:t n:i "
        "row_stats:t column_stats:t",
    ),
    "knobs": (
        "scope name version",
        "scope:t name:t version:i batch:i time:f kind:t value:t default:t unit:t help:t low:f? "
        "high:f? scale:t choices:t entity:t",
    ),
}
_INDEXES: Final = {
    "plan_versions_by_batch": ("plan_versions", "run_id batch unit_id version"),
    "decisions_by_batch": ("decisions", "run_id batch seq unit_id"),
    "decisions_of_unit": ("decisions", "run_id unit_id batch seq"),
    "decisions_by_verdict": ("decisions", "run_id verdict batch seq unit_id"),
}
_OLD_INDEXES: Final = ("plan_versions_by_batch", "decisions_by_batch", "decisions_by_verdict")
#: Rebuilt table -> what its new key column is made of, of the old row o and the unit u.
_REBUILT: Final = {
    "plan_versions": ("unit_id", "u.id"),
    "decisions": ("unit_id", "u.id"),
    "decision_outcomes": ("unit_id", "u.id"),
    "matrices": ("unit_id", "u.id"),
    "knobs": ("scope", "CASE WHEN o.entity = 'op:source' THEN '' ELSE u.id END"),
}
_UNIT: Final = "(SELECT u.id FROM units u WHERE u.run_id = {table}.run_id)"
_STREAM: Final = "(SELECT i.name FROM inputs i WHERE i.run_id = {table}.run_id)"
_ADDED: Final = (
    "entities ADD COLUMN unit_id TEXT DEFAULT '' NOT NULL",
    "entities ADD COLUMN role TEXT DEFAULT '' NOT NULL",
    "events ADD COLUMN unit_id TEXT DEFAULT '' NOT NULL",
    "results ADD COLUMN input TEXT DEFAULT '' NOT NULL",
    "misfits ADD COLUMN input TEXT DEFAULT '' NOT NULL",
    "batches ADD COLUMN plans TEXT DEFAULT '{}' NOT NULL",
)
_DROPPED: Final = (
    "runs DROP COLUMN stream",
    "runs DROP COLUMN schema",
    "batches DROP COLUMN plan_version",
)
_INPUT_BATCHES: Final = """
INSERT INTO input_batches
SELECT b.run_id, b.id, r.stream, b.n_tuples, b.n_misfits, CAST(p.value AS BIGINT), b.stream_time,
       'open', ''
FROM batches b JOIN runs r ON r.id = b.run_id
LEFT JOIN series s
  ON s.run_id = b.run_id AND s.entity_id = 'system' AND s.property = 'backlog_tuples'
LEFT JOIN samples p ON p.series_id = s.id AND p.batch_id = b.id"""
_UPDATES: Final = (
    """UPDATE entities SET role = CASE
         WHEN id = 'op:source' THEN 'source' WHEN id = 'op:output' THEN 'output'
         WHEN id = 'monitor:profile' THEN 'profile' WHEN id LIKE 'race:%' THEN 'race'
         WHEN id LIKE 'asc:%' THEN 'selection' WHEN id LIKE 'filter:%' THEN 'filter'
         WHEN kind IN ('query', 'queue', 'system') THEN kind ELSE '' END""",
    f"""UPDATE entities SET unit_id = {_UNIT.format(table="entities")}
        WHERE role NOT IN ('system', 'source', 'output') AND id <> 'queue:source'""",
    """UPDATE events SET kind = CASE WHEN kind = 'suppressed' THEN 'held back'
         WHEN kind IN ('rearrangement', 'knob', 'query', 'misfit', 'change', 'algorithm') THEN kind
         ELSE 'run' END""",
    f"""UPDATE events SET unit_id = {_UNIT.format(table="events")}
        WHERE kind IN ('rearrangement', 'held back', 'change', 'algorithm')""",
    f"UPDATE results SET input = {_STREAM.format(table='results')}",
    f"UPDATE misfits SET input = {_STREAM.format(table='misfits')}",
    """UPDATE series SET property = 'flow_tuples'
       WHERE property = 'size_tuples' AND entity_id <> 'queue:source'""",
)
_WRITE_GRAPH: Final = """UPDATE plan_versions SET graph = :graph
WHERE run_id = :run AND unit_id = :unit AND version = :version"""
_WRITE_RAN: Final = """UPDATE batches SET plans = :before || CAST(plan_version AS TEXT) || '}'
WHERE run_id = :run"""
_ROLES: Final = {"op:source": "source", "op:output": "output"}
_TITLES: Final = {"asc": "Selections", "agreedy": "Filters"}


def climb(connection: Connection) -> None:
    """Rewrite a store of layout 1 as layout 2, within the caller's transaction."""
    tables = _tables()
    for name in ("inputs", "units", "input_batches"):
        tables[name].create(connection)
    units = _write_runs(connection, tables)
    connection.execute(text(_INPUT_BATCHES))
    for index in _OLD_INDEXES:
        connection.execute(text(f"DROP INDEX {index}"))
    for name in _REBUILT:
        _rebuild(connection, tables[name])
    for change in _ADDED:
        connection.execute(text(f"ALTER TABLE {change}"))
    for statement in _UPDATES:
        connection.execute(text(statement))
    _write_plans(connection, tables["plan_versions"], units)
    for change in _DROPPED:
        connection.execute(text(f"ALTER TABLE {change}"))


def _tables() -> dict[str, Table]:
    data = MetaData()
    Table("runs", data, Column("id", Text, primary_key=True))
    for name, (key, columns) in _TABLES.items():
        run = Column("run_id", Text, ForeignKey("runs.id"), primary_key=True)
        Table(name, data, run, *(_column(one, key.split()) for one in columns.split()))
    for name, (table, columns) in _INDEXES.items():
        Index(name, *(data.tables[table].c[column] for column in columns.split()))
    return dict(data.tables)


def _column(described: str, key: Iterable[str]) -> Column[Any]:
    name, kind = described.split(":")
    nullable = kind.endswith("?")
    return Column(name, _TYPES[kind[0]], primary_key=name in key, nullable=nullable)


def _write_runs(connection: Connection, tables: Mapping[str, Table]) -> dict[str, str]:
    """An input and a unit for each run; run -> id of its unit."""
    inputs, units = [], []
    for run in connection.execute(text("SELECT id, stream, schema, settings FROM runs")).all():
        source = json.loads(run.settings).get("source")
        facts = json.dumps(source if isinstance(source, dict) else {}, separators=(",", ":"))
        row = {"run_id": run.id, "place": 0, "timestamp": "", "state": "open", "note": ""}
        inputs.append({**row, "name": run.stream, "schema": run.schema, "source": facts})
        units.append(_unit(connection, run))
    if units:
        connection.execute(tables["inputs"].insert(), inputs)
        connection.execute(tables["units"].insert(), units)
    return {unit["run_id"]: unit["id"] for unit in units}


def _unit(connection: Connection, run: Row[Any]) -> dict[str, Any]:
    of_run = {"run": run.id}
    graphs = connection.execute(
        text("SELECT graph FROM plan_versions WHERE run_id = :run"), of_run
    ).scalars()
    nodes = [node["id"] for graph in graphs for node in json.loads(graph).get("nodes", ())]
    entities = connection.execute(
        text(
            "SELECT id, kind, name, removed_batch FROM entities WHERE run_id = :run "
            "ORDER BY batch_id, id"
        ),
        of_run,
    ).all()
    known = nodes or [entity.id for entity in entities]
    system = "agreedy" if any(id.startswith("filter:") for id in known) else "asc"
    newest = {entity.id: entity for entity in entities if entity.kind == "query"}
    queries = [entity.name for entity in newest.values() if entity.removed_batch is None]
    return {
        "run_id": run.id,
        "id": f"{system}.{run.stream}",
        "system": system,
        "title": f"{_TITLES[system]} on {run.stream}",
        "inputs": _dump([run.stream]),
        "queries": _dump(queries),
        "since_batch": 0,
        "removed_batch": None,
    }


def _rebuild(connection: Connection, table: Table) -> None:
    name = table.name
    column, value = _REBUILT[name]
    old = f"{name}_v1"
    connection.execute(text(f"ALTER TABLE {name} RENAME TO {old}"))
    table.create(connection)
    kept = [f'"{c.name}"' for c in table.columns if c.name != column]
    connection.execute(
        text(
            f"INSERT INTO {name} ({column}, {', '.join(kept)}) "
            f"SELECT {value}, {', '.join(f'o.{one}' for one in kept)} "
            f"FROM {old} o JOIN units u ON u.run_id = o.run_id"
        )
    )
    connection.execute(text(f"DROP TABLE {old}"))


def _write_plans(connection: Connection, plans: Table, units: Mapping[str, str]) -> None:
    """Graphs in the form with roles and names; the plan of a batch as that of its unit."""
    columns = (plans.c.run_id, plans.c.unit_id, plans.c.version, plans.c.graph)
    found = connection.execute(plans.select().with_only_columns(*columns)).all()
    names = ("run", "unit", "version", "graph")
    rows = [dict(zip(names, (*row[:3], _graph(json.loads(row[3]))), strict=True)) for row in found]
    if rows:
        connection.execute(text(_WRITE_GRAPH), rows)
    for run, unit in units.items():
        connection.execute(text(_WRITE_RAN), {"run": run, "before": _dump({unit: 0})[:-2]})


def _graph(old: Mapping[str, Any]) -> str:
    if "nodes" not in old:
        return _dump(old)
    steps = [node["id"] for node in old["nodes"] if node["id"] not in _ROLES]
    native = set(steps[: old.get("split", 0)])
    nodes = []
    for node in old["nodes"]:
        id = node["id"]
        role = _ROLES.get(id, "filter" if id.startswith("filter:") else "selection")
        new = {"id": id, "role": role, "name": node["label"].removeprefix("σ").strip()}
        if role == "filter":
            runs_in = "expression" if id in native else "Arrow operator"
            new["properties"] = {"runs_in": runs_in}
        nodes.append(new)
    return _dump({"nodes": nodes, "edges": old.get("edges", [])})


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
