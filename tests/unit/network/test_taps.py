"""Tapped operators: which elements are told of, and that nothing else is otherwise for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.schema import Schema
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.reports import NetworkReport, Tapped
from backend.operators.network.core.strings import Strings
from backend.operators.network.shards import shard_reports, taps
from backend.operators.network.shards.shard import NetworkTask, Places, run_shard
from backend.operators.network.shards.shard_reports import ShardReport, merged_network
from backend.operators.network.shards.taps import Tap, turns_of
from backend.operators.network.shards.timed import Arrived
from storage.vocabulary.taps import TapSample, turn_of
from tests.network_toys import make, sums_job
from tests.oracles import taps as oracle
from tests.oracles.network_operators import Element
from tests.unit.network.playing import FIELDS, block_of, histories

MOST = shard_reports.TAPPED_ELEMENTS
#: Of values that fit no int.
LARGE = Schema.parse("a bigint, x double, s string").attributes


@pytest.fixture(autouse=True)
def _few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taps, "_TOGETHER", 5)


def told(elements: Sequence[Element], cuts: Sequence[int], n_codes: int) -> Tapped:
    """What a tap tells of elements that come in pieces. n_codes: of strings that came before."""
    strings = Strings(MemoryRegions().scope("strings"))
    for number in range(n_codes):
        strings.code(f"before {number}")
    tap = Tap(LARGE, strings)
    ends = sorted({min(cut, len(elements)) for cut in cuts} | {len(elements)})
    for begin, end in zip([0, *ends], ends, strict=False):
        if begin < end:
            tap.take(block_of(elements[begin:end], FIELDS, strings), elements[end - 1].tau)
    return tap.told()


def plain(tapped: Tapped) -> list[tuple[object, ...]]:
    return [(e.rank, e.n, repr(e.values), e.tau, e.sign) for e in tapped.elements]


@given(histories(FIELDS, 80), st.lists(st.integers(0, 80), max_size=5), st.data())
def test_a_tap_keeps_what_has_the_least_ranks_of_all(
    elements: list[Element], cuts: list[int], data: st.DataObject
) -> None:
    """However they come, and however they are spread over shards."""
    shards = data.draw(st.lists(st.integers(0, 2), min_size=len(elements), max_size=len(elements)))
    whole = told(elements, cuts, 0)
    parts = [
        told([e for e, own in zip(elements, shards, strict=True) if own == shard], cuts, shard)
        for shard in range(3)
    ]
    merged = merged_network([NetworkReport(tapped={"o": part}) for part in parts]).tapped["o"]
    kept = oracle.kept(((e.row, e.tau, e.sign) for e in elements), MOST)
    expected = [(k.rank, k.n, repr(k.row), k.tau, k.sign) for k in kept]
    assert plain(whole) == expected == plain(merged)


@given(st.integers(-1, 1 << 62))
def test_timestamps_are_mixed_alike_by_who_keeps_and_who_reads(tau: int) -> None:
    assert turns_of(np.array([tau], np.int64)).tolist() == [turn_of(tau)] == [oracle.spread(tau)]


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(0, 30))
def test_a_sample_knows_of_which_timestamps_it_has_all_elements(
    taus: list[int], asked: int
) -> None:
    kept = oracle.kept((((k,), tau, 1) for k, tau in enumerate(taus)), MOST)
    rows = [[row.tau, row.sign, row.n, *row.row] for row in kept]
    sample = TapSample("u", "o", len(taus), ("k",), rows)
    has_all = taus.count(asked) == sum(row.n for row in kept if row.tau == asked)
    if sample.has_all_of(asked):
        assert has_all


def batches(folder: Path, n_shards: int, tapped: frozenset[str]) -> list[list[ShardReport]]:
    """Three batches of running sums by key, and of all; operators are made anew in each."""
    job = sums_job(("S", True), ("S", False), n_shards=n_shards)
    found = []
    for batch in range(3):
        places = Places(str(folder / "state"), str(folder / f"a{batch}"))
        version = places.log_of("u").keep_job(job)
        task = NetworkTask(
            "u", batch, job, version, frozenset(), str(folder / "out"), "parquet", make, taps=tapped
        )
        numbers = np.arange(batch * 90, batch * 90 + 90)
        keys = [f"k{k % 3}" for k in numbers]
        table = pa.table({"at": numbers // 4, "key": keys, "value": numbers % 5})
        arrived = {"S": [Arrived(table, numbers)]}
        homes = [places.shard("u", k, n_shards) for k in range(n_shards)]
        found.append([run_shard(task, k, home, arrived, ()) for k, home in enumerate(homes)])
    return found


def answers(folder: Path) -> list[tuple[str, dict[str, list[object]]]]:
    files = sorted((folder / "out").rglob("*.parquet"))
    return [(path.parent.name, pq.read_table(path).to_pydict()) for path in files]


TAPPED = frozenset({"S True", "sums S True", "S False"})


def test_nothing_is_otherwise_for_a_tap(tmp_path: Path) -> None:
    without = batches(tmp_path / "without", 2, frozenset())
    tapped = batches(tmp_path / "with", 2, TAPPED)
    assert answers(tmp_path / "with") == answers(tmp_path / "without") != []
    for reports, others in zip(tapped, without, strict=True):
        for report, other in zip(reports, others, strict=True):
            same, beside = report.network, other.network
            for name in ("answers", "net", "recent", "log_bytes", "state_bytes"):
                assert getattr(same, name) == getattr(beside, name), name
            assert not beside.tapped
            assert set(same.tapped) == (TAPPED if report.shard == 0 else TAPPED - {"S False"})


def test_shards_together_tell_what_a_single_one_does(tmp_path: Path) -> None:
    """And so they do where their state was taken up anew in each batch."""
    for number, (many, single) in enumerate(
        zip(batches(tmp_path / "2", 2, TAPPED), batches(tmp_path / "1", 1, TAPPED), strict=True)
    ):
        merged = merged_network([report.network for report in many]).tapped
        (alone,) = (report.network.tapped for report in single)
        assert set(merged) == set(alone) == TAPPED
        for id in ("S True", "S False"):
            assert plain(merged[id]) == plain(alone[id])
            assert len(alone[id].elements) == 20, number
        ranks = [element.rank for element in merged["sums S True"].elements]
        assert ranks == sorted(ranks)
        assert len(ranks) == 20


def test_elements_of_the_same_timestamps_are_kept_at_every_operator(tmp_path: Path) -> None:
    (report,) = batches(tmp_path, 1, TAPPED)[1]
    turns = [
        list(dict.fromkeys(turn_of(kept.tau) for kept in tapped.elements))
        for tapped in report.network.tapped.values()
    ]
    shortest = min(turns, key=len)
    assert len(shortest) > 3
    assert all(own[: len(shortest)] == shortest == sorted(shortest) for own in turns)
