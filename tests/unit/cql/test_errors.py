"""What is said about texts that are refused, and where."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from backend.cql import CqlError, parse_condition, parse_query
from backend.model.schema import Schema

STREAMS = {
    "Flights": Schema.parse(
        "dep_delay int, distance int, origin string, cancelled boolean, day date, t timestamp"
    )
}
TERMINALS = ("LPAR", "RPAR", "COMPARE", "NUMBER", "$END", "BACKQUOTED", "Token(", "_WHERE")


def refused(text: str, streams: Mapping[str, Schema] = STREAMS) -> CqlError:
    with pytest.raises(CqlError) as caught:
        parse_query("q", text, streams)
    return caught.value


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", (1, 1), "found the end of the query, expected 'Select'"),
        ("-- only a comment", (1, 18), "found the end of the query, expected 'Select'"),
        ("Selct * From Flights", (1, 1), "found 'Selct', expected 'Select'"),
        ("Select * Form Flights", (1, 10), "found 'Form', expected 'From' or ','"),
        ("Select * From", (1, 14), "found the end of the query, expected a stream name"),
        ("Select * From Flights Were dep_delay > 5", (1, 23), "found 'Were', expected 'Where' or"),
        ("Select * From Flights dep_delay > 5", (1, 33), "found '>', expected 'Where' or the end"),
        ("Select * From Flights Where", (1, 28), "expected an attribute or a constant"),
        ("Select * From Flights; Select", (1, 24), "expected the end of the query"),
        ("Select * From Fligths", (1, 15), "unknown stream 'Fligths'; did you mean 'Flights'?"),
        ("Select * From Trains", (1, 15), "unknown stream 'Trains'; the streams are Flights"),
    ],
)
def test_the_frame_of_a_query(text: str, place: tuple[int, int], message: str) -> None:
    error = refused(text)
    assert (error.line, error.column) == place
    assert message in error.message


@pytest.mark.parametrize(
    ("condition", "column", "message"),
    [
        ("dep_dely > 60", 1, "unknown attribute 'dep_dely'; did you mean 'dep_delay'?"),
        ("zzz > 60", 1, "unknown attribute 'zzz'; Flights has dep_delay, distance, origin,"),
        ("Planes.dep_delay > 60", 1, "unknown stream 'Planes'; this query reads Flights"),
        ("dep_delay 60", 11, "found '60', expected a comparison (=, <>, <"),
        ("dep_delay", 1, "'dep_delay' alone is no condition; expected a comparison"),
        ("5", 1, "'5' alone is no condition"),
        ("dep_delay > and origin = 'x'", 13, "found 'and', expected an attribute or a constant"),
        ("dep_delay > 60 an distance > 3", 16, "expected 'and', 'or' or the end of the query"),
        ("(dep_delay > 60", 16, "found the end of the query, expected ')'"),
        ("dep_delay > 60)", 15, "found ')', expected the end of the query"),
        ("dep_delay == 5", 12, "equality is written with one ="),
        ("dep_delay > 1 > 2", 15, "found '>', expected 'and', 'or' or the end of the query"),
        ("dep_delay in (1, 2", 19, "expected ',' or ')'"),
        ("dep_delay in ()", 15, "found ')', expected a list of constants"),
        ("dep_delay in 5", 14, "found '5', expected '('"),
        ("dep_delay between 5 or 6", 21, "found 'or', expected 'and'"),
        ("dep_delay is 5", 14, "found '5', expected NULL or NOT"),
        ("dep_delay not 5", 15, "found '5', expected IN or BETWEEN"),
        ("order > 5", 1, "a name spelled like the keyword order goes in `backquotes`"),
        ('origin = "JFK"', 10, "write strings in 'single quotes'"),
        ("origin = 'JFK", 10, "a string that never ends"),
        ("`origin = 'JFK'", 1, "a name that never ends"),
        ("origin = 'a' && cancelled", 14, "write the word and"),
        ("!cancelled", 1, "the word not"),
        ("dep_delay > @x", 13, "'@', which has no meaning here"),
    ],
)
def test_the_form_of_a_condition(condition: str, column: int, message: str) -> None:
    error = refused(f"Select * From Flights\nWhere {condition}")
    assert (error.line, error.column) == (2, column + 6)
    assert message in error.message
    assert not any(terminal in str(error) for terminal in TERMINALS)


@pytest.mark.parametrize(
    ("condition", "column", "message"),
    [
        (
            "dep_delay > 'x'",
            13,
            "dep_delay is an int attribute and 'x' is a string; expected a num",
        ),
        ("dep_delay > true", 13, "dep_delay is an int attribute and true is a boolean"),
        ("dep_delay > DATE '2013-01-01'", 13, "is a date; expected a number"),
        ("origin = 5", 10, "origin is a string attribute and 5 is a number; expected a string"),
        ("origin in ('JFK', 5)", 19, "origin is a string attribute and 5 is a number"),
        ("origin = JFK", 10, "a string is written in single quotes: 'JFK'"),
        ("cancelled = 1", 13, "cancelled is a boolean attribute and 1 is a number; expected true"),
        ("cancelled = 'true'", 13, "expected true or false"),
        ("day > 5", 7, "day is a date attribute and 5 is a number; expected a date such as DATE"),
        ("day > '2013-13-01'", 7, "'2013-13-01' is not a date; write YYYY-MM-DD"),
        ("day > TIMESTAMP '2013-01-01 10:00:00'", 7, "write a DATE without a time"),
        ("t > 'noon'", 5, "'noon' is not a timestamp; write YYYY-MM-DD HH:MM:SS"),
        ("t > '0001-01-01 00:00:00+10:00'", 5, "is not a timestamp"),
        ("t > '2013-01-01 10:00:00+02:99'", 5, "is not a timestamp"),
        ("t > '2013-01-01 24:00:00'", 5, "is not a timestamp"),
        ("t = TIMESTAMP '2013-01-01 10:00:00.1234567'", 5, "is finer than a microsecond; write at"),
        ("t in ('2013-01-01', '2013-01-01 10:00:00.0000001')", 21, "is finer than a microsecond"),
        ("dep_delay = NULL", 13, "never true; use IS NULL or IS NOT NULL"),
        ("dep_delay not in (1, NULL)", 22, "never true; use IS NULL"),
        ("dep_delay > 1e400", 13, "too large; allowed: up to 1.8e308"),
        ("dep_delay < 9007199254740993.5", 13, "more digits than a 64-bit floating-point"),
    ],
)
def test_the_types_of_a_condition(condition: str, column: int, message: str) -> None:
    error = refused(f"Select * From Flights Where {condition}")
    assert (error.line, error.column) == (1, column + 28)
    assert message in error.message


@pytest.mark.parametrize(
    ("condition", "column", "what"),
    [
        ("dep_delay + 5 > 9", 11, "arithmetic"),
        ("dep_delay > 5 * 2", 15, "arithmetic"),
        ("-dep_delay > 5", 1, "arithmetic"),
        ("origin like 'J%'", 8, "LIKE"),
        ("dep_delay > distance", 13, "comparing two attributes (dep_delay and distance)"),
    ],
)
def test_a_condition_alone_is_one_by_attributes_and_constants(
    condition: str, column: int, what: str
) -> None:
    with pytest.raises(CqlError) as caught:
        parse_condition(condition, STREAMS["Flights"])
    assert caught.value.column == column
    assert caught.value.message == f"{what} is no part of a selection by attributes and constants"


@pytest.mark.parametrize(
    ("condition", "column", "message"),
    [
        ("5 = 5", 5, "both sides are constants; one side must be an attribute"),
        ("5 is null", 1, "one side must be an attribute"),
        ("(dep_delay > 5) = true", 2, "found a condition beside =, expected an attribute"),
        ("cancelled = (dep_delay > 5)", 14, "found a condition beside =, expected a constant"),
    ],
)
def test_both_sides_of_a_comparison_in_a_condition_alone(
    condition: str, column: int, message: str
) -> None:
    with pytest.raises(CqlError) as caught:
        parse_condition(condition, STREAMS["Flights"])
    assert caught.value.column == column
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ("Select * From Flights Order By origin", 23, "Order By is not run by any system"),
        ("Select * From Flights Where abs(dep_delay) > 5", 29, "the function abs(…) is not run"),
        ("Select * From Flights [Rows 0]", 23, "a window of 0 rows; allowed are 1 to 10000000"),
        (
            "Select * From Flights Where dep_delay > (Select b From Planes)",
            42,
            "a subquery used as a value is not run by any system",
        ),
    ],
)
def test_what_no_system_runs_is_named_at_its_place(text: str, column: int, what: str) -> None:
    error = refused(text, {**STREAMS, "Planes": Schema.parse("b int, seats int")})
    assert (error.line, error.column) == (1, column)
    assert error.message.startswith(what)


def test_the_excerpt_points_at_the_place() -> None:
    error = refused("Select * From Flights\n\tWhere dep_delay > 'x'  -- late\n;")
    assert str(error).splitlines() == [
        "line 2, column 20: dep_delay is an int attribute and 'x' is a string; expected a number",
        "   Where dep_delay > 'x'  -- late",
        "                     ^^^",
    ]


def test_the_excerpt_of_a_long_line_is_cut_around_the_place() -> None:
    error = refused("Select * From Flights Where " + "dep_delay > 1 and " * 100 + "oops > 1")
    shown, carets = str(error).splitlines()[1:]
    assert len(shown) <= 100
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "oops"


def test_nesting_is_limited() -> None:
    error = refused("Select * From Flights Where " + "not " * 300 + "cancelled")
    assert error.message == "nested deeper than 200 levels"


def test_a_condition_alone_has_its_own_positions() -> None:
    with pytest.raises(CqlError) as caught:
        parse_condition("dep_delay > 'x'", STREAMS["Flights"])
    assert (caught.value.line, caught.value.column) == (1, 13)
