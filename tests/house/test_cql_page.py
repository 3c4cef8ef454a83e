"""docs/cql.md says what the parser does."""

from __future__ import annotations

import re
from ast import literal_eval
from dataclasses import replace
from pathlib import Path

import pytest

from backend.cql import parse_query
from backend.cql.syntax import reserved_words
from backend.model.schema import Schema, ValidTimes
from backend.systems.stream.compiling import compile_queries
from backend.systems.stream.explaining import explain
from backend.workloads.flights import FLIGHTS_SCHEMA
from tests.oracles.cql_semantics import Elements
from tests.unit.network.query_runs import run_plan

PAGE = (Path(__file__).parents[2] / "docs" / "cql.md").read_text(encoding="utf-8")


EXAMPLES = re.findall(r"```sql\n([^`]*)```\n\n```text\n([^`]*)```", PAGE)


def test_the_page_lists_the_keywords() -> None:
    listed = re.search(r"The keywords are\s+`([^`]*)`", PAGE)
    assert listed is not None
    assert listed[1].split() == sorted(reserved_words())


def test_the_examples_of_conditions_parse() -> None:
    table = PAGE[PAGE.index("| form |") : PAGE.index("The two sides of")]
    examples = [e for line in table.splitlines()[2:] for e in re.findall(r"`([^`]+)`", line)]
    flights = {"Flights": FLIGHTS_SCHEMA}
    parsed = 0
    for example in examples:
        if any(name in example.split() for name in FLIGHTS_SCHEMA.names) or "(" in example:
            parse_query("example", f"Select * From Flights Where {example}", flights)
            parsed += 1
    assert parsed >= 9


def test_the_first_example_is_a_query() -> None:
    text = PAGE[PAGE.index("```sql") + 6 : PAGE.index("```\n\n`Select")]
    assert parse_query("q", text, {"Flights": FLIGHTS_SCHEMA}).stream == "Flights"


def _told() -> tuple[dict[str, Schema], dict[str, Elements]]:
    """The streams of the examples and their tuples, as the page's table has them."""
    table = PAGE[PAGE.index("| tick | ") :].split("\n\n")[0].splitlines()
    names = re.findall(r"\| (\w+) \(([^)]*)\) ", table[0] + " ")
    rows: dict[str, Elements] = {name: [] for name, _ in names}
    for line in table[2:]:
        tick, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for (name, _), cell in zip(names, cells, strict=True):
            rows[name] += [(literal_eval(f"({one},)"), int(tick)) for one in _tuples(cell)]
    stored = re.search(r"stored relation (\w+) \(([^)]*)\) holds ([^\n]*)\n([^\n]*)", PAGE)
    assert stored is not None
    rows[stored[1]] = [(literal_eval(f"({one},)"), 0) for one in _tuples(stored[3] + stored[4])]
    schemas = {name: Schema.parse(text) for name, text in [*names, (stored[1], stored[2])]}
    readings = ValidTimes("", key="car", type="bigint")
    schemas["Cars"] = replace(schemas["Cars"], valid=readings)
    return schemas, rows


def _tuples(text: str) -> list[str]:
    return re.findall(r"\(([^)]*)\)", text)


def _answered(text: str) -> str:
    """The elements of an answer up to tick 9, as the page writes them."""
    schemas, rows = _told()
    streams = {name: schema for name, schema in schemas.items() if name != "Tolls"}
    relations = {"Tolls": schemas["Tolls"]}
    named = {name: one for one, _ in EXAMPLES for name in re.findall(r"\A-- (\w+)", one)}
    known = {n: parse_query(n, one, streams, relations=relations) for n, one in named.items()}
    query = parse_query("q", text, streams, relations=relations, queries=known)
    plan = compile_queries([query], since={"q": 0}, tick_us=1_000_000)
    elements = sorted(
        run_plan(plan, rows, schemas, [10])["q"].elements(),
        key=lambda one: (one[1], -one[2], str(one[0])),
    )
    return "".join(
        f"{'+' if sign > 0 else '-'} ({', '.join(map(_shown, row))}) at {tau}\n"
        for row, tau, sign in elements
    )


def _shown(value: object) -> str:
    return "NULL" if value is None else str(value)


@pytest.mark.parametrize(
    "construct",
    [
        *("[Rows", "[Range", "Slide", "[Now]", "[Partition By", "Istream(", "Dstream(", "Rstream("),
        *("Join", "From Cars [Rows 3] As C, Exits", "Distinct", "Group By", "Having", "count(*)"),
        *("Union", "Except", "Intersect", "From (Select", " in (Select", "not in (Select"),
        *("From Slow", "% 20", " * 1.6", "From Cars (seg)", "Valid(Cars)"),
    ],
)
def test_the_page_has_examples_of_every_construct(construct: str) -> None:
    assert any(construct in text for text, _ in EXAMPLES)


@pytest.mark.parametrize(("text", "answer"), EXAMPLES)
def test_an_example_answers_what_the_page_says(text: str, answer: str) -> None:
    assert _answered(text) == answer


def test_the_network_that_is_shown_is_that_of_the_query() -> None:
    shown = PAGE[PAGE.rindex("```text\n") + 8 : PAGE.rindex("```")]
    joined = next(text for text, _ in EXAMPLES if "Join Tolls" in text)
    schemas, _ = _told()
    query = parse_query("q", joined, {"Cars": schemas["Cars"]}, relations=schemas)
    plan = compile_queries([query], since={"q": 0}, tick_us=1_000_000)
    assert explain(plan) + "\n" == shown
