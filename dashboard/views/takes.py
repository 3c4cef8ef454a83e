"""What the parts of a run take of memory, each against its limit where there is one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.views.book import SYSTEM, Book
from storage.vocabulary.records import Entity, Knob

Values = Mapping[str, Mapping[str, float | None]]
MIB: Final = 1 << 20
#: Single synopses, stores and caches that are listed: the largest.
MOST_HOLDERS: Final = 12


class TakenLine(NamedTuple):
    """A part. entity: whose it is, '' = of several. limit: None = none; unit: 'bytes' or 'tuples';
    knob: that sets the limit, ''. at_limit: what happens there, ''. stops: whether something is
    refused there, and not merely forgotten."""

    entity: str
    name: str
    note: str
    value: float
    limit: float | None
    unit: str
    knob: str
    at_limit: str = ""
    stops: bool = False

    @property
    def full(self) -> bool:
        """Whether it is at a limit that refuses."""
        return self.stops and self.limit is not None and self.value >= self.limit


class TakesView(NamedTuple):
    """Kinds of memory, then the largest single holders of bytes."""

    kinds: tuple[TakenLine, ...]
    holders: tuple[TakenLine, ...]


#: Role -> what all of them hold together is called; bytes are their STATE or USED.
_HELD: Final[Mapping[str, str]] = {
    "synopsis": "Synopses of single operators",
    "components": "Synopses in parts",
    "store": "Stores that synopses share",
    "cache": "Caches of joins",
}
BYTES: Final = "state_bytes"
_BYTES: Final = (BYTES, "used_bytes")
_BITMAPS: Final = "bitmap_memory"
#: Knobs for the length of a profile window.
_WINDOWS: Final = ("window_tuples", "tau_tuples")
_STATE: Final = "state_limit_bytes"
#: Knobs that limit what is listed here.
LIMITS: Final = (_BITMAPS, *_WINDOWS, _STATE, "queue_capacity")
#: Knobs whose limit refuses, and what happens at each limit.
_STOPPING: Final = (_BITMAPS, _STATE)
_POOL: Final = "pool_bytes"
_FORGETS: Final = "the oldest go as others come"
_AT_LIMIT: Final[Mapping[str, str]] = {
    _BITMAPS: "queries that need more are refused",
    _STATE: "new queries are refused; beyond it the next batch waits, and nothing is dropped",
    _POOL: "caches that bid least get none",
    **dict.fromkeys(_WINDOWS, _FORGETS),
}
#: Property, words, note and limiting knob of what units and the engine take.
_OF_SYSTEMS: Final = (
    ("state_bytes", "State", "all arrays of its operators, mapped into memory", _STATE),
    ("log_bytes", "Log of tuples", "written for this batch, to recover from", ""),
    ("store_bytes", "Introspection store", "its file, of all runs", ""),
    ("backlog_tuples", "Spool", "tuples that came and wait for a batch", ""),
)


def build_takes(
    book: Book, values: Values, knobs: Sequence[Knob], titles: Mapping[str, str] | None = None
) -> TakesView:
    """As of the batch of ``values``. titles: of units, by id."""
    kinds = [
        *_states(book, values, knobs, titles or {}),
        *_held_together(book, values),
        *_pools(book, values),
        *_bitmaps(book, knobs, titles or {}),
        *_windows(book, values, knobs, titles or {}),
        *_queues(book, values),
    ]
    return TakesView(tuple(map(_with_end, kinds)), tuple(_holders(book, values)))


def bar_shares(lines: Sequence[TakenLine]) -> list[float | None]:
    """How full the bar of each is, in [0, 1]: against its limit, else against the largest of its
    unit; None: it has no limit and stands alone in its unit, so there is nothing to measure by."""
    alike = Counter(line.unit for line in lines)
    most = {unit: max(line.value for line in lines if line.unit == unit) for unit in alike}
    return [
        None
        if not line.limit and alike[line.unit] == 1
        else min(1.0, line.value / (line.limit or most[line.unit] or 1.0))
        for line in lines
    ]


def _with_end(line: TakenLine) -> TakenLine:
    """With what happens at its limit, where it has one."""
    if line.limit is None:
        return line
    return line._replace(at_limit=_AT_LIMIT.get(line.knob, ""), stops=line.knob in _STOPPING)


def _states(
    book: Book, values: Values, knobs: Sequence[Knob], titles: Mapping[str, str]
) -> list[TakenLine]:
    """All arrays of a unit with state and its log of tuples; the engine's store, and its spool."""
    states = []
    for unit in book.of("system"):
        own = values.get(unit.id, {})
        for name, words, note, knob in _OF_SYSTEMS:
            size, measure = own.get(name), name.rpartition("_")[2]
            if size is not None:
                of = titles.get(unit.unit_id, unit.name)
                title = words if unit.id == SYSTEM else f"{words} · {of}"
                limit = _limit(knobs, (knob,), unit.unit_id) if knob else None
                states.append(TakenLine(unit.id, title, note, size, limit, measure, knob))
    return states


