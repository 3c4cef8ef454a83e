"""Tuples kept aside, or missed by some queries, are an event when something new is wrong."""

from __future__ import annotations

from backend.engine.misfits import QUIET_BATCHES, REMEMBERED, Aside, MisfitNews
from backend.operators.contract import BatchResult, InputResult, KeptAside
from backend.workloads.file_counts import FilesRead


def aside(*errors: str) -> tuple[KeptAside, ...]:
    return tuple(KeptAside("1,2", error) for error in errors)


def result(batch: int, n: int, *errors: str) -> BatchResult:
    """A batch with n tuples kept aside, the first of them for these reasons."""
    return BatchResult(batch, {"S": InputResult(9, n_misfits=n, misfits=aside(*errors))}, {})


def test_an_error_is_an_event_once() -> None:
    news = MisfitNews()
    (event,) = news.events(result(3, 7, "no int", "no int"))
    assert (event.kind, event.title, event.detail, event.severity) == (
        "misfit",
        "7 tuples kept aside",
        "no int",
        "warning",
    )
    assert news.events(result(4, 2, "no int")) == []
    (event,) = news.events(result(5, 1, "no int", "no date"))
    assert (event.title, event.detail) == ("1 tuple kept aside", "no date")


def test_a_misfit_of_a_file_names_it() -> None:
    places = {("1,2", "no int"): "/in/g4.csv, tuple 100", ("/in/x.csv", "no file"): "/in/x.csv"}
    misfits = (*aside("no int"), KeptAside("/in/x.csv", "no file"), *aside("late"))
    told = InputResult(9, n_misfits=3, misfits=misfits, files=FilesRead(places=places))
    (event,) = MisfitNews().events(BatchResult(3, {"S": told}, {}))
    assert event.detail == "g4.csv: no int; x.csv: no file; late"


def test_all_that_is_new_is_said_of_many_reasons_how_many_more() -> None:
    (event,) = MisfitNews().events(result(3, 402, "no int", "no int", "this file cannot be read"))
    assert event.detail == "no int; this file cannot be read"
    (event,) = MisfitNews().events(result(3, 402, *(f"no {word}" for word in "abcdefgh")))
    assert event.detail == "no a; no b; no c; no d; no e; 3 more reasons"
    (event,) = MisfitNews().events(result(3, 402, "late: tick 7", "no int", "late: tick 12"))
    assert event.detail == "late: tick 7; no int"


def test_tuples_that_some_queries_missed_are_an_event_of_their_own() -> None:
    news = MisfitNews()
    missed = InputResult(9, n_missed=3, missed=aside("late"))
    both = {"S": InputResult(9, n_misfits=1, misfits=aside("no int")), "T": missed}
    first, second = news.events(BatchResult(3, both, {}))
    assert (first.kind, first.title) == ("misfit", "1 tuple kept aside")
    assert (second.kind, second.title, second.detail, second.severity) == (
        "missed",
        "3 tuples missed by some queries, taken by others",
        "late",
        "warning",
    )
    assert news.events(BatchResult(4, both, {})) == []
    assert news.events(result(5, 1, "late")), "the same reason, but kept aside"


def test_an_error_that_comes_back_after_a_while_is_news() -> None:
    news = MisfitNews()
    assert news.events(result(0, 1, "x"))
    assert not news.events(result(QUIET_BATCHES, 1, "x"))
    assert news.events(result(2 * QUIET_BATCHES + 1, 1, "x"))


def test_a_batch_without_misfits_is_no_event() -> None:
    assert MisfitNews().events(result(1, 0)) == []


def test_only_so_many_texts_are_remembered() -> None:
    news = MisfitNews()
    for number in range(REMEMBERED + 1):
        assert news.events(result(1, 1, f"error {number}"))
    assert not news.events(result(1, 1, f"error {REMEMBERED}"))
    assert news.events(result(1, 1, "error 0"))


def batch(n_tuples: int, *aside: tuple[str, str]) -> InputResult:
    kept = tuple(KeptAside(raw, error) for raw, error in aside)
    return InputResult(n_tuples, n_misfits=len(kept), misfits=kept)


def test_each_reason_is_said_once_with_tuples_and_their_number() -> None:
    told = Aside()
    first = batch(7, ("x,1", "a is no int"), ("y,2", "a is no int"), ("z,3", "a is no int"))
    assert told.lines({"S": first, "T": batch(5)}) == [
        "stream S: tuples are kept aside: a is no int",
        "    x,1",
        "    y,2",
        "stream S: 3 of 10 tuples were kept aside",
    ]
    assert told.lines({"S": batch(0, ("q,1", "a is no int"))}) == []
    long = "\x00" + "x" * 500
    lines = told.lines({"S": batch(1, (long, "1 field where 2 are due"))})
    assert lines[1] == "    \\x00" + "x" * 115 + "…"
    assert lines[-1] == "stream S: 5 of 13 tuples were kept aside"
    assert not told.is_everything
    where = "/out/stream=S/_misfits"
    assert told.summary("/out") == [
        f"stream S: 5 of 13 tuples were kept aside; they are in {where}"
    ]


def test_reasons_without_number_are_not_all_said() -> None:
    told = Aside()
    lines = [line for k in range(50) for line in told.lines({"S": batch(0, ("x", f"reason {k}"))})]
    assert sum("are kept aside" in line for line in lines) == 5


def test_when_nothing_fits_the_schema_is_asked_about() -> None:
    told = Aside()
    assert not told.is_everything
    told.lines({"S": batch(0, ("x", "a is no int")), "T": batch(0)})
    assert told.is_everything
    assert told.summary("") == [
        "stream S: 1 of 1 tuples were kept aside",
        "stream S: nothing fits; does its schema say what the data are?",
    ]
    told.lines({"T": batch(1)})
    assert not told.is_everything


def test_what_some_queries_missed_is_said_apart_from_what_was_kept_aside() -> None:
    told = Aside()
    late = (KeptAside("x,1", "late"), KeptAside("y,2", "late"))
    missed = InputResult(7, n_missed=2, missed=late)
    assert told.lines({"S": missed, "T": batch(1, ("z", "a is no int"))}) == [
        "stream S: tuples are missed by some queries, taken by others: late",
        "    x,1",
        "    y,2",
        "stream S: 2 of 7 tuples were missed by some queries, taken by others",
        "stream T: tuples are kept aside: a is no int",
        "    z",
        "stream T: 1 of 2 tuples were kept aside",
    ]
    assert not told.lines({"S": missed})
    assert told.summary("") == [
        "stream T: 1 of 2 tuples were kept aside",
        "stream S: 4 of 14 tuples were missed by some queries, taken by others",
    ]
    assert not told.is_everything
