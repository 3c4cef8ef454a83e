"""Queries on the store with the records behind a panel: ``Panel.sql``, linked to the SQL page.

They may name ``:run`` and ``:at``, the run and the batch on screen.
"""

from __future__ import annotations

from typing import Final

#: Samples are asked for by stretch: those of hours would take longer than the page allows.
LAST_BATCHES: Final = 100

RUNS: Final = """SELECT * FROM runs
ORDER BY started_at DESC"""
DECISIONS: Final = """SELECT * FROM decisions
WHERE run_id = :run AND batch <= :at
ORDER BY batch DESC, unit_id, seq DESC"""
LOOKS: Final = """SELECT * FROM plan_log
WHERE run_id = :run AND batch <= :at
ORDER BY batch DESC, unit_id, decision DESC"""
PLANS: Final = """SELECT unit_id, version, batch, kind, "order", reason FROM plan_versions
WHERE run_id = :run AND batch <= :at
ORDER BY unit_id, version"""
EVENTS: Final = """SELECT * FROM events
WHERE run_id = :run AND batch_id <= :at
ORDER BY id DESC"""
REQUESTS: Final = """SELECT c.*, a.state, a.applied_batch, a.answer
FROM commands c LEFT JOIN command_answers a ON a.command = c.id
WHERE c.run_id = :run
ORDER BY c.id DESC"""
TAPS: Final = """SELECT batch_id, unit_id, entity, n_passed, columns, rows FROM taps
WHERE run_id = :run AND batch_id <= :at
ORDER BY batch_id DESC, unit_id, entity"""
BATCHES: Final = """SELECT * FROM batches
WHERE run_id = :run AND id <= :at
ORDER BY id DESC"""
INPUT_BATCHES: Final = """SELECT * FROM input_batches
WHERE run_id = :run AND batch_id <= :at
ORDER BY batch_id DESC, input"""
RESULTS: Final = """SELECT q.query, r.batch_id, r.input, r.cells
FROM result_queries q JOIN results r ON r.run_id = q.run_id AND r.id = q.result_id
WHERE q.run_id = :run AND r.batch_id <= :at
ORDER BY r.id DESC"""
LOG: Final = """SELECT * FROM log_lines
WHERE run_id = :run
ORDER BY id DESC"""
MISFITS: Final = """SELECT * FROM misfits
WHERE run_id = :run AND batch_id <= :at
ORDER BY id DESC"""


def requests(kind: str) -> str:
    """What people asked for or wrote down, of one kind of command."""
    return f"""SELECT * FROM commands
WHERE run_id = :run AND kind = '{kind}'
ORDER BY id DESC"""


def matrices(*kinds: str) -> str:
    """The matrices of these kinds, newest first."""
    return f"""SELECT * FROM matrices
WHERE run_id = :run AND kind IN ({_listed(kinds)}) AND batch_id <= :at
ORDER BY batch_id DESC, unit_id, name"""


def samples(*roles: str, like: str = "") -> str:
    """What was sampled lately, newest first: of the entities of these roles, of properties ``like``
    a pattern; of the system when neither is given."""
    whose = "s.entity_id = 'system'"
    if roles:
        whose = f"""s.entity_id IN
  (SELECT id FROM entities WHERE run_id = :run AND role IN ({_listed(roles)}))"""
    elif like:
        whose = f"s.property LIKE '{like}'"
    return f"""SELECT p.batch_id, p.time, s.entity_id, s.property, p.value, s.unit
FROM series s JOIN samples p ON p.series_id = s.id
WHERE s.run_id = :run AND {whose}
  AND p.batch_id BETWEEN :at - {LAST_BATCHES} AND :at
UNION ALL -- older ones: the last value in every ten seconds
SELECT r.batch_id, r.time, s.entity_id, s.property, r.last, s.unit
FROM series s JOIN rollups r ON r.series_id = s.id AND r.resolution_s = 10
WHERE s.run_id = :run AND {whose}
  AND r.batch_id BETWEEN :at - {LAST_BATCHES} AND :at
ORDER BY 1 DESC, 3, 4"""


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)
