"""The post-mortem of a run from the store: the story, and all that the page to hand out needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dashboard.api.encode import dump
from dashboard.components.formats import show
from dashboard.components.kinds import node_kind
from dashboard.components.names import named
from dashboard.views.book import SYSTEM, Book, by_property
from dashboard.views.compare import NUMBERS
from dashboard.views.decisions import build_list
from dashboard.views.events import titled
from dashboard.views.numbers import known
from dashboard.views.postmortem import Sentence, Story, tell
from dashboard.views.regret import PROPERTIES, build_regret
from storage.reader import Reader
from storage.rows import DecisionCounts, DecisionEntry, SeriesData
from storage.vocabulary.records import PlanVersion, Run

MOST_EVENTS: Final = 5000
MOST_DECISIONS: Final = 1000
#: Points of a line of the page to hand out, and of a number of a part of the plan: fewer where
#: there are many, at most so many of all together.
LINE_POINTS: Final = 2000
PART_POINTS: Final = 300
FEWEST_POINTS: Final = 10
MOST_POINTS: Final = 500_000
#: Of all versions of plans together, those that are older are left out; and characters of a text.
MOST_PLAN_BYTES: Final = 8_000_000
LONGEST_TEXT: Final = 1500
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
    plans, graphs = _graphs(reader.plans(run.id))
    lines = reader.many_series(run.id, [(SYSTEM, name) for name in NUMBERS], max_points=LINE_POINTS)
    known_lines = [(key[1], one) for key, one in lines.items() if np.isfinite(one.value).any()]
    parts = list(dict.fromkeys(node["id"] for graph in graphs for node in graph["nodes"]))
    keys = [(part, name) for part in parts for name in PART_NUMBERS]
    points = max(FEWEST_POINTS, min(PART_POINTS, MOST_POINTS // max(1, len(keys))))
    found = reader.many_series(run.id, keys, max_points=points)
    decisions = reader.decisions(run.id, limit=MOST_DECISIONS)
    counts = reader.decision_counts(run.id)
    units = {unit.id: unit.title for unit in reader.units(run.id)}
    timed = next((one for _, one in known_lines), None)
    return {
        "run": {"id": run.id, "workload": run.workload, "state": run.state},
        "opening": [one.text for one in story.opening],
        "sentences": [_sentence(one) for one in story.sentences],
        "times": {"batch": [], "value": []} if timed is None else _times(timed),
        "lines": [
            {"title": NUMBERS[name][0], "unit": NUMBERS[name][1], **_points(series)}
            for name, series in known_lines
        ],
        "plans": [_plan(plan, units, graph) for plan, graph in plans],
        "graphs": graphs,
        "parts": [
            {"part": key[0], "name": key[1], **_points(series)} for key, series in found.items()
        ],
        "decisions": _decisions(decisions, counts, units),
        "left_out": _left_out(len(decisions), counts, plans),
    }


def _graphs(
    plans: Sequence[PlanVersion],
) -> tuple[list[tuple[PlanVersion, int]], list[dict[str, Any]]]:
    """The newest plans, each with the place of its graph among those that differ; oldest first."""
    places: dict[str, int] = {}
    graphs: list[dict[str, Any]] = []
    found: list[tuple[PlanVersion, int]] = []
    n_bytes = 0
    for plan in sorted(plans, key=lambda one: (one.batch, one.unit_id, one.version))[::-1]:
        graph = _graph(plan)
        digest = dump(graph)
        n_bytes += sum(map(len, plan.order)) + len(_short(plan.reason))
        n_bytes += 0 if digest in places else len(digest)
        if found and n_bytes > MOST_PLAN_BYTES:
            break
        if digest not in places:
            places[digest] = len(graphs)
            graphs.append(graph)
        found.append((plan, places[digest]))
    return found[::-1], graphs


def _graph(plan: PlanVersion) -> dict[str, Any]:
    nodes = []
    for node in plan.graph.get("nodes", ()):
        kind = node_kind(str(node.get("role")))
        name = str(node.get("name") or node["id"])
        told = {"id": node["id"], "name": name, "role": kind.card}
        nodes.append({**told, "sign": kind.sign, "word": kind.word})
    edges = [{"source": e["source"], "target": e["target"]} for e in plan.graph.get("edges", ())]
    return {"nodes": nodes, "edges": edges}


def _sentence(one: Sentence) -> dict[str, Any]:
    """seq: of the decision of its unit that it is about, or ''."""
    _, seq, unit = one.link
    told = {"batch": one.batch, "time": one.time, "kind": one.kind, "text": _short(one.text)}
    return {**told, "aside": one.aside, "tone": one.tone, "seq": seq, "unit": unit}


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def _points(series: SeriesData) -> dict[str, Any]:
    values = [float(f"{v:.5g}") if known(v) else None for v in series.value.tolist()]
    return {"batch": series.batch.tolist(), "value": values}


def _times(series: SeriesData) -> dict[str, Any]:
    """When batches were, Unix s."""
    return {"batch": series.batch.tolist(), "value": np.round(series.time, 1).tolist()}


def _plan(plan: PlanVersion, units: dict[str, str], graph: int) -> dict[str, Any]:
    return {
        "unit": plan.unit_id,
        "title": units.get(plan.unit_id, plan.unit_id),
        "version": plan.version,
        "batch": plan.batch,
        "kind": plan.kind,
        "order": list(plan.order),
        "reason": _short(named(plan.reason)),
        "graph": graph,
    }


def _decisions(
    entries: Sequence[DecisionEntry], counts: DecisionCounts, units: dict[str, str]
) -> list[dict[str, Any]]:
    """Oldest first, in the words of the Decisions page."""
    rows = build_list(entries, counts).rows
    return [
        {
            "seq": row.seq,
            "batch": row.batch,
            "time": row.time,
            "unit": entry.decision.unit_id,
            "title": units.get(entry.decision.unit_id, "") if len(units) > 1 else "",
            "verdict": f"{row.sign} {row.word}",
            "switched": row.verdict == "switched",
            "summary": _short(row.summary),
            "n": entry.decision.n_sample,
            "words": _short(named(entry.decision.explanation)),
        }
        for row, entry in zip(reversed(rows), reversed(entries), strict=True)
    ]


def _left_out(
    n_decisions: int, counts: DecisionCounts, plans: Sequence[tuple[PlanVersion, int]]
) -> str:
    """What the file does not have of the record, in words, or ''."""
    found = []
    if n_decisions < counts.evaluated:
        n = f"{show(n_decisions, 'int')} of {show(counts.evaluated, 'int')}"
        found.append(f"{n} evaluations, the newest that are stored")
    if plans and plans[0][0].version > 1:
        found.append(f"plans since batch {plans[0][0].batch}")
    return f"It has {' and '.join(found)}." if found else ""
