"""The market for the memory of a run: who bids for what, what each has, and who does not bid.

All of it follows from the bids on record; what another limit would do, too: they are divided again
by the rule of the engine (storage.vocabulary.market).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.base.face import HeldMemory, told
from dashboard.components.formats import show
from dashboard.components.names import words_of
from dashboard.views.book import Book
from dashboard.views.takes import BYTES, Values
from storage.vocabulary.market import Consumer, Market, asked
from storage.vocabulary.records import Knob, Matrix

RUN_POOL: Final = "run pool"
#: The knob that limits it.
RUN_KNOB: Final = "run_pool_bytes"
#: Moves that are told one by one.
_MOST_MOVES: Final = 5
#: Roles of what holds memory in every network, and how much it is.
_HOLDING: Final = dict.fromkeys(("synopsis", "store"), HeldMemory(BYTES, "bytes"))


class MemoryBid(NamedTuple):
    """A part of a consumer. id: of its bid; entity: what it is for; role: of that; holder: the
    entity of its consumer. asked, granted, used: bytes; tuples: that it holds. gain: what a KiB
    saves for each tuple of all, mean of what it asks for, None = it is served before all bids;
    tiers: (bytes, what a KiB of them saves), in the order in which they are filled."""

    id: str
    entity: str
    name: str
    role: str
    holder: str
    holder_name: str
    asked: int
    granted: int
    used: float | None
    tuples: float | None
    gain: float | None
    unit: str
    tiers: tuple[tuple[int, float | None], ...] = ()


class MemoryPool(NamedTuple):
    """What bids share: the pool of the run, or what a consumer has a limit of its own for. id: of
    the consumer, '' = the run. limit: bytes, None = none; asked: what its bids ask for. endless: 0
    of its knob is no limit."""

    id: str
    name: str
    knob: Knob
    limit: int | None
    asked: int
    endless: bool
    bids: tuple[str, ...]


class Tie(NamedTuple):
    """The price from which on ``over`` comes before another bid, by what they save on average."""

    bid: str
    name: str
    over: str
    value: float


class BidPrice(NamedTuple):
    """A knob that all that some consumers save is multiplied by. holders: what they are, in
    words."""

    id: str
    name: str
    holders: str
    knob: Knob
    ties: tuple[Tie, ...]


class NoBid(NamedTuple):
    """What holds memory and does not bid for it. size: of what it holds, None = not told; limit:
    of its own, in ``unit``, None = none; knob: that sets it, ''; of: the operator it is of, ''."""

    entity: str
    name: str
    role: str
    size: float | None
    limit: float | None
    unit: str
    knob: str
    of: str = ""


class MarketView(NamedTuple):
    """Who shares memory. bids: those that are served before all others, then the highest first;
    price: cost for each tuple of all and KiB, None while memory is left; units: of what bids save;
    others: those without a bid. prices: by which bids in one unit are held against others."""

    bids: tuple[MemoryBid, ...]
    pools: tuple[MemoryPool, ...]
    others: tuple[NoBid, ...]
    price: float | None
    units: tuple[str, ...]
    prices: tuple[BidPrice, ...] = ()


class TriedLimit(NamedTuple):
    """What a limit would do. granted: bytes by bid; price: as of a view; words: who gives way, who
    gains, and what that comes to; share: what all bids save more, None where that is in several
    units, or they save nothing."""

    granted: Mapping[str, int]
    price: float | None
    words: str
    share: float | None = None


def build_market(
    book: Book, values: Values, knobs: Sequence[Knob], market: Market, matrix: Matrix | None
) -> MarketView | None:
    """matrix: that ``market`` was read from. None: nobody bids, and nothing has a limit of its own
    that could."""
    used = _used(matrix)
    bids = sorted((_bid(book, values, used, *part) for part in _parts(market)), key=_rank)
    others = _others(book, values, knobs, market)
    pools = tuple(_pools(book, knobs, market, bids))
    if not pools and not any(other.knob for other in others):
        return None
    units = tuple(dict.fromkeys(bid.unit for _, bid in market.consumers.values() if bid.unit))
    price = market.price() if len(units) < 2 else None
    prices = tuple(_prices(book, knobs, market, bids))
    return MarketView(tuple(bids), pools, tuple(others), price, units, prices)


def tried(market: Market, names: Mapping[str, str], pool: MemoryPool, n_bytes: int) -> TriedLimit:
    """What the bids come to when the knob of a pool has another value. names: of bids, by id."""
    after = _limited(market, pool, n_bytes)
    before_by, after_by = by_bid(market), by_bid(after)
    price = after.price() if len(after.saved()) < 2 else None
    words = f"{_moves(market, names, before_by, after_by)}; {_effect(market, after)}."
    return TriedLimit(after_by, price, words, _more(market, after))


def _limited(market: Market, pool: MemoryPool, n_bytes: int) -> Market:
    if pool.id:
        return market.turned(pool.knob.name, pool.knob.scope, n_bytes)
    return market._replace(limit_bytes=n_bytes or None)


def came_to(market: Market, pool: MemoryPool, old: int) -> float | None:
    """What the bids save more than under the limit before, as TriedLimit.share."""
    return _more(_limited(market, pool, old), market)


def _more(before: Market, after: Market) -> float | None:
    saved, then = before.saved(), after.saved()
    if len(saved) != 1 or saved.keys() != then.keys():
        return None
    (unit,) = saved
    return then[unit] / saved[unit] - 1 if saved[unit] > 0 else None


def repriced(market: Market, names: Mapping[str, str], price: BidPrice, value: float) -> TriedLimit:
    """What the bids come to at another value of the knob of a price. What they save is not told:
    it would be in another measure."""
    after = market.turned(price.knob.name, price.knob.scope, value)
    before_by, after_by = by_bid(market), by_bid(after)
    lowest = after.price() if len(after.saved()) < 2 else None
    return TriedLimit(after_by, lowest, f"{_moves(market, names, before_by, after_by)}.")


def by_bid(market: Market) -> dict[str, int]:
    """Bytes by id of a bid."""
    granted = market.granted().items()
    return {_id(name, part): n for name, parts in granted for part, n in parts.items()}


def _id(consumer: str, part: str) -> str:
    return f"{consumer}|{part}"


def _parts(market: Market) -> Iterator[tuple[str, Consumer, str, int]]:
    for name, parts in market.granted().items():
        for part, n_bytes in parts.items():
            yield name, market.consumers[name], part, n_bytes


def _used(matrix: Matrix | None) -> dict[str, float | None]:
    """Bytes that each bid's part used, by id."""
    if matrix is None or not matrix.row_stats:
        return {}
    place, stats = matrix.columns.index("used_bytes"), matrix.row_stats
    parts = zip(stats["consumer"], stats["part"], matrix.values, strict=True)
    return {_id(consumer, part): row[place] for consumer, part, row in parts}


