"""What other indexes would have cost on the requests on record, worked out again by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.base.context import Context, Moment, resolve
from dashboard.panels.facts import scope_of
from dashboard.systems.amri import bits, lattice, tried
from dashboard.systems.amri.lattice_figure import draw_lattices
from dashboard.systems.amri.recorded import RecordedWindow, windows_by_state
from dashboard.systems.amri.tried_figure import draw_windows
from dashboard.systems.amri.tried_view import (
    AskedIndex,
    bits_by_attribute,
    earned_bits,
    index_words,
    tried_index,
)
from storage.reader import Reader, open_reader
from storage.vocabulary.amri_costs import even_split
from storage.vocabulary.amri_counts import StateCounts
from storage.vocabulary.amri_windows import StateSeen
from storage.writer import open_engine_writer
from tests.unit.amri.running_eddies import run_of
from tests.unit.dashboard_pages.figures import checked
from tests.web.recorded_amri import (
    ASKED,
    BUDGET,
    MOVED,
    N_ASKED,
    N_CAME,
    N_PARTITIONS,
    N_STORED,
    RUN,
    bits_of,
    record_amri,
)

N_BATCHES = 12
#: Of a and b: stored tuples for each that a request for it alone matched.
DISTINCT = tuple(N_STORED / next(m for _, p, _, _, m, _ in ASKED if p == own) for own in (2, 1))
SPECIFIED = {2: (0,), 1: (1,), 3: (0, 1)}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    path = str(tmp_path_factory.mktemp("amri") / "runs.db")
    with open_engine_writer(path) as writer:
        record_amri(writer, N_BATCHES)
        with open_reader(path) as opened:
            yield opened


def at(reader: Reader, show: str | None = None, batch: int | None = None) -> Context:
    return resolve(reader, Moment(run=RUN, show=show, at=batch))


def windows(
    reader: Reader, stretch: tuple[int | None, int | None] = (None, None), batch: int | None = None
) -> list[RecordedWindow]:
    context = at(reader, batch=batch)
    return windows_by_state(reader, context, scope_of(tried.PANEL, context, reader), stretch)["s:S"]


def work(bits: Sequence[int], b: int) -> float:
    """What the requests of a batch would have cost: what they compared, less or more by the share
    of tuples that codes leave."""
    old = bits_of("S", b - 1)

    def left(own: Sequence[int], attributes: Sequence[int]) -> float:
        share = 1.0
        for k in attributes:
            share *= max(float(2 ** -own[k]), 1 / DISTINCT[k])
        return share

    def visits(own: Sequence[int]) -> float:
        occupied = min(1 / left(own, (0, 1)), N_STORED / N_PARTITIONS)
        wild = {p: sum(own[k] for k in (0, 1) if k not in of) for p, of in SPECIFIED.items()}
        each = {p: N_PARTITIONS * min(float(2 ** wild[p]), occupied) for p in wild}
        return sum(N_ASKED * share * each[p] for _, p, share, *_ in ASKED)

    visited = sum(N_ASKED * share * n for _, _, share, _, _, n in ASKED)
    cost = N_CAME * sum(n > 0 for n in bits) + visited * visits(bits) / visits(old)
    for _, p, share, compared, _, _ in ASKED:
        of = SPECIFIED[p]
        hashed = sum(bits[k] > 0 for k in of)
        cost += N_ASKED * share * (hashed + compared * left(bits, of) / left(old, of))
    return cost


def spent(b: int) -> float:
    return work(bits_of("S", b - 1), b)


def test_what_bits_would_have_cost_is_that_of_the_formulas(reader: Reader) -> None:
    found = tried_index(windows(reader), AskedIndex("S", "bits", (3, 4)), (2, 5), BUDGET)
    batches = range(1, N_BATCHES)
    assert [(row.first, row.last) for row in found.windows] == [(b, b) for b in batches]
    assert [row.spent for row in found.windows] == pytest.approx([spent(b) for b in batches])
    assert [row.tried for row in found.windows] == pytest.approx([work((3, 4), b) for b in batches])
    assert found.scan == pytest.approx(sum(work((0, 0), b) for b in batches))
    assert found.even == pytest.approx(sum(work((4, 4), b) for b in batches))
    assert found.requests == N_ASKED * len(batches)


def test_the_best_in_hindsight_is_the_best_of_all(reader: Reader) -> None:
    found = tried_index(windows(reader), AskedIndex(), (2, 5), BUDGET)
    every = [own for own in product(range(BUDGET + 1), repeat=2) if sum(own) <= BUDGET]
    batches = range(1, N_BATCHES)
    sums = {own: sum(work(own, b) for b in batches) for own in every}
    best = min(every, key=lambda own: sums[own])
    assert found.fixed_bits == best
    assert found.fixed == pytest.approx(sums[best])
    ends = {own: work(own, 1) for own in every}
    for b in batches[1:]:
        ends = {
            new: work(new, b)
            + min(ends[old] + N_STORED * _moving(old, new) * (old != new) for old in every)
            for new in every
        }
    assert found.sequence == pytest.approx(min(ends.values()))


def _moving(old: Sequence[int], new: Sequence[int]) -> int:
    return sum(n > 0 for n in (*old, *new)) + 2


def test_hash_indexes_cost_their_chains_and_links(reader: Reader) -> None:
    found = tried_index(windows(reader), AskedIndex("S", "hash indexes", (2,)), (2, 5), BUDGET)
    matched = {p: m for _, p, _, _, m, _ in ASKED}
    shares = {p: share for _, p, share, *_ in ASKED}
    assert found.modules == (2, 1)
    each = shares[2] * (1 + matched[2]) + shares[1] * (1 + matched[1])
    each += shares[3] * (1 + min(matched[2], matched[1]))
    links = N_CAME * 2 * (1 + 1)
    assert found.tried == pytest.approx((N_BATCHES - 1) * (N_ASKED * each + links))
    assert index_words(found, ("a", "b")) == "hash indexes on a; b"


def test_a_stretch_is_of_its_batches_alone_and_ends_at_the_moment(reader: Reader) -> None:
    some = windows(reader, (3, 9))
    assert [(one.first, one.last) for one in some] == [(b, b) for b in range(3, 10)]
    assert windows(reader, batch=5)[-1].last == 5
    assert windows(reader, (None, 99))[-1].last == N_BATCHES - 1


def test_what_bits_earn_is_told_by_attribute(reader: Reader) -> None:
    last = windows(reader, (N_BATCHES - 1, N_BATCHES - 1))
    a, b = earned_bits(last, ("a", "b"), (2, 5))

    def each(*own: int) -> float:
        return work(own, N_BATCHES - 1) / N_ASKED

    assert [a.asked, b.asked] == pytest.approx([0.75, 0.3])
    assert a.last == pytest.approx(each(1, 5) - each(2, 5))
    assert b.loss == pytest.approx(each(2, 0) - each(2, 5))
    assert b.next == pytest.approx(each(2, 5) - each(2, 6))
    assert (a.verdict == "missing") == (each(2, 5) - each(3, 5) >= 0.1 * each(2, 5))
    (wasted, _) = earned_bits(last, ("a", "b"), (12, 5))
    assert (wasted.verdict, wasted.last is not None and wasted.last <= 0) == ("wasted", True)
    (none, _) = earned_bits(last, ("a", "b"), (0, 5))
    assert none.last is None


def test_the_page_has_what_the_address_asks_for(reader: Reader) -> None:
    context = at(reader, "S@bits 3 4@3-9")
    view = tried.build(reader, context, scope_of(tried.PANEL, context, reader))
    assert view is not None
    assert (view.tried.bits, view.is_asked, view.names) == ((3, 4), True, ("S",))
    assert set(view.knobs) == set(tried.KNOBS)
    drawn = checked(draw_windows(view.tried, "dark"))
    assert [len(trace.x) for trace in drawn.data] == [7, 7]
    shown = bits.build(reader, context, scope_of(bits.PANEL, context, reader))
    assert shown is not None
    assert [one.draft for one in shown] == [(3, 4), None, None]
    each = sum(work((3, 4), b) for b in range(3, 10)) / 7 / N_ASKED
    assert f"a 3, b 4: a request would have cost {each:.2f}" in shown[0].price
    assert "(batches 3 to 9)" in shown[0].price


def test_bits_that_are_in_force_are_no_draft(reader: Reader) -> None:
    context = at(reader, "S@bits 2 5")
    shown = bits.build(reader, context, scope_of(bits.PANEL, context, reader))
    assert shown is not None
    assert shown[0].draft is None


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("S@bits 4 0 2@10-60", AskedIndex("S", "bits", (4, 0, 2), (10, 60))),
        ("S in q@scan@-7", AskedIndex("S in q", "scan", (), (None, 7))),
        ("S@even split 12", AskedIndex("S", "even split", (12,))),
        ("S@bits x@y", AskedIndex("S")),
        ("S@bits 60 60", AskedIndex("S")),
        (None, AskedIndex()),
    ],
)
def test_the_address_is_read_and_nonsense_is_absent(text: str | None, asked: AskedIndex) -> None:
    assert AskedIndex.read(text) == asked


@given(st.integers(1, 8), st.integers(0, 64))
def test_an_even_split_has_all_bits(n: int, total: int) -> None:
    split = AskedIndex("S", "even split", (total,)).bits(n)
    assert split is not None
    assert split == even_split(n, total)
    assert (sum(split), max(split) - min(split) <= 1) == (total, True)


def test_bits_of_other_attributes_are_those_in_force(reader: Reader) -> None:
    found = tried_index(windows(reader), AskedIndex("S", "bits", (1, 2, 3)), (2, 5), BUDGET)
    assert (found.method, found.bits) == ("bits", (2, 5))


def test_a_record_without_what_states_were_asked_tells_nothing(tmp_path: Path) -> None:
    """As runs were recorded before it was."""
    path = str(tmp_path / "runs.db")
    with open_engine_writer(path) as writer, pytest.MonkeyPatch.context() as patched:
        patched.setattr("tests.web.recorded_amri.seen_of", _Unknown)
        record_amri(writer, 3)
        with open_reader(path) as reader:
            context = at(reader, "S@bits 3 4")
            scope = scope_of(tried.PANEL, context, reader)
            assert tried.build(reader, context, scope) is None
            shown = bits.build(reader, context, scope)
    assert shown is not None
    assert (shown[0].earned, shown[0].price) == (
        (), "a 3, b 4: what that would have cost is not on record.",
    )  # fmt: skip


class _Unknown:
    """A state that an older recorder tells nothing of."""

    def __init__(self, b: int) -> None: ...

    def json(self) -> list[Any]:
        return []


def test_what_an_eddy_records_comes_to_what_it_counted() -> None:
    """Of a real eddy, whose bits in force are priced at what was measured."""
    bench, eddy = run_of({"tuning_schedule": "continuous", "migration": "all"}, n=8)
    of_each = dict[str, list[StateSeen]]()
    for observation in bench.observations:
        for matrix in observation.matrices:
            if matrix.kind == "access patterns":
                seen = StateSeen.read(matrix.row_stats["seen"])
                of_each.setdefault(matrix.row_stats["state"][0], []).append(seen)
    n_windows = 0
    for state in eddy.states:
        (records,) = [of for of in of_each.values() if of[-1] == state.seen]
        none = StateSeen(StateCounts(), 0, *records[0][2:])
        passed = [a.until(b) for a, b in zip([none, *records], records, strict=False)]
        total = StateCounts()
        for window in passed:
            total = total.plus(window.counts.arrivals, window.counts.by_pattern)
        assert (total.arrivals, dict(total.by_pattern)) == (
            state.seen.counts.arrivals,
            dict(state.seen.counts.by_pattern),
        )
        asked = [window for window in passed if window.counts.requests]
        n_windows += len(asked)
        assert state.ledger is not None
        candidates = state.ledger.candidates
        costs = [window.costs(candidates) for window in asked]
        in_force = [candidates.tolist().index(list(window.bits)) for window in asked]
        moved = [w.n_moved * (2 * sum(n > 0 for n in w.bits) + 2) for w in asked]
        for (of_all, measured), place, moves in zip(costs, in_force, moved, strict=True):
            assert of_all[place] + moves == pytest.approx(measured)
    assert n_windows > 8


def test_the_lattice_has_frequencies_rings_folds_and_who_asks(reader: Reader) -> None:
    context = at(reader)
    (view,) = lattice.build(reader, context, scope_of(lattice.PANEL, context, reader)) or []
    told = {node.text: node for node in view.nodes}
    assert set(told) == {"none", "a", "b", "a, b"}
    a, both = told["a"], told["a, b"]
    assert [a.share, a.most] == pytest.approx([0.7, 0.72])
    assert (a.reported, a.is_rare, a.folded, a.routes) == (True, False, None, ("T → S → U",))
    assert (both.reported, both.is_rare, both.folded) == (False, True, "a")
    assert view.covers == ((3, 2), (3, 1), (2, 0), (1, 0))
    drawn = checked(draw_lattices([view], "dark"))
    arrows = [one for one in drawn.layout.annotations if one.showarrow]
    assert [(one.x, one.y, one.ax, one.ay) for one in arrows] == [(a.x, 1, both.x, 2)]
    circles = drawn.data[-1].marker
    order = [node.text for node in view.nodes]
    sizes = dict(zip(order, circles.size, strict=True))
    assert sizes["a"] > sizes["b"] > sizes["a, b"] > sizes["none"]
    assert dict(zip(order, circles.opacity, strict=True))["a, b"] < 1
    widths = dict(zip(order, circles.line.width, strict=True))
    assert widths["a"] == widths["b"] > widths["a, b"]


def test_before_an_assessment_patterns_are_as_frequent_as_they_were_asked(reader: Reader) -> None:
    context = at(reader, batch=MOVED - 1)
    (view,) = lattice.build(reader, context, scope_of(lattice.PANEL, context, reader)) or []
    b = next(node for node in view.nodes if node.text == "b")
    assert (view.assessed, b.reported) == (None, False)
    assert [b.share, b.most] == pytest.approx([0.25, 0.25])


def test_bits_are_written_by_attribute() -> None:
    assert bits_by_attribute(("a", "b"), (3, 0)) == "a 3, b 0"
