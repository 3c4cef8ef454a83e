"""What the bench of windowed queries measures: its tuples, the results it expects, those it finds
without Spark."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from backend.hosts.local import LocalHost
from backend.workloads.spec import SinkSpec
from bench.stream import check
from bench.stream_data import (
    TICKS,
    WINDOW,
    DifferentResults,
    Question,
    aggregate,
    answered,
    changed_groups,
    combinations,
    join,
)
from bench.stream_lanes import UNIT, answer_in, changed_group, inputs_of, network_job
from bench.stream_recovery import recovered
from tests.loops import FixedLoop


def rows(question: Question, stream: str, n: int) -> list[tuple[int, int, int, int]]:
    drawn = question.source(stream).columns(0, n)
    return list(zip(*(drawn[name].tolist() for name in ("i", "k", "v", "t")), strict=True))


def test_tuples_are_those_of_their_numbers_and_batches_begin_with_a_new_tick() -> None:
    source = join(2, 600).source("B")
    assert source.slice(290, 20).equals(source.slice(0, 400).slice(290, 20))
    t = source.columns(0, 900)["t"].reshape(3, 300)
    assert (np.diff(t) >= 0).all()
    assert t.min(1).tolist() == [0, TICKS, 2 * TICKS]
    assert (t.max(1) < [TICKS, 2 * TICKS, 3 * TICKS]).all()


@pytest.mark.parametrize("n_streams", [2, 3])
def test_expected_combinations_are_those_of_the_definition(n_streams: int) -> None:
    question = join(n_streams, 120 * n_streams)
    n_batches, until = 3, 3 * TICKS - 7
    given = [rows(question, one, n_batches * question.n_each) for one in question.streams]
    found = [
        tuple(i for i, _, _, _ in some)
        for some in product(*([r for r in own if r[3] < until] for own in given[:2]))
        if some[0][1] == some[1][1] and abs(some[0][3] - some[1][3]) <= WINDOW
    ]
    if n_streams == 3:
        by_number = [{r[0]: r for r in own} for own in given]
        found = [
            (a, b, c[0])
            for a, b in found
            for c in given[2]
            if c[3] < until and c[1] == by_number[0][a][1]
            for ticks in [(by_number[0][a][3], by_number[1][b][3], c[3])]
            if max(ticks) - min(ticks) <= WINDOW
        ]
    drawn = [
        question.source(one).columns(0, n_batches * question.n_each) for one in question.streams
    ]
    kept = [{name: own[name][own["t"] < until] for name in own} for own in drawn]
    assert sorted(zip(*(one.tolist() for one in combinations(kept)), strict=True)) == sorted(found)
    assert len(found) > 50
    assert question.expected(n_batches, until) == answered(list(np.array(found).T))


def test_joins_have_about_one_result_a_tuple() -> None:
    for n_streams in (2, 3):
        question = join(n_streams, 30_000)
        before, after = (question.expected(n, n * TICKS).n for n in (3, 4))
        assert 0.5 < (after - before) / question.n_tuples < 2.5


def test_expected_changes_of_groups_are_those_of_the_definition() -> None:
    question, until = aggregate(400), 2 * TICKS + 300
    own = {k: v[:400] for k, v in question.source("A").columns(0, 1_200).items()}
    own["k"] %= 7
    own["t"] = own["t"] * 3
    expected = []
    before: dict[int, tuple[int, int]] = {}
    for tau in range(until):
        now: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
        inside = (own["t"] <= tau) & (own["t"] >= tau - WINDOW)
        for k, v in zip(own["k"][inside].tolist(), own["v"][inside].tolist(), strict=True):
            now[k] = (now[k][0] + 1, now[k][1] + v)
        expected += [(k, tau, *held) for k, held in now.items() if before.get(k) != held]
        before = now
    found = zip(*(one.tolist() for one in changed_groups(own, until)), strict=True)
    assert sorted(found) == sorted(expected)


def test_a_checksum_tells_results_from_others() -> None:
    question = join(2, 200)
    drawn = [question.source(one).columns(0, 200) for one in question.streams]
    left, right = combinations(drawn)
    assert answered([left, right]) == answered([left[::-1], right[::-1]])
    assert answered([left, right]) != answered([right, left])
    assert answered([left[:0], right[:0]]) == (0, 0)


@pytest.mark.parametrize("question", [aggregate(600), join(2, 600), join(3, 600)], ids=str)
def test_the_product_finds_what_is_expected(question: Question, tmp_path: Path) -> None:
    job = network_job(question, n_shards=2)
    loop = FixedLoop({}, networks=lambda batch_id: {UNIT: job})
    sink = SinkSpec(str(tmp_path))
    host = LocalHost(loop, inputs_of(question), sink, question.n_each)
    for _ in range(3):
        assert host.step()
    host.close()
    heartbeat = loop.results[-1].units[UNIT].report.heartbeat
    expected = question.expected(3, heartbeat)
    assert expected.n > 600
    check("the product", answer_in(str(tmp_path), question), expected)
    with pytest.raises(DifferentResults, match="the product: found"):
        check("the product", answer_in(str(tmp_path), question), question.expected(2, heartbeat))


def test_the_peer_with_state_by_group_finds_what_is_expected() -> None:
    question, n_batches = aggregate(900), 4
    drawn = question.source("A")
    kept: dict[int, tuple[bytes, bytes]] = {}
    found: list[np.ndarray] = []
    for batch in range(n_batches):
        own = drawn.columns(batch * 900, 900)
        for key in np.unique(own["k"]).tolist():
            rows = own["k"] == key
            columns, kept[key] = changed_group(key, kept.get(key), own["t"][rows], own["v"][rows])
            found.append(np.stack(columns))
    assert answered(list(np.concatenate(found, axis=1))) == question.expected(n_batches)


def test_a_state_is_rebuilt_from_an_image_and_what_came_after_it(tmp_path: Path) -> None:
    found = recovered(tmp_path, 3_000, 1_000)
    assert (found.n_state, found.n_beyond) == (3_000, 3_000)
    assert found.at_hand_s > 0
    assert found.rebuilt_s > 0
