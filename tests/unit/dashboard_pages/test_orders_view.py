"""Which attributes moved between two orders."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.orders import common_subsequence, compare_orders

NAMES = st.lists(st.sampled_from("abcdefg"), unique=True, max_size=6)


def test_a_single_attribute_pulled_to_the_front_is_the_only_one_marked() -> None:
    old, new = compare_orders(["a", "b", "c", "d"], ["d", "a", "b", "c"])
    assert [(item.attribute, item.moved) for item in new if item.marked] == [("d", 3)]
    assert [item.attribute for item in old if item.marked] == ["d"]
    assert [item.moved for item in new] == [3, -1, -1, -1]


def test_attributes_that_come_and_go_say_so() -> None:
    old, new = compare_orders(["a", "b"], ["b", "c"])
    assert [(item.attribute, item.change) for item in old] == [("a", "removed"), ("b", "")]
    assert [(item.attribute, item.change) for item in new] == [("b", ""), ("c", "added")]


def test_equal_orders_have_no_marks() -> None:
    old, new = compare_orders(["a", "b"], ["a", "b"])
    assert not any(item.marked or item.moved for item in (*old, *new))


@given(NAMES, NAMES)
def test_the_common_subsequence_is_one_and_none_is_longer(a: list[str], b: list[str]) -> None:
    found = common_subsequence(a, b)
    assert is_subsequence(found, a)
    assert is_subsequence(found, b)
    longer = combinations(a, len(found) + 1)
    assert not any(is_subsequence(list(one), b) for one in longer)


def is_subsequence(short: list[str], long: list[str]) -> bool:
    rest = iter(long)
    return all(any(name == other for other in rest) for name in short)
