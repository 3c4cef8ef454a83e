"""What went through an edge of a plan in a batch, and where one of its tuples ended.

A tuple is followed by its timestamp and the columns that it shares with what comes behind it. At
every operator elements of the same timestamps are kept, so where none of them is its own although
all of its timestamp are there, the tuple ended.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from dashboard.views.book import Book
from dashboard.views.results import cell_text
from dashboard.views.ticks import tick_length_us
from storage.reader import Reader
from storage.vocabulary.graph import NO_OPERATORS
from storage.vocabulary.records import PlanVersion
from storage.vocabulary.taps import LED, TAKES_IN, TapSample

Row: TypeAlias = Sequence[Any]
#: went on: something came of the tuple. ended: nothing did, and the operator keeps nothing. held:
#: nothing did yet. arrived: at the answer of a query. unknown: more elements of its timestamp came
#: out than are kept. untapped: the operator was not looked into.
Fate: TypeAlias = Literal["went on", "ended", "held", "arrived", "unknown", "untapped"]


class TappedPlace(NamedTuple):
    """A place of a plan that can be looked into. giver: the entity whose elements go through it;
    target: where an edge leads, '' of a node, which may lead to several, and of an edge into what
    takes in a stream; is_edge: whether it is one."""

    giver: str
    target: str
    is_edge: bool
    title: str
    plan: PlanVersion


class FollowedStep(NamedTuple):
    """What became of a tuple at an operator. rows: of what came of it; why: columns that the
    operator's text names, and their values in what came to it."""

    entity: str
    name: str
    fate: Fate
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    why: str = ""


