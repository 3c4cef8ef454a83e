"""docs/cql.md says what the parser does."""

from __future__ import annotations

import re
from pathlib import Path

from backend.cql import parse_query
from backend.cql.syntax import reserved_words
from backend.workloads.flights import FLIGHTS_SCHEMA

PAGE = (Path(__file__).parents[3] / "docs" / "cql.md").read_text(encoding="utf-8")


def test_the_page_lists_the_keywords() -> None:
    listed = re.search(r"The keywords are\s+`([^`]*)`", PAGE)
    assert listed is not None
    assert listed[1].split() == sorted(reserved_words())


def test_the_examples_of_conditions_parse() -> None:
    table = PAGE[PAGE.index("| form |") : PAGE.index("One side of")]
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
