"""The parser against judges that know nothing of it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cql import format_condition, parse_condition, parse_query
from backend.model.conditions import And, Condition, Or
from tests.oracles.cql_reference import judge, judge_condition, sqlite_selected, written
from tests.unit.cql.strategies import SCHEMA, conditions, rows, trees

TYPED = "infsbdt"
SIMPLE = "is"


@settings(deadline=None)  # the first parse builds the grammar
@given(trees(TYPED), st.lists(rows(TYPED), min_size=1, max_size=5))
def test_a_parsed_condition_means_what_was_written_in_three_valued_logic(
    tree: Any, tuples: list[dict[str, Any]]
) -> None:
    condition = parse_condition(written(tree), SCHEMA)
    for row in tuples:
        assert judge_condition(condition, row) is judge(tree, row)


@settings(deadline=None)
@given(trees(SIMPLE), st.lists(rows(SIMPLE), min_size=1, max_size=5))
def test_sqlite_selects_the_same_tuples(tree: Any, tuples: list[dict[str, Any]]) -> None:
    text = written(tree)
    selected = [judge_condition(parse_condition(text, SCHEMA), row) is True for row in tuples]
    assert selected == sqlite_selected(text, tuples)


@settings(deadline=None)
@given(conditions())
def test_formatting_and_parsing_give_the_condition_back(condition: Condition) -> None:
    text = format_condition(condition)
    assert parse_condition(text, SCHEMA) == condition
    assert format_condition(parse_condition(text, SCHEMA)) == text


@settings(deadline=None)
@given(trees(TYPED))
def test_no_and_stands_directly_in_an_and_and_no_or_in_an_or(tree: Any) -> None:
    assert _is_flat(parse_condition(written(tree), SCHEMA))


def _is_flat(condition: Condition) -> bool:
    if not isinstance(condition, And | Or):
        return True
    return all(type(p) is not type(condition) and _is_flat(p) for p in condition.parts)


@settings(deadline=None)
@given(trees(TYPED), st.randoms(use_true_random=False))
def test_case_spacing_and_comments_change_nothing(tree: Any, random: Any) -> None:
    text = written(tree)
    plain = parse_condition(text, SCHEMA)
    query = parse_query(
        "q", f"SELECT *FROM  fLights--c\n wHere\t{text} -- {text!r}\n ;", {"Flights": SCHEMA}
    )
    assert query.condition == plain
    assert query.stream == "Flights"