class ArrivedRows(NamedTuple):
    """Rows of some columns."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


class TapView(NamedTuple):
    """An edge at a batch. nearest: the batch nearest to it that was tapped; sample: of that batch
    itself, None where it was not. is_timed: its elements have timestamps; tick_us: where these are
    times. followed: place of a row, and what became of it."""

    node: str
    title: str
    batch: int
    nearest: int | None
    sample: TapSample | None
    is_timed: bool
    tick_us: float | None = None
    followed: int | None = None
    steps: tuple[FollowedStep, ...] = ()


def tapped_place(reader: Reader, run: str, at: int | None, node: str | None) -> TappedPlace | None:
    """The place of an edge (by its queue) or a node; None where nothing can be looked at."""
    for plan in reader.plans_at(run, at).values() if node else ():
        nodes = _nodes(plan)
        for edge in plan.graph.get("edges", []):
            source, target = nodes.get(edge["source"]), nodes.get(edge["target"])
            if source is None or target is None or not edge.get("queue"):
                continue
            if edge["queue"] == node:
                is_arriving = source["role"] == "source" and target["role"] == TAKES_IN
                title = f"{source['name']} → {target['name']}"
                if is_arriving:
                    return TappedPlace(edge["target"], "", True, title, plan)
                return TappedPlace(edge["source"], edge["target"], True, title, plan)
        record = nodes.get(node or "")
        if record is not None and (record["role"] not in NO_OPERATORS or _gives(plan, node)):
            return TappedPlace(str(node), "", False, str(record["name"]), plan)
    return None


def _gives(plan: PlanVersion, node: str | None) -> bool:
    """Whether elements come out of a node that is no operator: a stored relation."""
    nodes, edges = _nodes(plan), plan.graph.get("edges", [])
    own = [edge for edge in edges if edge["source"] == node and edge.get("queue")]
    return any(nodes[edge["target"]]["role"] != TAKES_IN for edge in own if edge["target"] in nodes)


def _nodes(plan: PlanVersion) -> dict[str, Mapping[str, Any]]:
    return {node["id"]: node for node in plan.graph.get("nodes", [])}


def build_tap(
    reader: Reader, run: str, batch: int, node: str | None, followed: int | None
) -> TapView | None:
    """What went through an edge of the plan; None of what is none. followed: place of the row
    whose way is shown."""
    place = tapped_place(reader, run, batch, node)
    if place is None or node is None or not place.is_edge:
        return None
    stored = reader.taps(run, place.giver, batch)
    nearest = stored[0].batch_id if stored else None
    own = [tap.sample for tap in stored if tap.batch_id == batch]
    samples = {sample.entity: sample for sample in own if sample.unit_id == place.plan.unit_id}
    sample = samples.get(place.giver)
    is_timed = any(record["role"] == TAKES_IN for record in _nodes(place.plan).values())
    steps: tuple[FollowedStep, ...] = ()
    if sample is None or followed is None or not 0 <= followed < len(sample.rows):
        followed = None
    else:
        steps = follow(place, samples, sample.rows[followed])
    return TapView(
        node=node,
        title=place.title,
        batch=batch,
        nearest=nearest,
        sample=sample,
        is_timed=is_timed,
        tick_us=_tick_us(reader, run, batch, place.plan.unit_id),
        followed=followed,
        steps=steps,
    )


def _tick_us(reader: Reader, run: str, batch: int, unit: str) -> float | None:
    inputs = [stored.input for stored in reader.inputs(run)]
    return tick_length_us(Book(reader.entities(run, batch)), unit, inputs)


def follow(
    place: TappedPlace, samples: Mapping[str, TapSample], row: Row
) -> tuple[FollowedStep, ...]:
    """What became of a row of what a place gave out, operator by operator, the nearest first.
    samples: of the batch, by entity."""
    nodes, edges = _nodes(place.plan), place.plan.graph.get("edges", [])
    keeping = {edge["target"] for edge in edges if not edge.get("queue")}
    begin = ArrivedRows(samples[place.giver].columns, (row,))
    way, steps = {place.giver: begin}, list[FollowedStep]()
    waiting = [place.giver]
    for entity in waiting:  # it grows as it is read
        for edge in edges:
            target = edge["target"]
            if edge["source"] != entity or not edge.get("queue") or target in way:
                continue
            if any(step.entity == target for step in steps) or target not in nodes:
                continue
            if entity == place.giver and place.target not in ("", target):
                continue
            sample, keeps = samples.get(target), target in keeping
            step = _step(nodes[target], sample, begin, way[entity], keeps)
            steps.append(step)
            if step.fate == "went on":
                way[target] = ArrivedRows(step.columns, step.rows)
                waiting.append(target)
    return tuple(steps)


def _step(
    node: Mapping[str, Any],
    sample: TapSample | None,
    begin: ArrivedRows,
    came: ArrivedRows,
    keeps: bool,
) -> FollowedStep:
    """What became of a row at an operator. begin: the row; came: what came of it to the operator;
    keeps: the operator keeps elements."""
    id, name = str(node["id"]), str(node["name"])
    columns, (row,) = begin
    if node["role"] == "output":
        return FollowedStep(id, name, "arrived", (), ())
    if sample is None:
        return FollowedStep(id, name, "untapped", (), ())
    rows = tuple(other for other in sample.rows if is_of(columns, row, sample.columns, other))
    if rows:
        return FollowedStep(id, name, "went on", sample.columns, rows)
    fate: Fate = "held" if keeps else "ended"
    fate = fate if sample.has_all_of(row[0]) else "unknown"
    text = str((node.get("properties") or {}).get("text", name))
    why = "" if fate == "unknown" else _named_values(text, came)
    return FollowedStep(id, name, fate, (), (), why)


def is_of(columns: Sequence[str], row: Row, others: Sequence[str], other: Row) -> bool:
    """Whether an element may have come of another: at the same timestamp, with the same values in
    all columns that both have."""
    if other[0] != row[0]:
        return False
    there: dict[str, list[Any]] = {}
    for name, value in zip(others, other[LED:], strict=True):
        there.setdefault(name, []).append(value)
    pairs = zip(columns, row[LED:], strict=True)
    return all(value in there[name] for name, value in pairs if name in there)


def _named_values(text: str, came: ArrivedRows) -> str:
    """The columns that a text names, with their values in what came, rather than in what went."""
    named = dict(zip(came.columns, max(came.rows, key=lambda row: row[1])[LED:], strict=True))
    whole = {name for name in named if re.search(rf"(?<![\w(]){re.escape(name)}(?!\w)", text)}
    return ", ".join(
        f"{name} = {cell_text(value) or 'NULL'}" for name, value in named.items() if name in whole
    )
