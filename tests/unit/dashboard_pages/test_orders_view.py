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


def test_what_moved_most_is_marked_and_what_stands_still_is_not() -> None:
    old = ["a7", "a9", "a4", "a8", "a6", "a2"]
    new = ["a7", "a2", "a9", "a8", "a4", "a6"]
    _, items = compare_orders(old, new)
    marked = {item.attribute: item.moved for item in items if item.marked}
    assert marked == {"a2": 4, "a4": -2}
    _, swapped = compare_orders(["a", "b", "c"], ["c", "b", "a"])
    assert [item.attribute for item in swapped if not item.marked] == ["b"]


def test_what_the_decision_names_is_marked() -> None:
    old, new = compare_orders(["a", "b"], ["b", "a"], movers=("b",))
    assert [item.marked for item in new if item.attribute == "b"] == [True]
    assert [item.marked for item in old if item.attribute == "b"] == [True]


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
    places = [abs(a.index(name) - b.index(name)) for name in found]
    rivals = [one for one in combinations(a, len(found)) if is_subsequence(list(one), b)]
    assert sum(places) == min(
        sum(abs(a.index(name) - b.index(name)) for name in one) for one in rivals
    )


def is_subsequence(short: list[str], long: list[str]) -> bool:
    rest = iter(long)
    return all(any(name == other for other in rest) for name in short)