def _bid(
    book: Book,
    values: Values,
    used: Mapping[str, float | None],
    name: str,
    consumer: Consumer,
    part: str,
    granted: int,
) -> MemoryBid:
    id, entity = _id(name, part), consumer.bid.parts.get(part, consumer.bid.entity)
    wants = asked(consumer, part)
    gains = [(consumer.gain(tier), n) for tier, n in consumer.served(part, wants)]
    gain = None
    if all(each is not None for each, _ in gains):
        gain = sum((each or 0.0) * n for each, n in gains) / wants if wants else 0.0
    return MemoryBid(
        id,
        entity,
        book.name(entity),
        book.role(entity),
        consumer.bid.entity,
        book.name(consumer.bid.entity),
        wants,
        granted,
        used.get(id),
        values.get(entity, {}).get("size_tuples"),
        gain,
        consumer.bid.unit,
        tuple((n, each) for each, n in gains),
    )


def _rank(bid: MemoryBid) -> tuple[bool, float, str]:
    return bid.gain is not None, -(bid.gain or 0.0), bid.name


def _pools(
    book: Book, knobs: Sequence[Knob], market: Market, bids: Sequence[MemoryBid]
) -> Iterator[MemoryPool]:
    run = book.first(RUN_POOL)
    own = next((knob for knob in knobs if (knob.name, knob.scope) == (RUN_KNOB, "")), None)
    if run and own is not None:
        yield _pool("", book.name(run), own, True, bids)._replace(limit=market.limit_bytes)
    for name, (scope, bid) in market.consumers.items():
        own = next((knob for knob in knobs if (knob.name, knob.scope) == (bid.limit, scope)), None)
        if own is not None:
            ids = {_id(name, part) for part in bid.wants}
            shared = [offer for offer in bids if offer.id in ids]
            yield _pool(name, book.name(bid.entity), own, bid.endless, shared)


