"""The caches of joins: what each candidate bids, holds and is used for, and what they save.

A bid is benefit less upkeep for each KB (card 10.5). How the pool is divided by the bids of all
consumers is on the market of the run (dashboard/panels/common/market.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dashboard.systems.joins.words import CACHES
from dashboard.views.book import Book
from dashboard.views.gain import claim
from dashboard.views.knobs import named_in
from dashboard.views.saved import SavedShare, last_batches, saved
from storage.vocabulary.joins import CACHE_STATES
from storage.vocabulary.records import Entity, Knob

POOL: Final = "pool"
CACHE: Final = "cache"
#: The knobs that are turned here: caches that stay, that may not be.
PIN_KNOB: Final = "pinned_caches"
FORBID_KNOB: Final = "forbidden_caches"
#: The knob that says what costs are.
COST_KNOB: Final = "join_costs"
#: What is followed of pools and of caches over the recent batches.
COURSES: Final = ("plain_cost", "cached_cost", "cache_bid", "granted_bytes")

Values = Mapping[str, Mapping[str, float | None]]
#: (Entity, property of COURSES) -> values of the last RECENT batches, oldest first.
Courses = Mapping[tuple[str, str], Sequence[float]]


class CacheBid(NamedTuple):
    """A cache or a candidate for one. name: as knobs have it; short: beside its join. places: where
    it is looked up, 'in U, step 2'. state: of CACHE_STATES, else empty. choice: pinned, forbidden
    or empty. bid: cost a tuple and KB; benefit, upkeep: cost a tuple; used, granted, wanted:
    bytes; smooth: the bid, mean of the last batches; under: the grant that ``used`` was used
    under."""

    id: str
    name: str
    short: str
    key: str
    places: tuple[str, ...]
    state: str
    choice: str
    bid: float | None
    benefit: float | None
    upkeep: float | None
    hit: float | None
    miss: float | None
    probes: float | None
    entries: float | None
    used: float | None
    granted: float | None
    wanted: float | None
    smooth: float | None = None
    under: float | None = None


class CachesView(NamedTuple):
    """The caches of one join. name: of its queries. price: cost a tuple and KB, None while memory
    is left; plain, cached: cost a tuple without caches and with them, in ``cost``, means of the
    last batches; saving: what follows from them, None before there are two; entries: in the caches
    in use. bids: the highest first; knobs: by name."""

    pool: str
    join: str
    unit: str
    name: str
    price: float | None
    plain: float | None
    cached: float | None
    cost: str
    bids: tuple[CacheBid, ...]
    knobs: Mapping[str, Knob]
    saving: SavedShare | None
    entries: float

    @property
    def verdict(self) -> str:
        """What caches save, as the headline has it; nothing where none holds anything."""
        if self.saving is None:
            return "Not measured yet"
        if not self.entries:
            return "Nothing is cached yet"
        lead, figure, _ = claim(CACHES, self.saving)
        return f"{lead} {figure}".rstrip()


def build_caches(
    book: Book, values: Values, knobs: Sequence[Knob], courses: Courses
) -> list[CachesView]:
    """One for each join, that with most candidates first."""
    joins = []
    for pool in book.of(POOL):
        own = values.get(pool.id, {})
        join = str(pool.properties["join"])
        in_unit = {knob.name: knob for knob in knobs if knob.scope == pool.unit_id}
        plain, cached = (courses.get((pool.id, name), ()) for name in COURSES[:2])
        bids = _bids(book, values, pool.id, in_unit, courses)
        joins.append(
            CachesView(
                pool.id,
                join,
                pool.unit_id,
                book.title(join),
                own.get("pool_price"),
                _average(plain, own.get("plain_cost")),
                _average(cached, own.get("cached_cost")),
                cost_unit(in_unit),
                bids,
                {n: in_unit[n] for n in (PIN_KNOB, FORBID_KNOB) if n in in_unit},
                _saving(plain, cached),
                sum(bid.entries or 0.0 for bid in bids if bid.state == "used"),
            )
        )
    return sorted(joins, key=lambda view: (-len(view.bids), view.name))


def _average(course: Sequence[float], now: float | None) -> float | None:
    return float(np.mean(course)) if len(course) else now


def _saving(plain: Sequence[float], cached: Sequence[float]) -> SavedShare | None:
    """Of costs of the same batches; None without two of them."""
    saving = saved(cached, plain, last_batches(min(len(plain), len(cached))))
    return saving if saving is not None and saving.low is not None else None


def cost_unit(knobs: Mapping[str, Knob]) -> str:
    """What costs of joins are, by the knobs of their unit."""
    knob = knobs.get(COST_KNOB)
    return "probes" if knob is not None and knob.value == "counted" else "µs"


def state_of(value: float | None) -> str:
    """The word of a ``cache_state``; '' for what is none."""
    place = -1 if value is None else round(value)
    return CACHE_STATES[place] if 0 <= place < len(CACHE_STATES) else ""


def _bids(
    book: Book,
    values: Values,
    pool: str,
    knobs: Mapping[str, Knob],
    courses: Courses,
) -> tuple[CacheBid, ...]:
    pinned, forbidden = (named_in(knobs.get(name)) for name in (PIN_KNOB, FORBID_KNOB))
    candidates = []
    for cache in book.of(CACHE):
        if cache.properties["pool"] != pool:
            continue
        names = {cache.name, str(cache.properties["short_name"])}
        choice = "pinned" if names & set(pinned) else ""
        choice = "forbidden" if names & set(forbidden) else choice
        own = values.get(cache.id, {})
        bids, grants = (courses.get((cache.id, name), ()) for name in COURSES[2:])
        smooth = _average(bids, own.get("cache_bid"))
        under = grants[-2] if len(grants) > 1 else own.get("granted_bytes")
        candidates.append(_bid(cache, own, choice)._replace(smooth=smooth, under=under))
    return tuple(sorted(candidates, key=_rank))


def _rank(bid: CacheBid) -> tuple[bool, float, str]:
    """Used caches first, as they are served; then the others, as they bid."""
    return bid.state != "used", -(bid.bid or 0.0), bid.name


def _bid(cache: Entity, own: Mapping[str, float | None], choice: str) -> CacheBid:
    facts = cache.properties
    return CacheBid(
        cache.id,
        cache.name,
        str(facts["short_name"]),
        ", ".join(facts["key"]),
        tuple(_place(reader) for reader in facts["readers"]),
        state_of(own.get("cache_state")),
        choice,
        own.get("cache_bid"),
        own.get("cache_benefit"),
        own.get("cache_upkeep"),
        own.get("hit_prob"),
        own.get("miss_prob"),
        own.get("cache_probes"),
        own.get("cache_entries"),
        own.get("used_bytes"),
        own.get("granted_bytes"),
        own.get("wanted_bytes"),
    )


def _place(reader: Mapping[str, Any]) -> str:
    behind = f", step {reader['first'] + 1}" if reader["first"] else ""
    return f"in {reader['name']}{behind}"
