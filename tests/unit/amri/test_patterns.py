"""Access patterns, join attributes and the lattice, against words of 0 and 1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.cql.nodes import NOWHERE, At, Compare
from backend.cql.types import all_hold
from backend.operators.network.kinds.eddy import (
    EddyOp,
    SearchTerms,
    join_attributes,
    requested_pattern,
    search_terms,
)
from backend.operators.network.kinds.pipelines import classes_of
from backend.systems.amri.view import predicates
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
from tests.unit.network.elements import fields


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
    conditions: list[twin.Predicate], composite: set[int]
) -> None:
    found = join_attribute_sets(as_predicates(conditions), 4)
    for state, attributes in enumerate(found):
        assert [one.column for one in attributes] == twin.join_attributes(conditions, state)
        for one in attributes:
            column = state, one.column
            assert one.equal == twin.partners(conditions, column, "=")
            assert one.ordered == twin.partners(conditions, column, "order")
        others = composite - {state}
        assert access_pattern(attributes, others) == twin.pattern(conditions, others, state)


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


@st.composite
def search_cases(draw: st.DrawFn) -> SearchTerms:
    """Of four inputs of three columns: classes of a column of each of some inputs, conditions."""
    free = {(port, place) for port in range(4) for place in range(3)}
    classes = []
    for _ in range(draw(st.integers(0, 3))):
        ports = draw(st.sets(st.integers(0, 3), min_size=2))
        members = [(port, draw(st.integers(0, 2))) for port in sorted(ports)]
        if free.issuperset(members):
            free.difference_update(members)
            classes.append(tuple(members))
    column = st.integers(0, 11).map(lambda place: At(NOWHERE, place, "bigint"))
    condition = st.tuples(st.sampled_from(["<", "<=", ">", ">="]), column, column)
    nodes = [Compare(NOWHERE, *of) for of in draw(st.lists(condition, max_size=4))]
    work = EddyOp(tuple(classes), all_hold(nodes) if nodes else None)
    return search_terms(work, [fields("bigint", "bigint", "bigint")] * 4)


@given(search_cases(), st.sets(st.integers(0, 3)))
def test_eddies_are_searched_by_the_attributes_and_patterns_that_are_decided_on(
    terms: SearchTerms, composite: set[int]
) -> None:
    states = join_attribute_sets(predicates(terms), 4)
    known = 0
    for port in composite:
        known |= classes_of(terms, port)
    for port, attributes in enumerate(states):
        own = join_attributes(terms, port)
        places = [dict(terms.equal[group])[port] for group in own]
        assert [of.column for of in attributes] == places
        by_order = tuple(a for a, of in enumerate(attributes) if of.ordered)
        assert terms.ordered(port) == by_order
        by_value = [a for a, of in enumerate(attributes) if of.equal]
        assert terms.hashed(port) == pattern_of(by_value, len(attributes))
        if port not in composite:
            asked = requested_pattern(own, known | terms.bounded(known))
            assert asked == access_pattern(attributes, composite)


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
