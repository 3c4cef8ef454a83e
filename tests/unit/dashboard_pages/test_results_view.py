"""The Results view: matches per query, tuples, requests and error places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dashboard.views.results import (
    build_results,
    build_tuples,
    cell_text,
    error_place,
    listed,
    pick,
    sink_words,
)
from storage.tables.rows import StoredMisfit, StoredResult
from storage.vocabulary.records import Command, Entity, Run


def a_query(name: str, since: int = 0, removed: int | None = None, **properties: Any) -> Entity:
    facts = {"text": f"Select {name}", "state": "active", "attributes": ["a"], **properties}
    return Entity(f"query:{name}", "query", name, facts, name, since, removed)


def a_run(settings: Any = None) -> Run:
    return Run("r", "w", "running", 0.0, settings or {}, 1, "h", "0")


def a_command(command_id: int, kind: str, name: str, **more: Any) -> Command:
    return Command(command_id, "r", kind, {"name": name, "text": "Select"}, "me", "", 5.0, **more)


ENTITIES = [
    a_query("few"),
    a_query("many", duplicate_of="few"),
    a_query("later", since=9),
    a_query("gone", removed=3),
    Entity("system", "system", "System"),
]
VALUES = {
    "system": {"tuples_total": 200.0, "misfits_total": 2.0},
    "query:few": {"matched_total": 10.0, "matched_tuples": 1.0},
    "query:many": {"matched_total": 50.0, "matched_tuples": 0.0},
}
STAMP = "2013-03-25T19:55:00+00:00"
MISFITS = [StoredMisfit(2, 4, "raw", "a: not an int")]


def test_queries_are_those_of_the_moment_most_matches_first() -> None:
    view = build_results(ENTITIES, VALUES, [], MISFITS, a_run(), 5)
    assert [row.name for row in view.queries] == ["many", "few"]
    assert (view.queries[0].share, view.queries[0].duplicate_of) == (0.25, "few")
    assert (view.queries[1].total, view.queries[1].in_batch) == (10.0, 1.0)
    assert (view.most, view.n_misfits) == (50.0, 2.0)


def test_of_one_unit_queries_whose_answers_are_approximate_are_marked() -> None:
    queries = [replace(a_query(name), unit_id="network") for name in ("exact", "shed")]
    values = {"query:shed": {"inexact": 1.0}}
    view = build_results(queries, values, [], [], a_run(), 5)
    assert [(row.name, row.is_inexact) for row in view.queries] == [
        ("exact", False),
        ("shed", True),
    ]


def test_a_query_that_waits_says_for_what_and_since_when() -> None:
    waiting = a_query("both", waits_for=["A", "B"], waits_since=7)
    view = build_results([waiting, a_query("alone")], {}, [], [], a_run(), 9)
    assert {row.name: row.waits for row in view.queries} == {
        "both": "waits for A and B since batch 7",
        "alone": "",
    }


def test_before_the_first_batch_counts_are_unknown_not_zero() -> None:
    view = build_results(ENTITIES[:1], {}, [], [], a_run(), None)
    assert (view.queries[0].total, view.queries[0].share, view.queries[0].in_batch) == (None,) * 3


def test_a_query_without_matches_has_zero_once_tuples_came() -> None:
    view = build_results([a_query("none")], VALUES, [], [], a_run(), 5)
    assert (view.queries[0].total, view.queries[0].share) == (0.0, 0.0)


def test_requests_are_newest_first_and_mark_their_query_as_pending() -> None:
    commands = [
        a_command(1, "query_pause", "few", state="applied", applied_batch=4),
        a_command(2, "query_remove", "many"),
        a_command(3, "knob", "mu"),
    ]
    view = build_results(ENTITIES, VALUES, commands, [], a_run(), 5)
    assert [(request.id, request.verb) for request in view.requests] == [
        (2, "remove"),
        (1, "pause"),
    ]
    assert {row.name: row.pending for row in view.queries} == {"many": "remove", "few": ""}


def test_a_refused_text_shows_where_it_is_wrong() -> None:
    refused = a_command(1, "query_add", "q", state="refused", answer="line 2, column 7: expected")
    request = build_results([], {}, [refused], [], a_run(), 1).requests[0]
    assert (request.line, request.column) == (2, 7)
    assert error_place("no place named") == (None, None)


def test_tuples_are_in_schema_order_and_null_stays_null() -> None:
    results = [
        StoredResult(3, 8, {"b": None, "a": 1, "x": True}, ("p", "q")),
        StoredResult(2, 7, {"a": 2}, ("p",)),
    ]
    view = build_tuples("q", results, [["a", "int"], ["b", "string"]])
    assert view.columns == ["a", "b", "x"]
    assert view.rows == [["1", None, "true"]]
    assert view.numeric == [True, False, False]
    assert (view.also, view.batches) == ([["p"]], [8])


def test_the_choice_takes_names_and_entity_ids() -> None:
    view = build_results(ENTITIES, VALUES, [], [], a_run(), 5)
    assert pick(view, "query:few") == "few"
    assert pick(view, "u/a") == "many"
    assert pick(view, "u/gone", False) is None, "a link to one query never shows another"
    assert pick(build_results([], {}, [], [], a_run(), 5), "few") is None


def test_the_sink_in_words() -> None:
    assert sink_words({"sink": {"path": "/out", "format": "parquet"}}) == "/out (parquet)"
    assert sink_words({"sink": "parquet"}) == "parquet"
    assert sink_words({}) == ""
    assert sink_words(None) == ""


def test_cells_as_text() -> None:
    assert [cell_text(value) for value in (None, "a", STAMP, 1, 1.5, False, {"k": 1})] == [
        None,
        "a",
        "2013-03-25 19:55:00",
        "1",
        "1.5",
        "false",
        '{"k": 1}',
    ]
    long = (-23 / 7, 22642674.53125, 1e-300 / 3, 0.1 + 0.2, 123456.789)
    short = ["-3.285714286", "22642674.53", "3.333333333e-301", "0.3", "123456.789"]
    assert [cell_text(value) for value in long] == short


def test_of_many_queries_those_with_most_matches_are_listed_and_the_chosen_one() -> None:
    entities = [a_query(f"q{j}", text=f"Where a = {j}") for j in range(1000)]
    values = {"system": {"tuples_total": 9.0}}
    values |= {f"query:q{j}": {"matched_total": float(j)} for j in range(1000)}
    view = build_results(entities, values, [], [], a_run(), None)
    rows, n = listed(view, "", "q3")
    assert (len(rows), n, rows[0].name, rows[-1].name) == (201, 1000, "q999", "q3")
    assert rows[0].in_batch is None
    rows, n = listed(view, "Q99 =", "q3")
    assert ([row.name for row in rows], n) == (
        ["q999", "q998", "q997", "q996", "q995", "q994", "q993", "q992", "q991", "q990", "q99"],
        11,
    )
    assert listed(view, "nothing", None) == ([], 0)
