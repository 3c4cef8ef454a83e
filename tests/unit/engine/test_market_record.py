"""Bids for the memory of a run: recorded, read again, and divided as the engine did."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.vocabulary.market import BIDS, Consumer, Market, asked, bids_matrix, consumers_in
from storage.vocabulary.memory import PAGE_BYTES, Bid, Tier, divided
from storage.vocabulary.records import Matrix

_tiers = st.builds(Tier, st.integers(1, 9), st.sampled_from([math.inf, 4.0, 2.0, 1.0, -1.0]))
_wants = st.dictionaries(
    st.sampled_from("abcd"),
    st.lists(_tiers, min_size=1, max_size=3).map(lambda t: sorted(t, key=lambda x: -x.priority)),
    min_size=1,
)
_bids = st.builds(
    Bid,
    _wants,
    st.integers(0, 20),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([0.25, 0.5]),
    st.just("pool"),
    unit=st.just("ns"),
    limit=st.sampled_from(["", "own"]),
    endless=st.booleans(),
    rate=st.sampled_from([0.0, 1.0, 3.0]),
    ranked=st.booleans(),
)
_consumers = st.dictionaries(st.sampled_from(["u j", "u k", "v j"]), _bids).map(
    lambda bids: {name: Consumer(name[0], bid) for name, bid in bids.items()}
)
_markets = st.builds(Market, st.none() | st.integers(0, 60 * PAGE_BYTES), _consumers)

JOIN: Final = Bid(
    {"often": [Tier(1, 8.0), Tier(1, 4.0)], "needed": [Tier(1, math.inf)], "rare": [Tier(2, 1.0)]},
    10,
    2,
    0.5,
    "pool",
    {"often": "cache:1"},
    "ns",
    "own",
)
MARKET: Final = Market(None, {"u j": Consumer("u", JOIN)})


def stored(matrix: Matrix) -> Matrix:
    """As it comes back from the store: through JSON."""
    return replace(matrix, row_stats=json.loads(json.dumps(matrix.row_stats, allow_nan=False)))


@given(_markets)
def test_bids_on_record_are_divided_as_they_were(market: Market) -> None:
    matrix = stored(bids_matrix(market, {}))
    again = market._replace(consumers=consumers_in(matrix))
    assert again.granted() == market.granted()
    assert again.price() == market.price()
    assert again.saved() == market.saved()
    cells = {
        (name, part): row
        for name, part, row in zip(
            matrix.row_stats.get("consumer", ()),
            matrix.row_stats.get("part", ()),
            matrix.values,
            strict=True,
        )
    }
    for name, parts in again.granted().items():
        for part, n_bytes in parts.items():
            assert cells[name, part] == [asked(market.consumers[name], part), n_bytes, None]


@given(_markets, st.integers(0, 60 * PAGE_BYTES))
def test_a_limit_is_kept_whatever_it_is(market: Market, n_bytes: int) -> None:
    given_all = market._replace(limit_bytes=n_bytes).granted()
    assert sum(sum(parts.values()) for parts in given_all.values()) <= n_bytes
    turned = market.turned("own", "u", n_bytes)
    for name, parts in turned.granted().items():
        one = turned.consumers[name]
        is_turned = (one.bid.limit, one.scope) == ("own", "u")
        is_free = one.bid.endless and not n_bytes
        assert is_free or not is_turned or sum(parts.values()) <= n_bytes
        assert one.scope == "u" or one == market.consumers[name]


def test_what_is_saved_and_its_price_are_for_each_tuple_of_all() -> None:
    """A page in each of two shards, of half the tuples: 8 saved by 8 KiB are 4 for a tuple."""
    assert MARKET.price() is None
    assert MARKET.saved() == {"ns": 0.5 * (8 + 4 + 2)}
    short = MARKET._replace(limit_bytes=6 * PAGE_BYTES)
    assert short.granted() == {
        "u j": {"often": 4 * PAGE_BYTES, "needed": 2 * PAGE_BYTES, "rare": 0}
    }
    assert short.price() == pytest.approx(0.5 * 4 / 8)
    assert short.saved() == {"ns": 0.5 * (8 + 4)}
    assert MARKET._replace(limit_bytes=2 * PAGE_BYTES).price() is None  # needed, not bid for


def test_a_matrix_names_what_the_bid_is_for() -> None:
    matrix = bids_matrix(MARKET, {"u j": {"often": 100}})
    assert (matrix.name, matrix.kind, matrix.rows) == (BIDS, BIDS, ("cache:1", "pool", "pool"))
    assert matrix.values[0] == [4 * PAGE_BYTES, 4 * PAGE_BYTES, 100]
    assert consumers_in(bids_matrix(Market(None, {}), {})) == {}
    nothing = Market(None, {"u j": Consumer("u", JOIN._replace(wants={}))})
    assert bids_matrix(nothing, {}).rows == ()


def test_no_limit_of_its_own_is_all_that_is_wanted() -> None:
    free = JOIN._replace(endless=True)
    assert (free.limited(0).n_pages, JOIN.limited(0).n_pages) == (5, 0)
    assert JOIN.limited(4 * PAGE_BYTES).n_pages == 2


@given(_markets, st.sampled_from([0.0, 1.0, 3.0]))
def test_another_price_divides_as_bids_at_it_would(market: Market, price: float) -> None:
    """A bid without that knob stays as it is."""
    priced = {
        name: one._replace(bid=one.bid._replace(priced="worth" if name == "u j" else ""))
        for name, one in market.consumers.items()
    }
    bids = {name: one.bid for name, one in priced.items()}
    if "u j" in bids:
        bids["u j"] = bids["u j"]._replace(rate=price)
    turned = market._replace(consumers=priced).turned("worth", "u", price)
    assert {name: one.bid for name, one in turned.consumers.items()} == bids
    if market.limit_bytes is not None:
        pages = divided(market.limit_bytes // PAGE_BYTES, bids)
        given = {name: sum(parts.values()) for name, parts in turned.granted().items()}
        assert given == {name: n * priced[name].page_bytes for name, n in pages.items()}
