"""The market for the memory of a run: bids on record to a view, and what another limit would do."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import pytest

from dashboard.views.book import Book
from dashboard.views.market import (
    RUN_KNOB,
    MarketView,
    MemoryPool,
    Tie,
    build_market,
    by_bid,
    came_to,
    repriced,
    tried,
)
from storage.vocabulary.market import Consumer, Market, bids_matrix
from storage.vocabulary.memory import PAGE_BYTES, Bid, Tier
from storage.vocabulary.records import Entity, Knob

PAGE: Final = PAGE_BYTES
BOOK: Final = Book(
    [
        Entity("pool", "pool", "Pool of the run", role="run pool"),
        Entity("own", "pool", "Pool of four", unit_id="u", role="pool"),
        Entity("c1", "cache", "R ⋈ S", unit_id="u", role="cache"),
        Entity("c2", "cache", "S ⋈ T", unit_id="u", role="cache"),
        Entity("join", "operator", "a and b", unit_id="v", role="join"),
        Entity("held", "synopsis", "tuples of R", unit_id="u", role="synopsis"),
        Entity("none", "synopsis", "tuples of S", unit_id="u", role="synopsis"),
        Entity("w", "operator", "[Range 8 Hours]", unit_id="c", role="shed"),
    ]
)
VALUES: Final = {
    "c1": {"size_tuples": 12.0},
    "held": {"state_bytes": 9000.0},
    "w": {"limited_tuples": 400.0},
}
CACHES: Final = Bid(
    {"1": [Tier(2, 8.0)], "2": [Tier(1, 4.0), Tier(1, 2.0)]},
    16,
    1,
    0.5,
    "own",
    {"1": "c1", "2": "c2"},
    "ns",
    "own_bytes",
)
NEEDED: Final = Bid({"all": [Tier(1, math.inf)]}, 1, 1, 0.5, "join", unit="ns")
MARKET: Final = Market(4 * PAGE, {"u j": Consumer("u", CACHES), "v k": Consumer("v", NEEDED)})
NAMES: Final = {"u j|1": "R ⋈ S", "u j|2": "S ⋈ T"}


def knob(name: str, value: int, scope: str) -> Knob:
    return Knob(name, "int", value, value, "bytes", "", scope=scope)


KNOBS: Final = [
    knob(RUN_KNOB, 4 * PAGE, ""),
    knob("own_bytes", 16 * PAGE, "u"),
    knob("memory_tuples", 500, "c"),
]


def view_of(market: Market) -> MarketView:
    used = {"u j": {"1": 5000}}
    view = build_market(BOOK, VALUES, KNOBS, market, bids_matrix(market, used))
    assert view is not None
    return view


def pool_of(id: str) -> MemoryPool:
    return next(pool for pool in view_of(MARKET).pools if pool.id == id)


def test_bids_stand_as_they_are_served_with_what_they_ask_have_and_hold() -> None:
    view = view_of(MARKET)
    told = [(b.name, b.role, b.holder_name, b.asked, b.granted) for b in view.bids]
    assert told == [
        ("a and b", "join", "a and b", PAGE, PAGE),
        ("R ⋈ S", "cache", "Pool of four", 2 * PAGE, 2 * PAGE),
        ("S ⋈ T", "cache", "Pool of four", 2 * PAGE, PAGE),
    ]
    assert [b.gain for b in view.bids] == [None, pytest.approx(1.0), pytest.approx(0.375)]
    assert [(b.used, b.tuples) for b in view.bids] == [(None, None), (5000, 12), (None, None)]
    assert view.price == pytest.approx(0.5 * 4 / 4)
    assert view.units == ("ns",)


def test_a_pool_is_that_of_the_run_or_a_limit_of_a_bidder() -> None:
    run, own = view_of(MARKET).pools
    assert (run.id, run.knob.name, run.limit, run.endless) == ("", RUN_KNOB, 4 * PAGE, True)
    assert run.bids == ("v k|all", "u j|1", "u j|2")
    assert (own.name, own.limit, own.endless) == ("Pool of four", 16 * PAGE, False)
    assert own.bids == ("u j|1", "u j|2")
    free = Market(None, {"u j": Consumer("u", CACHES._replace(endless=True))})
    knobs = [replace(one, value=0) for one in KNOBS]
    view = build_market(BOOK, VALUES, knobs, free, bids_matrix(free, {}))
    assert view is not None
    assert [pool.limit for pool in view.pools] == [None, None]


def test_what_holds_memory_without_a_bid_is_told_as_that() -> None:
    limited, held = view_of(MARKET).others
    assert (limited.name, limited.size, limited.limit) == ("[Range 8 Hours]", 400, 500)
    assert (limited.unit, limited.knob) == ("tuples", "memory_tuples")
    assert (held.name, held.size, held.limit, held.knob) == ("tuples of R", 9000, None, "")


def test_a_run_in_which_nobody_could_bid_has_no_market() -> None:
    book = Book(one for one in BOOK.values() if one.role == "synopsis")
    assert build_market(book, VALUES, KNOBS, Market(None, {}), None) is None
    window = Book(one for one in BOOK.values() if one.role == "shed")
    view = build_market(window, VALUES, KNOBS, Market(None, {}), None)
    assert view is not None
    assert (view.bids, view.pools, len(view.others)) == ((), (), 1)


def test_a_smaller_pool_takes_from_the_lowest_bid_first_and_a_larger_one_gives() -> None:
    less = tried(MARKET, NAMES, pool_of(""), 2 * PAGE)
    assert less.granted == {"v k|all": PAGE, "u j|1": PAGE, "u j|2": 0}
    saving = "estimated saving −60.0\u2009%."
    assert less.words == f"S ⋈ T goes, with 4\u2009KiB, then R ⋈ S gives 4\u2009KiB; {saving}"
    assert less.price == pytest.approx(1.0)
    free = tried(MARKET, NAMES, pool_of(""), 0)
    assert free.words == "S ⋈ T gets 4\u2009KiB; estimated saving +10.0\u2009%."
    assert free.price is None


def test_a_limit_of_a_bidder_is_tried_beside_that_of_the_run() -> None:
    own = tried(MARKET, NAMES, pool_of("u j"), PAGE)
    assert own.granted == {"v k|all": PAGE, "u j|1": PAGE, "u j|2": 0}
    same = tried(MARKET, NAMES, pool_of("u j"), 16 * PAGE)
    assert same.granted == by_bid(MARKET)
    assert same.words.startswith("nobody has to give way, and nobody gains; ")


def test_a_bid_has_its_tiers_and_a_turn_a_share_before_and_after_it() -> None:
    view = view_of(MARKET)
    assert [bid.tiers for bid in view.bids] == [
        ((PAGE, None),),
        ((2 * PAGE, 1.0),),
        ((PAGE, 0.5), (PAGE, 0.25)),
    ]
    dearer = CACHES._replace(wants={**CACHES.wants, "1": [Tier(2, 16.0)]})
    now = Market(2 * PAGE, {**MARKET.consumers, "u j": Consumer("u", dearer)})
    less = tried(MARKET, NAMES, pool_of(""), 2 * PAGE)
    assert less.share == pytest.approx(-0.6)  # a page at 1 of two of them and one at 0.5 stays
    assert came_to(now, pool_of(""), 4 * PAGE) == pytest.approx(-5 / 9)  # it saves twice as much
    assert came_to(now, pool_of(""), PAGE) is None


def test_savings_in_other_units_have_no_price_together() -> None:
    other = Consumer("v", NEEDED._replace(wants={"all": [Tier(1, 3.0)]}, unit="probes"))
    mixed = MARKET._replace(consumers={**MARKET.consumers, "v k": other})
    assert view_of(mixed).price is None
    assert view_of(mixed).units == ("ns", "probes")
    told = tried(mixed, NAMES, pool_of(""), 2 * PAGE)
    assert told.words.endswith("% of ns, −100\u2009% of probes.")
    nothing = tried(Market(None, {"v k": MARKET.consumers["v k"]}), {}, pool_of(""), PAGE)
    assert nothing.words.endswith("; what that saves is not known yet.")


#: A window beside the caches: its first page is worth 6 at a price of 1, a second one 1.
WINDOW: Final = Bid(
    {"window": [Tier(1, 6.0), Tier(1, 1.0)]}, 2, 1, 0.5, "w", unit="ns", rate=1.0, priced="worth"
)


def test_a_price_has_marks_where_bids_change_places_and_divides_them_again() -> None:
    """On average the window saves 3.5 a page, one cache 8, the other 3."""
    caches = Consumer("u", CACHES)
    mixed = Market(3 * PAGE, {"u j": caches, "c w": Consumer("c", WINDOW)})
    worth = Knob("worth", "float", 1.0, 1.0, "us/tuple", "", low=0, high=100, scope="c")
    view = build_market(BOOK, VALUES, [*KNOBS, worth], mixed, bids_matrix(mixed, {}))
    assert view is not None
    (price,) = view.prices
    assert (price.knob, price.holders) == (worth, "[Range 8 Hours]")
    first, second = sorted(price.ties, key=lambda tie: tie.value)
    assert first == Tie("u j|2", "S ⋈ T", "[Range 8 Hours]", 3 / 3.5)
    assert second == Tie("u j|1", "R ⋈ S", "[Range 8 Hours]", 8 / 3.5)
    names = {**NAMES, "c w|window": "[Range 8 Hours]"}
    assert by_bid(mixed) == {"u j|1": 2 * PAGE, "u j|2": 0, "c w|window": PAGE}
    free = repriced(mixed, names, price, 0)
    assert free.granted == {"u j|1": 2 * PAGE, "u j|2": PAGE, "c w|window": 0}
    assert free.words == "[Range 8 Hours] goes, with 4\u2009KiB, then S ⋈ T comes, with 4\u2009KiB."
    dear = repriced(mixed, names, price, 100)
    assert dear.granted == {"u j|1": PAGE, "u j|2": 0, "c w|window": 2 * PAGE}
    assert dear.words == "R ⋈ S gives 4\u2009KiB, then [Range 8 Hours] gets 4\u2009KiB."
    assert view_of(MARKET).prices == ()
