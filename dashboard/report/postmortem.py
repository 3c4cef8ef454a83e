"""The post-mortem of a run from the store: the story, and all that the page to hand out needs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final

import numpy as np

from dashboard.base.face import VerdictSource, faces, followed
from dashboard.components.formats import show
from dashboard.components.kinds import node_kind
from dashboard.components.names import named
from dashboard.serving.encode import dump
from dashboard.views.book import SYSTEM, Book, added, by_property
from dashboard.views.compare import NUMBERS
from dashboard.views.decisions import build_list
from dashboard.views.ends import lost_words, with_ends
from dashboard.views.events import titled
from dashboard.views.gaps import gaps_of
from dashboard.views.numbers import known
from dashboard.views.planlog import has_looks
from dashboard.views.planlog_story import tell_log, with_log
from dashboard.views.postmortem import Sentence, Story, tell
from dashboard.views.stretch import stretch_words
from storage.reader import Reader
from storage.reading.plan_log import looks_of, subjects
from storage.tables.rows import DecisionCounts, DecisionEntry, SeriesData
from storage.vocabulary.planlog import BY_AUTOPILOT, is_piloted
from storage.vocabulary.records import Command, PlanVersion, Run

MOST_EVENTS: Final = 5000
MOST_DECISIONS: Final = 1000
MOST_LOOKS: Final = 512
#: More than a run has batches: of a series all points.
EVERY: Final = 10**9
#: Requests and misfits, newest first.
MOST_TURNS: Final = 200
#: Points of a line of the page to hand out, and batches whose plan it shows: fewer where
#: there are many parts, at most so many of all together.
LINE_POINTS: Final = 2000
PART_POINTS: Final = 300
FEWEST_POINTS: Final = 10
MOST_POINTS: Final = 500_000
#: Of all versions of plans together, those that are older are left out; and characters of a text.
MOST_PLAN_BYTES: Final = 8_000_000
LONGEST_TEXT: Final = 1500
#: Numbers of parts of the plan the page has, with those that systems follow.
PART_NUMBERS: Final = ("drop_prob", "reached_tuples", "size_tuples")


def story_of(reader: Reader, run: Run, until: int | None = None) -> Story:
    """The story up to a batch."""
    last = until if until is not None else reader.last_batch(run.id)
    first = reader.batches(run.id, None, last, 1) if last is not None else ()
    begin = reader.batch(run.id, 0) or (first[0] if first else None)
    ends = (begin, first[0]) if first and begin is not None else None
    plans = reader.plans(run.id, last)
    events = titled(reader.events(run.id, until=last, limit=MOST_EVENTS), plans)
    at_end = last if last == reader.last_batch(run.id) else None
    entities = Book(reader.entities(run.id, last))
    story = tell(
        run,
        ends,
        with_ends(run, events, at_end),
        _switches(reader, run.id, last),
        reader.noted("note", run.id),
        _saved(reader, run.id, entities, last),
        reader.values(run.id, last).get(SYSTEM, {}),
        {gap.batch: _lost(reader, run.id, gap.batch) for gap in gaps_of(events)},
    )
    return _with_logs(reader, run.id, last, story, entities)


def _lost(reader: Reader, run: str, first: int) -> str:
    """What was lost in a gap before the batch ``first``, or counted twice."""
    if reader.stretch(run, first - 1) is not None:  # totals of single batches are not kept any more
        return ""
    key = (SYSTEM, "tuples_total")
    series = reader.many_series(run, [key], since_batch=first - 1, until_batch=first)
    known = series.get(key)
    totals = (
        {} if known is None else dict(zip(known.batch.tolist(), known.value.tolist(), strict=True))
    )
    batch = reader.batch(run, first)
    return lost_words(totals, first, None if batch is None else batch.n_tuples)


def _with_logs(reader: Reader, run: str, until: int | None, story: Story, entities: Book) -> Story:
    """The story with those of the plan logs that autopilots of its units keep."""
    units = reader.units(run, until)
    for unit in units:
        if not has_looks(reader, run, unit.id):
            continue
        versions = reader.plans(run, None, unit.id)
        for subject in filter(is_piloted, subjects(reader, run, unit.id) or [""]):
            looks = looks_of(reader, run, until, unit.id, MOST_LOOKS, subject)
            titles = [unit.title] * (len(units) > 1) + [subject.removesuffix(BY_AUTOPILOT)]
            title = ", ".join(filter(None, titles))
            story = with_log(story, tell_log(looks, versions, entities, title))
    return story


def _saved(reader: Reader, run: str, entities: Book, until: int | None) -> str:
    """What adapting came to, by the first system that knows it, or ''."""
    for verdict in filter(None, (face.verdict for face in faces())):
        words = _said(reader, run, entities, until, verdict)
        if words:
            return f"{words} ({verdict.basis})"
    return ""


def _said(
    reader: Reader, run: str, entities: Book, until: int | None, verdict: VerdictSource
) -> str:
    """By one system: of all together, or of each apart by its name where there are several."""
    of_role = [entity.id for entity in entities.of(verdict.role)]
    owners = of_role if verdict.role else entities.systems()
    keys = [(owner, name) for name in verdict.properties for owner in owners]
    series = reader.many_series(run, keys, until_batch=until, max_points=EVERY)
    if not verdict.apart:
        return verdict.words(added(series) if verdict.role else by_property(series))
    own = {
        owner: {name: data for (of, name), data in series.items() if of == owner}
        for owner in owners
    }
    by_owner = {owner: words for owner in owners if (words := verdict.words(own[owner]))}
    if len(owners) < 2:
        return "".join(by_owner.values())
    return "; ".join(f"{words} for {entities.name(owner)}" for owner, words in by_owner.items())


def _switches(reader: Reader, run: str, until: int | None) -> tuple[DecisionEntry, ...]:
    return reader.decisions(run, until=until, verdicts=("switched",), limit=MOST_DECISIONS)


def records_of(reader: Reader, run: Run) -> dict[str, Any]:
    """All that the page to hand out shows, as JSON data."""
    story = story_of(reader, run)
    plans, graphs = _graphs(reader.plans(run.id))
    keys = [(SYSTEM, name) for name in NUMBERS]
    lines = reader.many_series(run.id, keys, max_points=LINE_POINTS, sampled=True)
    known_lines = [(key[1], line) for key, line in lines.items() if np.isfinite(line.value).any()]
    parts = list(dict.fromkeys(node["id"] for graph in graphs for node in graph["nodes"]))
    keys += [(part, name) for part in parts for name in (*PART_NUMBERS, *followed())]
    points = max(FEWEST_POINTS, min(PART_POINTS, MOST_POINTS // len(keys)))
    frames = _frames(reader, run.id, points, [plan.batch for plan, _ in plans])
    decisions = reader.decisions(run.id, limit=MOST_DECISIONS)
    counts = reader.decision_counts(run.id)
    units = {unit.id: unit.title for unit in reader.units(run.id)}
    timed = next((line for _, line in known_lines), None)
    return {
        "run": {"id": run.id, "workload": run.workload, "state": run.state},
        "opening": [line.text for line in story.opening],
        "sentences": [_sentence(sentence) for sentence in story.sentences],
        "times": {"batch": [], "value": []} if timed is None else _times(timed),
        "lines": [
            {"name": name, "title": NUMBERS[name][0], "unit": NUMBERS[name][1], **_points(series)}
            for name, series in known_lines
        ],
        "plans": [_plan(plan, units, graph) for plan, graph in plans],
        "graphs": graphs,
        "frames": frames,
        "averaged": _averaged(reader, run.id, frames),
        "parts": _parts(reader, run.id, frames, keys),
        "decisions": _decisions(decisions, counts, units),
        "turns": [_turn(command) for command in reader.commands(run.id, MOST_TURNS)],
        "misfits": [
            {"batch": misfit.batch, "text": _short(f"{misfit.error}: {misfit.raw}")}
            for misfit in reader.misfits(run.id, MOST_TURNS)
        ],
        "left_out": _left_out(len(decisions), counts, plans),
    }


def _frames(reader: Reader, run: str, most: int, changes: Sequence[int]) -> list[int]:
    """Batches the page shows: evenly spread, the last, and those from which plans are in force."""
    last = reader.last_batch(run)
    if last is None:
        return []
    step = max(1, -(-(last + 1) // most))
    spread = {*range(last % step, last + 1, step), *list(changes)[-most:]}
    return sorted(batch for batch in spread if 0 <= batch <= last)


def _averaged(reader: Reader, run: str, frames: Sequence[int]) -> list[str]:
    """Over what the values of batches are averages, the oldest first, up to those that are not."""
    words = (stretch_words(reader.stretch(run, batch)) for batch in frames)
    return list(takewhile(bool, words))


def _parts(
    reader: Reader, run: str, frames: Sequence[int], keys: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """What was measured at these very batches; parts of which nothing is known are left out."""
    series = reader.many_series(run, keys, max_points=EVERY)
    return [
        {"part": part, "name": name, "value": _at(series[part, name], frames)}
        for part, name in keys
        if (part, name) in series
    ]


def _at(series: SeriesData, frames: Sequence[int]) -> list[float | None]:
    """The newest value at each of the batches."""
    places = np.searchsorted(series.batch, frames, side="right") - 1
    return [_digits(float(series.value[place])) if place >= 0 else None for place in places]


def _turn(command: Command) -> dict[str, Any]:
    """A request, who made it and why, and what the engine said."""
    what = " ".join(str(value) for value in command.payload.values() if value not in (None, ""))
    outcome = ": ".join(filter(None, (command.state, command.answer)))
    text = _short(f"{command.kind} {what} by {command.actor}, {outcome}")
    return {
        "batch": command.applied_batch,
        "time": command.requested_at,
        "text": text,
        "why": command.reason,
    }


def _graphs(
    plans: Sequence[PlanVersion],
) -> tuple[list[tuple[PlanVersion, int]], list[dict[str, Any]]]:
    """The newest plans, each with the place of its graph among those that differ; oldest first."""
    places: dict[str, int] = {}
    graphs: list[dict[str, Any]] = []
    newest: list[tuple[PlanVersion, int]] = []
    n_bytes = 0
    for plan in sorted(plans, key=lambda plan: (plan.batch, plan.unit_id, plan.version))[::-1]:
        graph = _graph(plan)
        digest = dump(graph)
        n_bytes += sum(map(len, plan.order)) + len(_short(plan.reason))
        n_bytes += 0 if digest in places else len(digest)
        if newest and n_bytes > MOST_PLAN_BYTES:
            break
        if digest not in places:
            places[digest] = len(graphs)
            graphs.append(graph)
        newest.append((plan, places[digest]))
    return newest[::-1], graphs


def _graph(plan: PlanVersion) -> dict[str, Any]:
    nodes = []
    for node in plan.graph.get("nodes", ()):
        kind = node_kind(str(node.get("role")))
        name = str(node.get("name") or node["id"])
        facts = {"id": node["id"], "name": name, "role": kind.card}
        nodes.append({**facts, "sign": kind.sign, "word": kind.word})
    edges = [{"source": e["source"], "target": e["target"]} for e in plan.graph.get("edges", ())]
    return {"nodes": nodes, "edges": edges}


def _sentence(sentence: Sentence) -> dict[str, Any]:
    """seq: of the decision of its unit that it is about, or ''."""
    _, seq, unit = sentence.link
    facts = {
        "batch": sentence.batch,
        "time": sentence.time,
        "kind": sentence.kind,
        "text": _short(sentence.text),
    }
    return {**facts, "aside": sentence.aside, "tone": sentence.tone, "seq": seq, "unit": unit}


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def _points(series: SeriesData) -> dict[str, Any]:
    return {"batch": series.batch.tolist(), "value": [_digits(v) for v in series.value.tolist()]}


def _digits(value: float | None) -> float | None:
    return None if value is None or not known(value) else float(f"{value:.5g}")


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
    kept = []
    if n_decisions < counts.evaluated:
        n = f"{show(n_decisions, 'int')} of {show(counts.evaluated, 'int')}"
        kept.append(f"{n} evaluations, the newest that are stored")
    if plans and plans[0][0].version > 1:
        kept.append(f"plans since batch {plans[0][0].batch}")
    return f"It has {' and '.join(kept)}." if kept else ""