def _prices(
    book: Book, knobs: Sequence[Knob], market: Market, bids: Sequence[MemoryBid]
) -> Iterator[BidPrice]:
    by_knob: dict[tuple[str, str], list[str]] = {}
    for name, (scope, bid) in market.consumers.items():
        if bid.priced:
            by_knob.setdefault((bid.priced, scope), []).append(name)
    by_name = {(knob.name, knob.scope): knob for knob in knobs}
    for key, names in by_knob.items():
        knob = by_name.get(key)
        if knob is None:
            continue
        ids = {_id(name, part): name for name in names for part in market.consumers[name].bid.wants}
        own = [offer for offer in bids if offer.id in ids and offer.gain]
        holders = dict.fromkeys(book.name(market.consumers[name].bid.entity) for name in names)
        ties = tuple(_ties(own, [offer for offer in bids if offer.id not in ids], market, ids))
        id = "|".join((*key, "price"))
        yield BidPrice(id, words_of(knob.name), ", ".join(holders), knob, ties)


def _ties(
    own: Sequence[MemoryBid], others: Sequence[MemoryBid], market: Market, ids: Mapping[str, str]
) -> Iterator[Tie]:
    """With the bid that is served first of those with the price."""
    rates = {bid.id: market.consumers[ids[bid.id]].bid.rate for bid in own}
    if not own:
        return
    first = max(own, key=lambda bid: (bid.gain or 0.0) / rates[bid.id])
    for other in others:
        if other.gain and other.unit == first.unit:
            value = other.gain * rates[first.id] / (first.gain or 1.0)
            yield Tie(other.id, other.name, first.name, value)


def _pool(id: str, name: str, knob: Knob, endless: bool, bids: Sequence[MemoryBid]) -> MemoryPool:
    limit = None if endless and not knob.value else int(knob.value)
    asked = sum(bid.asked for bid in bids)
    return MemoryPool(id, name, knob, limit, asked, endless, tuple(bid.id for bid in bids))


def _others(book: Book, values: Values, knobs: Sequence[Knob], market: Market) -> list[NoBid]:
    """What has a limit of its own, then what holds memory by itself; the largest first."""
    bidding = {bid.entity for _, bid in market.consumers.values()}
    bidding |= {part for _, bid in market.consumers.values() for part in bid.parts.values()}
    limits = {(knob.name, knob.scope): knob for knob in knobs}
    others = []
    for role, held in {**_HOLDING, **told("holds")}.items():
        for entity in book.of(role):
            size = values.get(entity.id, {}).get(held.property)
            knob = limits.get((held.limit, entity.unit_id))
            if entity.id not in bidding and (size or knob):
                limit = float(knob.value) or None if knob else None
                others.append(
                    NoBid(
                        entity=entity.id,
                        name=entity.name,
                        role=role,
                        size=size,
                        limit=limit,
                        unit=held.unit,
                        knob=knob.name if knob else "",
                        of=book.owner(entity.id),
                    )
                )
    return sorted(others, key=lambda bid: (not bid.knob, -(bid.size or 0.0), bid.name))


def _moves(
    market: Market, names: Mapping[str, str], before: Mapping[str, int], after: Mapping[str, int]
) -> str:
    """Those that lose in the order they give way, then those that gain in the order they are
    served."""
    order = [_id(name, part) for name, _, part, _ in sorted(_parts(market), key=_served_at)]
    lose = [id for id in order[::-1] if after[id] < before[id]]
    gain = [id for id in order if after[id] > before[id]]
    moves = [_move(names.get(id, id), before[id], after[id]) for id in (*lose, *gain)]
    if not moves:
        return "nobody has to give way, and nobody gains"
    more = [f"{len(moves) - _MOST_MOVES} more"] if len(moves) > _MOST_MOVES else []
    return ", then ".join([*moves[:_MOST_MOVES], *more])


def _served_at(granted_part: tuple[str, Consumer, str, int]) -> tuple[bool, float]:
    _, consumer, part, _ = granted_part
    tiers = consumer.bid.wants[part]
    first = consumer.gain(tiers[0]) if tiers else 0.0
    return first is not None, -(first or 0.0)


def _move(name: str, before: int, after: int) -> str:
    size = show(abs(after - before), "bytes")
    if after < before:
        return f"{name} gives {size}" if after else f"{name} goes, with {size}"
    return f"{name} gets {size}" if before else f"{name} comes, with {size}"


def _effect(before: Market, after: Market) -> str:
    """What the bids save, for each unit that they are in."""
    now, then = before.saved(), after.saved()
    shares = {unit: then.get(unit, 0.0) / now[unit] - 1 for unit in now if now[unit] > 0}
    if not shares:
        return "what that saves is not known yet"
    each = [f"{_signed(share)}{f' of {unit}' * (len(now) > 1)}" for unit, share in shares.items()]
    return f"estimated saving {', '.join(each)}"


def _signed(share: float) -> str:
    return f"{'−' if share < 0 else '+'}{show(abs(share), 'pct')}"
