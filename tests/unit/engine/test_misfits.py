"""Tuples kept aside are an event when something new is wrong."""

from __future__ import annotations

from backend.engine.misfits import QUIET_BATCHES, REMEMBERED, Aside, MisfitNews
from backend.operators.contract import InputResult, KeptAside
from storage.vocabulary.records import Misfit


def aside(*errors: str) -> tuple[Misfit, ...]:
    return tuple(Misfit("1,2", error) for error in errors)


def test_an_error_is_an_event_once() -> None:
    news = MisfitNews()
    (event,) = news.events(3, 7, aside("no int", "no int"))
    assert (event.title, event.detail, event.severity) == (
        "7 tuples kept aside",
        "no int",
        "warning",
    )
    assert news.events(4, 2, aside("no int")) == ()
    (event,) = news.events(5, 1, aside("no int", "no date"))
    assert (event.title, event.detail) == ("1 tuple kept aside", "no date")


def test_an_error_that_comes_back_after_a_while_is_news() -> None:
    news = MisfitNews()
    assert news.events(0, 1, aside("x"))
    assert not news.events(QUIET_BATCHES, 1, aside("x"))
    assert news.events(2 * QUIET_BATCHES + 1, 1, aside("x"))


def test_a_batch_without_misfits_is_no_event() -> None:
    assert MisfitNews().events(1, 0, ()) == ()


def test_only_so_many_texts_are_remembered() -> None:
    news = MisfitNews()
    for number in range(REMEMBERED + 1):
        assert news.events(1, 1, aside(f"error {number}"))
    assert not news.events(1, 1, aside(f"error {REMEMBERED}"))
    assert news.events(1, 1, aside("error 0"))


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
