"""Plain conjunctions are read without the grammar: the same queries, and the same refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cql import CqlError, parse_query
from backend.cql.plain import plain_selection
from backend.model.conditions import ContinuousQuery
from backend.workloads.spec import load_workload, shipped_workloads
from tests.unit.cql.strategies import SCHEMA

STREAMS = {"S": SCHEMA}
#: A comment is nothing to the parser, and not plain.
COMMENT = " -- comment"
PIECES = st.tuples(
    st.sampled_from(["i", "F", "s", "b", "d", "n", "null", "group", "zz", "not", "istream"]),
    st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">=", "=="]),
    st.sampled_from(
        ["1", "-2.50", "5.", "1e3", "'x'", "'a and b'", "''", "'it''s'", "true", "- 1"]
    ),
)
TEXTS = st.builds(
    lambda pieces, glue, head, tail: (
        head + glue.join(f"{a} {op} {value}" for a, op, value in pieces) + tail
    ),
    st.lists(PIECES, min_size=1, max_size=3),
    st.sampled_from([" and ", "\nAND\t", " or ", " and  and "]),
    st.sampled_from(["Select * From S Where ", "select*from s where ", "Select * From S x Where "]),
    st.sampled_from(["", " ;", ";;", " "]),
)


def read(text: str) -> ContinuousQuery | str:
    """The query without its text, or where and why it is refused."""
    try:
        found = parse_query("q", text, STREAMS)
    except CqlError as error:
        return str(error)
    return ContinuousQuery(found.name, found.stream, "", found.condition, found.filters)


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_texts_mean_the_same_with_and_without_the_grammar(text: str) -> None:
    with_grammar = read(text.rstrip() + COMMENT)
    found = read(text)
    if isinstance(found, str):
        assert isinstance(with_grammar, str)
    assert plain_selection(text + COMMENT) is None
    if isinstance(found, ContinuousQuery):
        assert found == with_grammar


@pytest.mark.parametrize(
    "text", ["Select * From S", "select * from S where i = 1 and s = 'x' ;", "Select*From S\n"]
)
def test_the_plain_form_is_known(text: str) -> None:
    assert plain_selection(text) is not None


def test_an_error_in_a_plain_text_is_told_with_its_place() -> None:
    with pytest.raises(CqlError, match="line 2, column 10"):
        parse_query("q", "Select * From S\nWhere i >'x' and s = 1", STREAMS)


@pytest.mark.parametrize("path", shipped_workloads().values(), ids=list(shipped_workloads()))
def test_the_shipped_queries_mean_the_same_with_and_without_the_grammar(path: Path) -> None:
    workload = load_workload(path)
    for query in workload.queries:
        if query.plan is not None:
            continue
        again = parse_query(query.name, query.text + COMMENT, workload.schemas, workload.functions)
        assert (again.condition, again.filters) == (query.condition, query.filters)