def _held_together(book: Book, values: Values) -> list[TakenLine]:
    lines = []
    for role, words in _HELD.items():
        sizes = [size for entity in book.of(role) if (size := _bytes(entity, values)) is not None]
        if sizes:
            lines.append(
                TakenLine("", words, f"{len(sizes)} of them", sum(sizes), None, "bytes", "")
            )
    return lines


def _pools(book: Book, values: Values) -> list[TakenLine]:
    pools = []
    for pool in book.of("pool"):
        own = values.get(pool.id, {})
        limit, used = own.get(_POOL), own.get("used_bytes")
        if used is not None:
            name = f"Pool of caches · {book.name(str(pool.properties['join']))}"
            pools.append(TakenLine(pool.id, name, "", used, limit, "bytes", _POOL))
    return pools


def _bitmaps(book: Book, knobs: Sequence[Knob], titles: Mapping[str, str]) -> list[TakenLine]:
    """Bitmaps of the constructs of a unit, against the knob that bounds them."""
    taken: dict[str, float] = {}
    for entity in book.values():
        size = entity.properties.get("bitmap_bytes")
        if size is not None:
            taken[entity.unit_id] = taken.get(entity.unit_id, 0) + float(size)
    bitmaps = []
    for unit, size in taken.items():
        mib = _limit(knobs, (_BITMAPS,), unit)
        limit = None if mib is None else MIB * mib
        of = titles.get(unit, unit) if len(taken) > 1 else ""
        bitmaps.append(TakenLine("", "Bitmaps of constructs", of, size, limit, "bytes", _BITMAPS))
    return bitmaps


def _windows(
    book: Book, values: Values, knobs: Sequence[Knob], titles: Mapping[str, str]
) -> list[TakenLine]:
    windows = []
    profiles = book.of("profile")
    for profile in profiles:
        size = values.get(profile.id, {}).get("window_tuples")
        if size is not None:
            limit = _limit(knobs, _WINDOWS, profile.unit_id)
            knob = _limiting(knobs, profile.unit_id)
            note = "profiled tuples it keeps"
            of = f" · {titles.get(profile.unit_id, profile.unit_id)}" if len(profiles) > 1 else ""
            name = f"{profile.name}{of}"
            windows.append(TakenLine(profile.id, name, note, size, limit, "tuples", knob))
    return windows


def _queues(book: Book, values: Values) -> list[TakenLine]:
    sizes = [values.get(queue.id, {}).get("queue_bytes") for queue in book.of("queue")]
    known = [size for size in sizes if size is not None]
    if not known:
        return []
    note = "the most that waited in each in this batch"
    return [TakenLine("", "Queues between operators", note, sum(known), None, "bytes", "")]


def _holders(book: Book, values: Values) -> list[TakenLine]:
    """Synopses, stores and caches by themselves, the largest first."""
    lines = []
    for holder in book.of(*_HELD):
        size = _bytes(holder, values)
        if size:
            limit = values.get(holder.id, {}).get("granted_bytes")
            owner = book.owner(holder.id)
            note = f"{holder.role}{f' of {owner}' if owner else ''}"
            lines.append(TakenLine(holder.id, holder.name, note, size, limit, "bytes", ""))
    return sorted(lines, key=lambda line: (-line.value, line.name))[:MOST_HOLDERS]


def _bytes(entity: Entity, values: Values) -> float | None:
    own = values.get(entity.id, {})
    return next((size for name in _BYTES if (size := own.get(name)) is not None), None)


def _limiting(knobs: Sequence[Knob], unit: str) -> str:
    """The knob that bounds the profile window of a unit, ''."""
    own = [knob for knob in knobs if knob.name in _WINDOWS and knob.scope in (unit, "")]
    return next((knob.name for knob in own), "")


def _limit(knobs: Sequence[Knob], names: Sequence[str], unit: str) -> float | None:
    """What the knob of a unit allows, None where it is 0 or there is none; in a run of one unit
    knobs may have no scope."""
    limits = {knob.scope: float(knob.value) for knob in knobs if knob.name in names}
    return limits.get(unit, limits.get("")) or None
