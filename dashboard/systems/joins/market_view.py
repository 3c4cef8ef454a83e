"""The market of a pool of memory: caches that bid for it, what each has, what a turn brought.

Caches are served in descending order of bids, benefit less upkeep for each KB (card 10.5); the
lowest bid served is the price of the last KB. What a turn of the pool would do follows from the
same numbers (dashboard/systems/joins/market_rule.js).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dashboard.views.book import Book
from dashboard.views.knobs import named_in
from dashboard.views.numbers import Z_95
from storage.vocabulary.joins import CACHE_STATES
from storage.vocabulary.records import Entity, Knob

POOL: Final = "pool"
RUN_POOL: Final = "run pool"
CACHE: Final = "cache"
#: The knobs that are turned on the market: bytes of a pool, of that of all joins, caches that stay,
#: that may not be.
POOL_KNOB: Final = "pool_bytes"
RUN_KNOB: Final = "run_pool_bytes"
PIN_KNOB: Final = "pinned_caches"
FORBID_KNOB: Final = "forbidden_caches"
#: The knob that says what costs are.
COST_KNOB: Final = "join_costs"
#: Batches over which bids and costs are smoothed: estimates of single batches jump.
SMOOTHED: Final = 10
#: What is followed of pools and of caches over these batches.
COURSES: Final = ("plain_cost", "cached_cost", "cache_bid", "granted_bytes")

Values = Mapping[str, Mapping[str, float | None]]
#: Cache -> what it wants, tier by tier: bytes, cost a tuple and KB, cost a tuple.
Tiers = Mapping[str, Sequence[Sequence[float]]]
#: (Entity, property of COURSES) -> values of the last SMOOTHED batches, oldest first.
Courses = Mapping[tuple[str, str], Sequence[float]]


class CacheBid(NamedTuple):
    """A cache or a candidate for one. name: as knobs have it; short: beside its join. places: where
    it is looked up, 'in U, step 2'. state: of CACHE_STATES, else empty. choice: pinned, forbidden
    or empty. bid: cost a tuple and KB; benefit, upkeep: cost a tuple; used, granted, wanted:
    bytes; smooth: the bid, mean of the last batches; under: the grant that ``used`` was used under.
    tiers: what it wants at which priority; (): all at its bid. pool: of its join."""

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
    tiers: tuple[tuple[float, ...], ...]
    pool: str
    smooth: float | None = None
    under: float | None = None


class TurnEffect(NamedTuple):
    """The last turn of the pool, and what it brought, as the audit log has it."""

    batch: int
    old: float
    new: float
    words: str


class Saving(NamedTuple):
    """How many times dearer the join would be without its caches, with a 95 % interval over
    n batches. All of it is estimated on the profile."""

    times: float
    low: float
    high: float
    n: int


class MarketView(NamedTuple):
    """The market of one join, or of all joins of a unit, whose costs are then for each element of
    all. name: of its queries. bytes: of the pool, None = no limit; price: cost a tuple and KB, None
    while memory is left; plain, cached: cost a tuple without caches and with them, in ``cost``,
    means of the last batches; saving: what follows from them; plain_now: plain in the batch that
    the bids are of; entries: in the caches in use.
    bids: the highest first; knobs: by name. caps: pool -> its bytes, where ``bids`` are from
    several."""

    pool: str
    join: str
    unit: str
    name: str
    bytes: float | None
    granted: float | None
    used: float | None
    price: float | None
    plain: float | None
    cached: float | None
    cost: str
    bids: tuple[CacheBid, ...]
    effect: TurnEffect | None
    knobs: Mapping[str, Knob]
    caps: Mapping[str, float]
    saving: Saving | None = None
    entries: float = 0.0
    plain_now: float | None = None

    @property
    def is_of_run(self) -> bool:
        """Whether several joins share it."""
        return RUN_KNOB in self.knobs


def build_markets(
    book: Book,
    values: Values,
    knobs: Sequence[Knob],
    effects: Mapping[str, TurnEffect],
    courses: Courses,
    tiers: Tiers,
) -> list[MarketView]:
    """One for each pool, by name, that of all joins of a unit last. effects: unit -> the last turn
    of POOL_KNOB."""
    markets = []
    for pool in book.of(POOL):
        own = values.get(pool.id, {})
        join = str(pool.properties["join"])
        in_unit = {knob.name: knob for knob in knobs if knob.scope == pool.unit_id}
        plain, cached = (courses.get((pool.id, name), ()) for name in COURSES[:2])
        bids = _bids(book, values, pool.id, in_unit, tiers, courses)
        markets.append(
            MarketView(
                pool.id,
                join,
                pool.unit_id,
                book.title(join),
                own.get("pool_bytes"),
                own.get("granted_bytes"),
                own.get("used_bytes"),
                own.get("pool_price"),
                _average(plain, own.get("plain_cost")),
                _average(cached, own.get("cached_cost")),
                cost_unit(in_unit),
                bids,
                effects.get(pool.unit_id),
                {n: in_unit[n] for n in (POOL_KNOB, PIN_KNOB, FORBID_KNOB) if n in in_unit},
                {},
                saving_of(plain, cached),
                sum(bid.entries or 0.0 for bid in bids if bid.state == "used"),
                own.get("plain_cost"),
            )
        )
    markets.sort(key=lambda market: (-len(market.bids), market.name))
    return [*markets, *_of_runs(book, values, knobs, markets)]


def _average(course: Sequence[float], now: float | None) -> float | None:
    return float(np.mean(course)) if len(course) else now


def saving_of(plain: Sequence[float], cached: Sequence[float]) -> Saving | None:
    """Of costs of the same batches; None without two of them. A ratio: it is its logarithm that has
    a mean and an interval."""
    pairs = [(a, b) for a, b in zip(plain, cached, strict=False) if a > 0 and b > 0]
    if len(pairs) < 2:
        return None
    logs = np.log([a / b for a, b in pairs])
    mean, half = float(logs.mean()), float(Z_95 * logs.std(ddof=1) / math.sqrt(len(logs)))
    times, low, high = (math.exp(mean + side) for side in (0.0, -half, half))
    return Saving(times, low, high, len(pairs))


def _of_runs(
    book: Book, values: Values, knobs: Sequence[Knob], markets: Sequence[MarketView]
) -> list[MarketView]:
    """The pool that all joins of a run share."""
    runs = []
    for pool in book.of(RUN_POOL):
        knob = next((k for k in knobs if (k.name, k.scope) == (RUN_KNOB, pool.unit_id)), None)
        joins = [market for market in markets if market.pool in pool.properties["pools"]]
        if knob is not None and joins:
            shares = [values.get(join.pool, {}).get("element_share") or 0.0 for join in joins]
            runs.append(_of_run(pool, values.get(pool.id, {}), knob, joins, shares))
    return runs


def _of_run(
    pool: Entity,
    own: Mapping[str, float | None],
    knob: Knob,
    joins: Sequence[MarketView],
    shares: Sequence[float],
) -> MarketView:
    """shares: of each join, its elements for each element of all."""
    parts = list(zip(joins, shares, strict=True))
    bids = [_scaled(bid, share) for join, share in parts for bid in join.bids]
    return MarketView(
        pool.id,
        "",
        pool.unit_id,
        "all joins",
        own.get("pool_bytes"),
        own.get("granted_bytes"),
        own.get("used_bytes"),
        own.get("pool_price"),
        _mean([(join.plain, share) for join, share in parts]),
        _mean([(join.cached, share) for join, share in parts]),
        joins[0].cost,
        tuple(sorted((bid for bid in bids if bid.state == "used"), key=_rank)),
        None,
        {RUN_KNOB: knob},
        {join.pool: join.bytes for join in joins if join.bytes is not None},
        plain_now=_mean([(join.plain_now, share) for join, share in parts]),
    )


def _scaled(bid: CacheBid, share: float) -> CacheBid:
    """Its costs for each element of all joins."""
    bid_, benefit, upkeep = (_times(cost, share) for cost in (bid.bid, bid.benefit, bid.upkeep))
    tiers = tuple((n, priority * share, saving * share) for n, priority, saving in bid.tiers)
    return bid._replace(short=bid.name, bid=bid_, benefit=benefit, upkeep=upkeep, tiers=tiers)


def _times(value: float | None, share: float) -> float | None:
    return None if value is None else share * value


def _mean(parts: Sequence[tuple[float | None, float]]) -> float | None:
    """Of costs, each with the share of its join; None: none is known."""
    known = [value * share for value, share in parts if value is not None]
    return sum(known) if known else None


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
    tiers: Tiers,
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
        wants = tuple(tuple(map(float, tier)) for tier in tiers.get(cache.id, ()))
        own = values.get(cache.id, {})
        bids, grants = (courses.get((cache.id, name), ()) for name in COURSES[2:])
        smooth = _average(bids, own.get("cache_bid"))
        under = grants[-2] if len(grants) > 1 else own.get("granted_bytes")
        candidates.append(_bid(cache, own, choice, wants)._replace(smooth=smooth, under=under))
    return tuple(sorted(candidates, key=_rank))


def _rank(bid: CacheBid) -> tuple[bool, float, str]:
    """Used caches first, as they are served; then the others, as they bid."""
    return bid.state != "used", -(bid.bid or 0.0), bid.name


def _bid(
    cache: Entity,
    own: Mapping[str, float | None],
    choice: str,
    tiers: tuple[tuple[float, ...], ...],
) -> CacheBid:
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
        tiers,
        str(facts["pool"]),
    )


def _place(reader: Mapping[str, Any]) -> str:
    behind = f", step {reader['first'] + 1}" if reader["first"] else ""
    return f"in {reader['name']}{behind}"
