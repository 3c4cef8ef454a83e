"""The post-mortem of a run from the store: the story, and all that the page to hand out needs."""

from __future__ import annotations

from typing import Any, Final

from dashboard.views.book import SYSTEM, Book, by_property
from dashboard.views.compare import NUMBERS
from dashboard.views.events import names, titled
from dashboard.views.numbers import known
from dashboard.views.postmortem import Story, tell
from dashboard.views.regret import PROPERTIES, build_regret
from storage.reader import Reader
from storage.rows import DecisionEntry, SeriesData
from storage.vocabulary.records import PlanVersion, Run

MOST_EVENTS: Final = 5000
MOST_DECISIONS: Final = 1000
#: Points of a line of the page to hand out, and of a number of a part of the plan.
LINE_POINTS: Final = 2000
PART_POINTS: Final = 300
#: Numbers of parts of the plan the page has.
PART_NUMBERS: Final = ("drop_prob", "reached_tuples", "size_tuples", "cost_us")


def story_of(reader: Reader, run: Run, until: int | None = None) -> Story:
    """The story up to a batch."""
    last = until if until is not None else reader.last_batch(run.id)
    first = reader.batches(run.id, None, last, 1) if last is not None else ()
    begin = reader.batch(run.id, 0) or (first[0] if first else None)
    ends = (begin, first[0]) if first and begin is not None else None
    plans = reader.plans(run.id, last)
    events = titled(reader.events(run.id, until=last, limit=MOST_EVENTS), plans)
    entities = Book(reader.entities(run.id, last))
    keys = entities.owners(PROPERTIES)
    ledger = build_regret(by_property(reader.many_series(run.id, keys, until_batch=last)))
    return tell(
        run,
        ends,
        events,
        _switches(reader, run.id, last),
        reader.noted("note", run.id),
        ledger.verdict,
        reader.values(run.id, last).get(SYSTEM, {}),
    )


def _switches(reader: Reader, run: str, until: int | None) -> tuple[DecisionEntry, ...]:
    return reader.decisions(run, until=until, verdicts=("switched",), limit=MOST_DECISIONS)


def records_of(reader: Reader, run: Run) -> dict[str, Any]:
    """All that the page to hand out shows, as JSON data."""
    story = story_of(reader, run)
    plans = reader.plans(run.id)
    entities = Book(reader.entities(run.id))
    lines = reader.many_series(run.id, [(SYSTEM, name) for name in NUMBERS], max_points=LINE_POINTS)
    parts = list(dict.fromkeys(node["id"] for p in plans for node in p.graph.get("nodes", ())))
    keys = [(part, name) for part in parts for name in PART_NUMBERS]
    found = reader.many_series(run.id, keys, max_points=PART_POINTS)
    decisions = reader.decisions(run.id, limit=MOST_DECISIONS)
    units = {unit.id: unit.title for unit in reader.units(run.id)}
    return {
        "run": {"id": run.id, "workload": run.workload, "state": run.state},
        "opening": story.opening,
        "sentences": [one._asdict() for one in story.sentences],
        "lines": [
            {"title": NUMBERS[key[1]][0], "unit": NUMBERS[key[1]][1], **_points(series)}
            for key, series in lines.items()
        ],
        "plans": [_plan(plan, units) for plan in plans],
        "parts": [
            {"part": key[0], "name": key[1], **_points(series)} for key, series in found.items()
        ],
        "names": {part: entities.name(part) for part in parts},
        "decisions": [_decision(one, units) for one in reversed(decisions)],
    }


def _points(series: SeriesData) -> dict[str, Any]:
    values = [float(f"{v:.5g}") if known(v) else None for v in series.value.tolist()]
    return {"batch": series.batch.tolist(), "value": values}


def _plan(plan: PlanVersion, units: dict[str, str]) -> dict[str, Any]:
    nodes = [
        {"id": node["id"], "name": str(node.get("name") or node["id"]), "role": node.get("role")}
        for node in plan.graph.get("nodes", ())
    ]
    edges = [[edge["source"], edge["target"]] for edge in plan.graph.get("edges", ())]
    return {
        "unit": plan.unit_id,
        "title": units.get(plan.unit_id, plan.unit_id),
        "version": plan.version,
        "batch": plan.batch,
        "kind": plan.kind,
        "order": names(plan),
        "reason": plan.reason,
        "nodes": nodes,
        "edges": edges,
    }


def _decision(entry: DecisionEntry, units: dict[str, str]) -> dict[str, Any]:
    one = entry.decision
    return {
        "seq": one.seq,
        "batch": one.batch,
        "unit": units.get(one.unit_id, one.unit_id),
        "verdict": one.verdict,
        "metric": one.metric,
        "lhs": one.lhs,
        "relation": one.relation,
        "rhs": one.rhs,
        "n": one.n_sample,
        "words": one.explanation,
    }
