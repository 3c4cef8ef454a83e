"""Caches that do not fit the probe orders, or each other, are refused (cards 9, 11)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.operators.network.joins import cache_rules
from backend.operators.network.joins.cache_rules import check_caches
from backend.operators.network.joins.join_tuning import CacheSpec, JoinTuning, Segment
from backend.operators.network.kinds.joins import JoinOp
from storage.vocabulary.memory import PAGE_BYTES
from tests.unit.network.test_join_caches_rules import COUNTED, OF_R1, ONE, PATH, TWO, joined
from tests.unit.network.tuned_joins import TunedRun


def test_a_witness_that_says_more_than_the_key_is_refused() -> None:
    """Card 11 C: R1(A, C), R2(A, B), R3(B, D), R4(C, D); R4 joins R1, and bounds R3."""
    work = JoinOp(
        (((0, 0), (1, 0)), ((1, 1), (2, 0)), ((0, 1), (3, 0)), ((2, 1), (3, 1))),
        None,
        ((1, 2, 3), (2, 0, 3), (1, 0, 3), (0, 1, 2)),
    )
    spec = CacheSpec("c", (1, 2), (0,), (Segment(0, 0, 1),), PAGE_BYTES, (0, 3))
    with pytest.raises(ValueError, match="cache c: what input 0 joins as a witness says more"):
        check_caches((spec,), (), work, 4)
    check_caches((replace(spec, witnesses=(0,)),), (), work, 4)


STAR = JoinOp(
    (((0, 0), (1, 0), (2, 0), (3, 0)),), None, ((1, 2, 3), (2, 0, 3), (1, 0, 3), (0, 1, 2))
)


def test_a_segment_that_leaps_over_an_update_is_refused() -> None:
    """Card 11 D: the pipeline of input 0 joins 1, and updates {0, 1}, within the segment."""
    orders = ((1, 2, 3), (0, 2, 3), (1, 0, 3), (0, 1, 2))
    work = replace(STAR, orders=orders)
    inner = CacheSpec("in", (0, 1), (0,), (Segment(3, 0, 1),), PAGE_BYTES)
    outer = CacheSpec("out", (1, 2), (0,), (Segment(0, 0, 1),), PAGE_BYTES, (0, 3))
    check_caches((inner,), (), work, 4)
    check_caches((outer,), (), work, 4)
    with pytest.raises(ValueError, match="cache out hides from in what pipeline 0 brings"):
        check_caches((inner, outer), (), work, 4)


def test_a_hit_must_not_keep_back_what_another_cache_is_to_be_told() -> None:
    """{1, 2} with witnesses in 0 and 3 is read before the update of {0, 1, 2}."""
    plain = CacheSpec("plain", (0, 1, 2), (0,), (Segment(3, 0, 2),), PAGE_BYTES)
    counted = CacheSpec("counted", (1, 2), (0,), (Segment(0, 0, 1),), PAGE_BYTES, (0, 3))
    for one in (plain, counted):
        check_caches((one,), (), STAR, 4)
    with pytest.raises(ValueError, match="cache counted hides from plain"):
        check_caches((plain, counted), (), STAR, 4)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (replace(OF_R1, readers=()), "no pipeline reads it"),
        (replace(OF_R1, readers=(Segment(0, 0, 2),)), "no part of a pipeline of 2 steps"),
        (replace(OF_R1, readers=(Segment(0, 0, 0),)), r"joins inputs \(1,\), not \(1, 2\)"),
        (replace(OF_R1, key=(0, 1)), r"are classes \(0,\), not \(0, 1\)"),
        (replace(OF_R1, n_bytes=100), "100 bytes are not whole pages of 4096"),
        (replace(OF_R1, ways=0), "0 ways; at least 1"),
        (replace(OF_R1, windows=(1,), readers=(Segment(0, 0, 0),)), "are not two or more inputs"),
        (replace(OF_R1, witnesses=(1,)), "are not two or more inputs"),
        (
            CacheSpec("c", (1,), (0,), (Segment(0, 0, 0),), 0, (2,), keyed=True),
            "one with keys has one witness",
        ),
        (
            CacheSpec("c", (0, 1), (1,), (Segment(2, 0, 1),), 0),
            "the pipeline of input 1 does not begin with",
        ),
    ],
)
def test_caches_that_do_not_fit_are_refused(spec: CacheSpec, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_caches((spec,), (), PATH, 3)


def test_caches_that_overlap_or_have_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap in pipeline 0"):
        check_caches((OF_R1, COUNTED), (), PATH, 3)
    with pytest.raises(ValueError, match="ids of caches are not unique"):
        check_caches((OF_R1, OF_R1), (), PATH, 3)


def test_what_is_lost_where_a_hit_keeps_back_what_another_cache_is_to_be_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R1(A), R2(A), R3(A, C), R4(C): R1 reads {R2, R3} with witnesses in R1 and R4, R4 reads {R1,
    R2, R3}. A tuple of R1 comes while C = 8 has no witness in R4; then R4 comes with 8."""
    classes = (((0, 0), (1, 0), (2, 0)), ((2, 1), (3, 0)))
    work = JoinOp(classes, None, ((1, 2, 3), (2, 0, 3), (1, 0, 3), (2, 1, 0)))
    plain = CacheSpec("plain", (0, 1, 2), (1,), (Segment(3, 0, 2),), PAGE_BYTES)
    counted = CacheSpec("counted", (1, 2), (0,), (Segment(0, 0, 1),), PAGE_BYTES, (0, 3))
    before = [(1, (1,)), (2, (1, 7)), (2, (1, 8)), (3, (7,)), (0, (1,)), (3, (8,))]

    def found(*caches: CacheSpec) -> int:
        run = TunedRun(joined(work, ONE, ONE, TWO, ONE, fifo=False), JoinTuning(caches=caches))
        for port, row in before:
            run.one(port, row)
        run.one(3, (8,), sign=-1)
        run.one(0, (1,))
        return len(run.one(3, (8,)))

    assert [found(), found(plain), found(counted)] == [2, 2, 2]
    with pytest.raises(ValueError, match="hides"):
        found(plain, counted)
    monkeypatch.setattr(cache_rules, "_common_faults", lambda caches: ())
    assert found(plain, counted) == 1
