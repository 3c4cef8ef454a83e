"""Portfolios and bits that are chosen anew on the requests on record, against all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dashboard.base.context import Moment, resolve
from dashboard.panels.facts import scope_of
from dashboard.systems.amri import tried
from dashboard.systems.amri.recorded import RecordedWindow, windows_by_state
from dashboard.systems.amri.tried_mixes import best_mix, retuned
from dashboard.systems.amri.tried_view import AskedIndex, index_words, most_asked, tried_index
from storage.reader import Reader, open_reader
from storage.vocabulary.amri_configurations import configurations
from storage.vocabulary.amri_counts import StateCounts
from storage.vocabulary.amri_windows import PassedWindow, StateSeen
from storage.writer import open_engine_writer
from tests.oracles.amri_routes import cheapest_mix
from tests.web.recorded_amri import (
    ASKED,
    BUDGET,
    N_ASKED,
    N_CAME,
    N_STORED,
    RUN,
    SIZES,
    record_amri,
    seen_of,
)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    path = Path(tmp_path_factory.mktemp("amri")) / "runs.db"
    with open_engine_writer(str(path)) as writer:
        record_amri(writer, 12)
        with open_reader(str(path)) as opened:
            yield opened


def windows(reader: Reader, first: int, last: int) -> list[RecordedWindow]:
    context = resolve(reader, Moment(run=RUN))
    scope = scope_of(tried.PANEL, context, reader)
    return windows_by_state(reader, context, scope, (first, last))["s:S"]


@pytest.mark.parametrize("n_bytes", [0, SIZES[0], SIZES[1], sum(SIZES), 10 * sum(SIZES)])
def test_the_best_mix_is_the_best_of_all_that_fit(reader: Reader, n_bytes: int) -> None:
    """By one hash index for less, or by the bits: worked out mix by mix."""
    last = windows(reader, 11, 11)
    (recorded,) = last
    load, model = recorded.window.priced
    candidates = configurations((BUDGET,) * 2, BUDGET, at_most=True)
    words = {p: format(p, "02b") for p in load.patterns}
    by_bits = model.request_costs(load, candidates)
    matched = {words[p]: m for _, p, _, _, m, *_ in ASKED}
    modules = {
        m: {
            p: m.count("1") + matched[m]
            for p in words.values()
            if all(a <= b for a, b in zip(m, p, strict=True))
        }
        for m in words.values()
    }
    configs = [str(tuple(row)) for row in candidates.tolist()]
    each = zip(configs, by_bits.tolist(), strict=True)
    bit_costs = {c: dict(zip(words.values(), row, strict=True)) for c, row in each}
    asked = {words[p]: N_ASKED * share for _, p, share, *_ in ASKED}
    upkeep = {
        c: float(N_CAME * np.count_nonzero(row)) for c, row in zip(configs, candidates, strict=True)
    }
    upkeep |= {m: N_CAME * (m.count("1") + 1) for m in modules}
    sizes = {c: SIZES[0] * (c != str((0, 0))) if c in bit_costs else SIZES[1] for c in upkeep}
    least = cheapest_mix(bit_costs, modules, asked, upkeep, sizes, n_bytes)
    found = best_mix(last, candidates, most_asked(last, 4), n_bytes)
    assert sum(found.costs) == pytest.approx(least)
    assert sizes[str(found.bits)] + SIZES[1] * len(found.modules) <= n_bytes
    if not n_bytes:
        assert (found.bits, found.modules) == ((0, 0), ())


def test_a_portfolio_is_one_mix_for_the_whole_stretch(reader: Reader) -> None:
    some = windows(reader, 3, 9)
    found = tried_index(some, AskedIndex("S", "portfolio", ()), (2, 5), BUDGET)
    assert found.modules
    assert found.tried < min(found.fixed, found.hashed, found.scan)
    assert found.tried == pytest.approx(sum(row.tried for row in found.windows))
    words = index_words(found, ("a", "b"))
    assert words.startswith("the best mix: ")
    few = tried_index(some, AskedIndex("S", "portfolio", (-(-SIZES[0] // 1024),)), (2, 5), BUDGET)
    assert (any(few.bits), few.modules) == (True, ())
    assert index_words(few, ("a", "b")).startswith("the best mix within 63 KiB: bits a ")
    alone = tried_index(some, AskedIndex("S", "bits", few.bits), (2, 5), BUDGET)
    assert few.tried == pytest.approx(alone.tried)
    assert few.tried >= found.tried


def a_window(number: int, requests: int, bits: tuple[int, ...] = (1, 0)) -> RecordedWindow:
    counts = StateCounts(10, {1: (requests, 0, 0, 0, 0)})
    return RecordedWindow(number, number, 0.0, PassedWindow(bits, counts, 0, 50, 50, 1))


def test_bits_are_chosen_anew_every_so_many_requests() -> None:
    """After the second window the first two say b; after the fourth a tenth is not enough. All 50
    tuples move, two attributes hashed, taken out and in."""
    candidates = np.array([[0, 1], [1, 0]])
    costs = [
        np.array(of, dtype=float) for of in ([900, 1000], [90, 999], [500, 460], [0, 5], [7, 9])
    ]
    passed = [a_window(number, 100) for number in range(5)]
    found = retuned(passed, candidates, costs, 200, 0.1)
    assert found.bits == [(1, 0), (1, 0), (0, 1), (0, 1), (0, 1)]
    assert found.costs == [1000, 999 + 50 * 4, 500, 0, 7]
    assert found.n_changes == 1
    assert retuned(passed, candidates, costs, 200, 0.6).n_changes == 0
    each = retuned(passed, candidates, costs, 1, 0.0)
    assert each.bits == [(1, 0), (0, 1), (0, 1), (1, 0), (0, 1)]


def test_retuned_bits_follow_what_is_on_record(reader: Reader) -> None:
    some = windows(reader, 1, 11)
    found = tried_index(some, AskedIndex("S", "retuned", (N_ASKED,)), (5, 2), BUDGET, 0.0)
    assert found.made.n_changes >= 1
    assert found.sequence <= found.tried
    assert index_words(found, ("a", "b")).startswith("bits chosen anew every 2")
    never = tried_index(some, AskedIndex("S", "retuned", (10**9,)), (5, 2), BUDGET)
    same = tried_index(some, AskedIndex("S", "bits", some[0].window.bits), (5, 2), BUDGET)
    assert never.tried == pytest.approx(same.tried)
    assert never.bits == same.bits


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("S@portfolio 64@3-9", AskedIndex("S", "portfolio", (64,), (3, 9))),
        ("S@portfolio", AskedIndex("S", "portfolio")),
        ("S@retuned 5000", AskedIndex("S", "retuned", (5000,))),
    ],
)
def test_the_page_has_what_the_address_asks_for(
    reader: Reader, text: str, asked: AskedIndex
) -> None:
    assert AskedIndex.read(text) == asked
    context = resolve(reader, Moment(run=RUN, show=text))
    view = tried.build(reader, context, scope_of(tried.PANEL, context, reader))
    assert view is not None
    assert view.tried.method == asked.method
    assert set(view.knobs) == set(tried.KNOBS)
    if asked.numbers:
        assert asked.numbers[0] in (view.tried.made.kib, view.tried.made.every)


def test_records_without_sizes_are_read() -> None:
    """As runs were recorded before the what-if had portfolios."""
    known = seen_of(3)
    older = StateSeen.read(known.json()[:-1])
    assert older == known._replace(sizes=(0, 0))
    assert older.n_tuples == N_STORED
