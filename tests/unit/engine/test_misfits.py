"""Tuples kept aside are an event when something new is wrong."""

from __future__ import annotations

from backend.engine.misfits import QUIET_BATCHES, REMEMBERED, MisfitNews
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
