"""When a live page is told: seldom enough to draw, soon enough to follow."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dashboard.serving.pacing import PACE_S, WAIT_S, Cadence
from storage.tables.rows import Cursor

POLL_S = 0.05


def told(commits: dict[int, Cursor], n_polls: int) -> list[tuple[int, Cursor]]:
    """Polls at which something was told, and up to where; commits: what a poll finds new."""
    cadence, newest, known, found = Cadence(), Cursor(), Cursor(), []
    for poll in range(n_polls):
        newest = commits.get(poll, newest)
        if newest != known and cadence.is_due(newest, poll * POLL_S, hurried=False):
            known = newest
            found.append((poll, newest))
    return found


def test_the_first_batch_after_silence_is_told_at_once() -> None:
    assert told({3: Cursor(1), 60: Cursor(2)}, 80) == [(3, Cursor(1)), (60, Cursor(2))]


def test_batches_quicker_than_the_pace_are_told_together_with_the_newest() -> None:
    commits = {poll: Cursor(poll) for poll in range(1, 100, 6)}
    assert told(commits, 80) == [(poll, Cursor(poll)) for poll in (1, 25, 49, 73)]


def test_a_last_batch_is_told_though_none_follows() -> None:
    (_, first), (poll, last) = told({1: Cursor(1), 2: Cursor(2)}, 60)
    assert (first, last) == (Cursor(1), Cursor(2))
    assert PACE_S <= (poll - 1) * POLL_S <= PACE_S + WAIT_S + POLL_S


def test_a_command_does_not_wait() -> None:
    assert told({1: Cursor(1), 2: Cursor(1, 1)}, 5) == [(1, Cursor(1)), (2, Cursor(1, 1))]


def test_who_hurries_does_not_wait() -> None:
    cadence = Cadence()
    assert cadence.is_due(Cursor(1), 0.0, hurried=False)
    assert not cadence.is_due(Cursor(2), 0.1, hurried=False)
    assert cadence.is_due(Cursor(2), 0.15, hurried=True)


@given(st.sets(st.integers(0, 200), min_size=1))
def test_nothing_is_kept_for_long_and_the_last_is_always_told(polls: set[int]) -> None:
    commits = {poll: Cursor(n) for n, poll in enumerate(sorted(polls), 1)}
    found = told(commits, 240)
    assert found[-1][1] == commits[max(polls)]
    seen_at = {cursor: poll for poll, cursor in commits.items()}
    for (before, _), (after, newest) in pairwise(found):
        assert (after - before) * POLL_S >= PACE_S - 1e-9
        assert (after - seen_at[newest]) * POLL_S <= PACE_S + WAIT_S + 2 * POLL_S
