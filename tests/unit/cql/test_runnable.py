"""Which queries no system runs, and what is said about them where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.cql.claims import NotRun
from backend.cql.logical import Logical
from backend.cql.parser import plan_of
from backend.cql.runnable import check
from tests.unit.cql.catalogs import STREAMS, plan


def refusal(plan: Logical) -> NotRun | None:
    """What is said of a plan; None where it runs."""
    try:
        check(plan)
    except NotRun as found:
        return found
    return None


DEEP = "Select * From (" * 35 + "Select * From S Where A = 1" + ")" * 35


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ("Select * From S Where A > 1", None, ""),
        ("Select max(A) From S1 Join S2 On S1.A = S2.A Where S1.A in (Select A From S)", None, ""),
        ("Select * From S Where not (A in (Select A From S1) or B = 1)", None, ""),
        ("Select A From S Group By A Having A not in (Select A From S1)", None, ""),
        ("Select * From S Where A < 100000000000000000000 and A in (1, -9e30)", None, ""),
        (DEEP, None, ""),
        ("Select * From Tolls", 15, "a query reads a stream, and Tolls is a stored relation"),
        ("Select A From S [Rows 5] Order By A", 26, "Order By is not run by any system: answers"),
        ("Select * From (Select A From S Order By A)", 32, "Order By is not run by any system"),
        ("Select * From S Where abs(A) > 1", 23, "the function abs(…) is not run by any system"),
        ("Select * From S Where A > (Select max(A) From S1)", 28, "a subquery used as a"),
        ("Select * From S [Rows 0]", 17, "a window of 0 rows; allowed are 1 to 10000000"),
        ("Select * From S [Partition By A Rows 10,000,001]", 17, "a window of 10000001 rows"),
        ("Select * From S Where B = 1 or A in (Select A From S1)", 32, "membership in a relation"),
        ("Select (A in (Select A From S1)) From S", 9, "membership in a relation is allowed"),
        ("Select NULL As x From S", 8, "a column of NULL alone has no type"),
        ("Select A From S Group By A, NULL", 29, "a column of NULL alone has no type"),
        ("Select sum(NULL) From S", 8, "an aggregate of NULL alone has no type"),
        ("Select A + 1 - 100000000000000000000 From S", 16, "a number of more than 64 bits"),
        ("Select 100000000000000000000 From S", 8, "a number of more than 64 bits"),
        ("Select * From S Where A in (Select A From S1 Order By A)", 46, "Order By is not run"),
    ],
)
def test_the_first_part_that_does_not_run_is_named(
    text: str, column: int | None, what: str
) -> None:
    found = refusal(plan(text))
    assert (found is None) == (column is None)
    if found is not None:
        assert found.sentence.startswith(what)
        assert found.node.at.column == column


def test_queries_that_read_each_other_have_an_end() -> None:
    catalog = replace(STREAMS, queries={"Q0": plan("Select A, B From S")})
    for n in range(1, 200):
        text = f"Select A, B From Q{n - 1} Where A > {n}"
        found = plan_of(text, catalog)
        if refusal(found) is not None:
            break
        catalog = replace(catalog, queries={f"Q{n}": found})
    assert n == 33
    deep = refusal(found)
    assert deep is not None
    assert deep.sentence == "more than 100 operators below each other"
    wide = plan_of(" Union ".join(["Select A From Q32"] * 5), catalog)
    assert refusal(wide) is not None
