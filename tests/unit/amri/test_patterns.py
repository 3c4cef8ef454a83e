"""Access patterns, join attributes and the lattice, against words of 0 and 1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.vocabulary.amri_patterns import (
    access_pattern,
    attributes_of,
    join_attribute_sets,
    lattice,
    pattern_of,
    pattern_text,
    specified,
)
from tests.oracles import amri_patterns as twin
from tests.unit.amri.cases import as_predicates, clique, predicate_sets


@pytest.mark.parametrize(
    ("attributes", "pattern", "text"),
    [((0,), 4, "<A1,*,*>"), ((1, 2), 3, "<*,A2,A3>"), ((), 0, "<*,*,*>"), ((0, 2), 5, "<A1,*,A3>")],
)
def test_the_first_attribute_is_the_most_significant_bit(
    attributes: tuple[int, ...], pattern: int, text: str
) -> None:
    assert pattern_of(attributes, 3) == pattern
    assert attributes_of(pattern, 3) == attributes
    assert pattern_text(pattern, ("A1", "A2", "A3")) == text
    assert specified([pattern], 3).tolist() == [[a in attributes for a in range(3)]]


def test_the_lattice_of_four_attributes() -> None:
    levels = lattice(4)
    assert [len(level) for level in levels] == [1, 4, 6, 4, 1]
    assert levels[0] == (0,)
    assert levels[2] == (12, 10, 9, 6, 5, 3)


@given(predicate_sets(), st.sets(st.integers(0, 3)))
def test_join_attributes_and_patterns_are_those_of_the_closure(
    predicates: list[twin.Predicate], composite: set[int]
) -> None:
    found = join_attribute_sets(as_predicates(predicates), 4)
    for state, attributes in enumerate(found):
        assert [one.column for one in attributes] == twin.join_attributes(predicates, state)
        for one in attributes:
            column = state, one.column
            assert one.equal == twin.partners(predicates, column, "=")
            assert one.ordered == twin.partners(predicates, column, "order")
        others = composite - {state}
        assert access_pattern(attributes, others) == twin.pattern(predicates, others, state)


def test_equalities_are_closed_before_patterns_are_formed() -> None:
    """S.b = T.b = U.b: a composite of S alone specifies U's attribute (card A1)."""
    chain = as_predicates([((0, 0), "=", (1, 0)), ((1, 0), "=", (2, 0))])
    assert access_pattern(join_attribute_sets(chain, 3)[2], [0]) == 1


def test_two_attributes_of_a_state_in_one_class_are_one() -> None:
    both = as_predicates([((0, 1), "=", (1, 0)), ((1, 0), "=", (0, 2))])
    assert [one.column for one in join_attribute_sets(both, 2)[0]] == [1]
    alone = as_predicates([((0, 1), "=", (0, 2)), ((0, 1), "<", (0, 3))])
    assert join_attribute_sets(alone, 1) == ((),)


def test_the_clique_of_four_streams_has_seven_patterns_a_state() -> None:
    for state, attributes in enumerate(join_attribute_sets(as_predicates(clique(4)), 4)):
        assert len(attributes) == 3
        asked = {
            access_pattern(attributes, [s for s in range(4) if s != state and some >> s & 1])
            for some in range(16)
        }
        assert asked == set(range(8))


def test_the_first_query_of_the_paper() -> None:
    """Card A11.3: t_a2 asks STeM C for <A2>, t_a1b1 for <A2,A3>."""
    a, b, c = 0, 1, 2
    query = as_predicates([((a, 1), "=", (b, 1)), ((b, 3), "=", (c, 3)), ((c, 2), "=", (a, 2))])
    of_c = join_attribute_sets(query, 3)[c]
    names = [f"A{one.column}" for one in of_c]
    assert pattern_text(access_pattern(of_c, [a]), names) == "<A2,*>"
    assert pattern_text(access_pattern(of_c, [a, b]), names) == "<A2,A3>"
    example = as_predicates([((a, 1), "=", (b, 2)), ((a, 3), "=", (c, 3)), ((b, 3), "=", (c, 4))])
    of_a = join_attribute_sets(example, 3)[a]
    assert [one.column for one in of_a] == [1, 3]
    assert {access_pattern(of_a, some) for some in ([b], [c], [b, c])} == {1, 2, 3}
