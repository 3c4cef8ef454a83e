"""What stands for a kind: sign, word and tone of events, verdicts, states and the plan's nodes.

The one place of these; pages and figures read them here, scripts get them with their data. A kind
without a row is drawn by its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from dashboard.base.face import NodeKind, told

Tone: TypeAlias = Literal["ok", "warning", "error", "quiet", "info", "switch", "knob", "query"]


class EventKind(NamedTuple):
    """An event kind. rank: of several at one place the lowest speaks for all."""

    sign: str
    word: str
    tone: Tone
    rank: int


class Verdict(NamedTuple):
    """A verdict of a decision. meaning: one sentence."""

    sign: str
    word: str
    tone: Tone
    meaning: str


EVENTS: Final[Mapping[str, EventKind]] = {
    "end": EventKind("✖", "Engine ended", "error", 0),
    "input": EventKind("⇥", "Input ended or failed", "error", 0),
    "rearrangement": EventKind("▲", "Rearrangement", "switch", 1),
    "knob": EventKind("◆", "Knob change", "knob", 2),
    "algorithm": EventKind("◆", "Another algorithm", "knob", 2),
    "query": EventKind("⚑", "Query change", "query", 3),
    "change": EventKind("≈", "Stream changed", "query", 3),
    "loop": EventKind("↻", "Stream begins anew", "query", 3),
    "exactness": EventKind("≃", "Exact or approximate", "warning", 4),
    "misfit": EventKind("✖", "Misfits", "warning", 4),
    "missed": EventKind("◌", "Missed by some queries", "warning", 4),
    "held back": EventKind("○", "Held back", "quiet", 5),
    "run": EventKind("●", "Run", "quiet", 6),
}

VERDICTS: Final[Mapping[str, Verdict]] = {
    "switched": Verdict("▲", "switched", "switch", "The plan was changed."),
    "kept": Verdict("■", "kept", "ok", "The trigger fired; the plan in force was still the best."),
    "below_threshold": Verdict(
        "○", "below threshold", "quiet", "The change was too small to act on."
    ),
    "cooldown": Verdict("○", "cool-down", "quiet", "The last rearrangement was too recent."),
    "thin": Verdict("○", "too few samples", "warning", "Too few sampled tuples to decide on."),
    "pinned": Verdict("○", "pinned", "quiet", "The plan is pinned."),
    "acted": Verdict("●", "acted on", "ok", "It was done; the plan is the same."),
}

#: State of a run, a command or a query -> tone.
STATES: Final[Mapping[str, Tone]] = {
    "starting": "warning",
    "running": "ok",
    "working": "ok",
    "idle": "quiet",
    "stopped": "error",
    "ended": "quiet",
    "interrupted": "warning",
    "failed": "error",
    "requested": "warning",
    "recorded": "quiet",
    "applied": "ok",
    "refused": "error",
    "active": "ok",
    "paused": "warning",
    "removed": "quiet",
    "contradictory": "warning",
    "open": "ok",
    "read": "ok",
    "waits": "quiet",
    "misfits": "warning",
}

_PANE: Final = "M4 4h16v16H4zM12 4v16M4 12h16"
_MAGNIFIER: Final = "M3 3h14v7M10 17H3V3M13 15a4 4 0 1 0 8 0a4 4 0 1 0-8 0M20 18l3 4M6 7h8M6 11h4"
_DRUM: Final = "M4 6c0-4 16-4 16 0v12c0 4-16 4-16 0zM4 6c0 4 16 4 16 0M4 12c0 4 16 4 16 0"
#: A queue stands on its edge; in the legend it is a ladder.
LADDER: Final = "M8 2v20M16 2v20M8 6h8M8 10h8M8 14h8M8 18h8"
#: Role of an entity or a node of a plan -> how it is drawn.
NODES: Final[Mapping[str, NodeKind]] = {
    "source": NodeKind("source", "⇥", "source"),
    "output": NodeKind("output", "⇤", "output"),
    "project": NodeKind("operator", "π", "projection", about="columns and expressions"),
    "window": NodeKind("operator", "◫", "window", _PANE, "newest tuples of a stream"),
    "join": NodeKind("operator", "⋈", "join", about="matches of its inputs"),
    "aggregate": NodeKind("operator", "∑", "aggregation", about="one row a group"),
    "distinct": NodeKind("operator", "δ", "duplicate elimination", about="each tuple once"),
    "set operation": NodeKind("operator", "∪", "set operation", about="of bags"),
    "relation to stream": NodeKind(
        "operator", "≋", "relation to stream", about="changes of a relation as a stream"
    ),
    "cache": NodeKind("synopsis", "⬡", "cache", about="joined tuples that a look-up finds"),
    "synopsis": NodeKind("synopsis", "▤", "synopsis", _MAGNIFIER, "what an operator remembers"),
    "index": NodeKind("synopsis", "⊞", "index"),
    "store": NodeKind("store", "▦", "shared store", _DRUM, "tuples several synopses share"),
}


def event_kind(kind: str) -> EventKind:
    """The row of an event kind; one nobody listed is a quiet dot with its own name."""
    return EVENTS.get(kind, EventKind("●", kind, "quiet", 9))


def verdict(name: str) -> Verdict:
    """The row of a verdict."""
    return VERDICTS.get(name, Verdict("●", name.replace("_", " "), "quiet", ""))


def tone_of(state: str) -> Tone:
    """The tone of a state or verdict."""
    return VERDICTS[state].tone if state in VERDICTS else STATES.get(state, "quiet")


def node_kind(kind: str) -> NodeKind:
    """The row of a role of a node; one nobody listed is an operator with its own name."""
    row = NODES.get(kind) or told("nodes").get(kind)
    return row or NodeKind("operator", "◦", kind)
