"""What a system shows of itself, and where the generic modules find it: in ``faces``.

A system has one folder below dashboard/systems with its ``FACE`` and its line in ``FACES`` there.
No module outside of that folder imports from it or knows a word of it: what has to be told of every
system is a field here. The application brings the faces (``use``) before anything is drawn, so a
face may build on everything that asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from storage.reader import Reader
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Decision, Json, PlanVersion

#: What a card of the plan graph shows.
Card: TypeAlias = Literal["source", "step", "operator", "synopsis", "store", "output"]
#: Fields of a face that are tables of words.
Table: TypeAlias = Literal[
    "words",
    "nodes",
    "marks",
    "groups",
    "compared",
    "unreplayed",
    "chosen",
    "holds",
    "kept",
    "needs",
]


class SynopsisPart(NamedTuple):
    """What a synopsis holds of one kind. name: property with how many tuples; tone: how it is
    drawn, ``aside`` what is not in memory."""

    name: str
    word: str
    tone: Literal["ok", "warning", "quiet", "aside"]


class NodeKind(NamedTuple):
    """A role of a node of a plan graph. card: what it shows. icon: SVG path data in a 24 x 24 box
    that is drawn in place of the sign, '' = the sign. about: a sentence for the legend. cost:
    the property that a step is weighed by, '' = visits. parts: what a synopsis is divided into, on
    its card a bar; whole: the property that the size is told as a share of. cells: facts of the
    node that name what it is made of and count it, on its card a strip of cells."""

    card: Card
    sign: str
    word: str
    icon: str = ""
    about: str = ""
    cost: str = ""
    parts: tuple[SynopsisPart, ...] = ()
    whole: str = ""
    cells: tuple[str, str] | None = None


class CardMark(NamedTuple):
    """A number of a monitor on the card of the node that its fact ``node`` names, or of a node on
    its own card. word: in front of it; none: what stands for no value; form: how it is written."""

    property: str
    word: str
    none: str
    form: Literal["si", "pct"] = "si"


class HeldMemory(NamedTuple):
    """What entities of a role hold. property: how much, in ``unit``; limit: the knob of their unit
    that limits it, '' = none."""

    property: str
    unit: str
    limit: str = ""


#: Of a decision and the values of its unit's knobs: a knob and the value it is to have, or none.
KeptSetting: TypeAlias = Callable[[Decision, Mapping[str, Json]], tuple[str, Json] | None]


class KeptCost(NamedTuple):
    """By what a run that keeps a plan is held against the recorded one. property: of parts of the
    unit, added up, ``scale`` times; weight: the property that is the price of one, as recorded.
    is_level: how much is held at a time. words, form: how it is written."""

    property: str
    words: str
    form: Literal["si", "ms", "bytes"] = "si"
    scale: float = 1.0
    weight: str = ""
    is_level: bool = False


class HeldPlan(NamedTuple):
    """How a branch keeps the plan before a decision. setting: the knob to turn; where there is
    none ``why`` says so."""

    setting: KeptSetting
    cost: KeptCost
    why: str = ""


class KnobNeed(NamedTuple):
    """Without what a knob has no effect. knob, values: another of its scope that has to have one of
    these; property: what a part of its unit has to publish, where the scope has the knob beside.
    why: what is missing."""

    why: str
    knob: str = ""
    values: frozenset[Json] = frozenset()
    property: str = ""
    beside: str = ""


class Skip(NamedTuple):
    """Tuples that go from one node straight to another. share: of the tuples such ways were decided
    on, None = not known; words: for people."""

    source: str
    target: str
    share: float | None
    words: str


class VerdictSource(NamedTuple):
    """The headline of a post-mortem. properties: of the system, or of all entities of a role, added
    batch by batch, or of each apart; words: what they come to behind 'Adapting', '' = nothing is
    known; basis: what that is known from."""

    properties: tuple[str, ...]
    words: Callable[[Mapping[str, SeriesData]], str]
    role: str = ""
    basis: str = "estimated on sampled tuples"
    apart: bool = False


class WatchedNumber(NamedTuple):
    """How a property of batches is watched. window: the property over the last tuples; baseline:
    what that is compared with; called: its name among the values of ``Watching.decides``."""

    window: str = ""
    baseline: str = ""
    called: str = ""


class Watching(NamedTuple):
    """By which knobs a system watches properties of batches: how far from its baseline one may go,
    over how many tuples it is taken, and which of them decides."""

    threshold: str
    period: str
    decides: str
    watches: Mapping[str, WatchedNumber]


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """What one system shows of itself.

    folder: of its scripts and style sheets, which the page loads (dashboard.serving.bundle). pages:
    its own ``Page``s, if any. panels: its ``Panel``s in their order.

    words: names of the record -> what people call them (knobs, properties, the system). nodes:
    roles -> how they are drawn. marks: roles of monitors, or of nodes -> what is on the card of the
    node. groups: properties -> the group of the inspector, where the unit does not tell it. first:
    knobs that are turned most, in the order they stand in. holds: roles of what holds memory and
    bids for none -> how much it is. follows: properties of operators that cards follow while LIVE;
    hushed: those that nothing follows; priced:
    that is the time of one of their tuples, us, which cards follow, too.

    unreplayed: knobs -> why the record cannot tell what another value would have done. chosen:
    knobs whose other values are planned at evaluations -> what the costs are. replays: what of the
    record is decided again with other values (dashboard.views.effects.Replay). ghost: draws that
    beside the record (dashboard.panels.contract.Ghost).

    watching: of properties of batches. gains: what adapting came to
    (dashboard.views.gain.GainSource); verdict: in the post-mortem. skips: ways past others in a
    plan. changes: what tells the nodes of a plan from those before, in words; spoken: roles of
    nodes whose coming and going they tell. presets: by name values of knobs of one scope, in the
    order they are turned. refuted: by node, of the queries still open, as of a
    batch. compared: properties that Compare adds up over all that have them -> (words, unit,
    whether smaller is better). limited: properties of units -> the knob that limits each. kept:
    kinds of decisions -> how a branch keeps the plan before one. needs: knobs -> without what they
    have no effect.
    """

    folder: Path
    pages: tuple[Any, ...] = ()
    panels: tuple[Any, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[str, NodeKind] = field(default_factory=dict)
    marks: Mapping[str, CardMark] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    holds: Mapping[str, HeldMemory] = field(default_factory=dict)
    first: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    hushed: tuple[str, ...] = ()
    unreplayed: Mapping[str, str] = field(default_factory=dict)
    chosen: Mapping[str, str] = field(default_factory=dict)
    replays: tuple[Any, ...] = ()
    ghost: Any = None
    watching: Watching | None = None
    gains: tuple[Any, ...] = ()
    verdict: VerdictSource | None = None
    skips: Callable[[PlanVersion], Sequence[Skip]] | None = None
    limited: Mapping[str, str] = field(default_factory=dict)
    priced: str = ""
    changes: tuple[Callable[[Any, Any], Iterable[str]], ...] = ()
    spoken: frozenset[str] = frozenset()
    compared: Mapping[str, tuple[str, str, bool | None]] = field(default_factory=dict)
    presets: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    kept: Mapping[str, HeldPlan] = field(default_factory=dict)
    needs: Mapping[str, KnobNeed] = field(default_factory=dict)
    refuted: Callable[[Reader, str, int, PlanVersion], Mapping[str, float | None]] | None = None


#: Those of the application, in the order pages show them in.
_USED: list[Face] = []


def use(systems: Sequence[Face]) -> None:
    """Make these the faces that are asked for. The application does, before anything is drawn."""
    _USED[:] = systems


def faces() -> tuple[Face, ...]:
    """The faces of all systems, in the order pages show them in. Raises LookupError before ``use``,
    in a module that asks while it is loaded, say."""
    if not _USED:
        raise LookupError("no faces of systems are in use: the application calls use() first")
    return tuple(_USED)


def followed() -> tuple[str, ...]:
    """Properties of operators that cards follow, of all systems."""
    own = (name for face in faces() for name in (*face.follows, face.priced))
    return tuple(dict.fromkeys(name for name in own if name))


def prices() -> tuple[str, ...]:
    """Properties of operators that are the time of one of their tuples, us, of all systems."""
    return tuple(dict.fromkeys(face.priced for face in faces() if face.priced))


def watching() -> Watching:
    """How properties of batches are watched by the first system that does."""
    watchings = (face.watching for face in faces() if face.watching is not None)
    return next(watchings, Watching("", "", "", {}))


def told(table: Table) -> Mapping[str, Any]:
    """A table of words of all systems; of a word that two have the first meaning."""
    return _told(faces(), table)


@lru_cache(maxsize=32)
def _told(faces: tuple[Face, ...], table: Table) -> Mapping[str, Any]:
    return {name: entry for face in faces[::-1] for name, entry in getattr(face, table).items()}
