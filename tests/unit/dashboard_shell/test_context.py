"""The moment: parsing, permalinks, resolution, and when control is allowed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.base.context import Context, Moment, of, resolve
from storage.vocabulary.kinds import RunState
from tests.unit.dashboard_shell.samples import Runs, context, run

moments = st.builds(
    Moment,
    st.none() | st.text(min_size=1),
    st.none() | st.integers(0, 10**9),
    st.none() | st.text(min_size=1),
    st.just(False),
    st.none() | st.text(min_size=1),
    st.text(),
)


@given(moments)
def test_a_moment_survives_its_permalink(moment: Moment) -> None:
    assert Moment.from_search(moment.search()) == moment


def test_a_frozen_moment_survives_its_permalink() -> None:
    moment = Moment("r 1", 12, "asc:a&b", frozen=True)
    assert moment.search() == "?run=r+1&at=12&node=asc%3Aa%26b&frozen=1"
    assert Moment.from_search(moment.search()) == moment


def test_what_a_page_is_narrowed_to_stays_with_the_page() -> None:
    found = Context(Moment("r1", show="switched"), run(), 3, 3)
    assert found.href("", at=2) == "?run=r1&at=2&show=switched"
    assert found.href("/plan") == "/plan?run=r1"


@pytest.mark.parametrize("search", ["?at=x", "?at=-3", "?at=1.5", "?frozen=1", "", "?", None])
def test_nonsense_in_the_url_counts_as_absent(search: str | None) -> None:
    assert Moment.from_search(search) == Moment()


def test_a_pinned_batch_is_never_beyond_the_newest() -> None:
    reader = Runs(run(), last=40)
    assert resolve(reader, Moment("r1", 12)).batch == 12
    assert resolve(reader, Moment("r1", 99)).batch == 40
    assert resolve(reader, Moment("r1")).batch == 40
    assert resolve(Runs(run(), last=None), Moment("r1", 3)).batch is None


def test_an_unknown_run_is_no_run() -> None:
    found = of(Runs(run()), {"run": "nowhere"})
    assert found.run is None
    assert found.run_id == ""
    assert found.why_no_control == "There is no run to control."


@pytest.mark.parametrize(
    ("state", "at", "frozen", "mode", "why"),
    [
        ("running", None, False, "live", ""),
        ("starting", None, False, "live", ""),
        ("running", 3, True, "frozen", "Frozen"),
        ("running", 3, False, "replay", "Showing the past"),
        ("ended", None, False, "replay", "This run is ended"),
        ("failed", 3, True, "replay", "This run is failed"),
    ],
)
def test_mode_and_control(
    state: RunState, at: int | None, frozen: bool, mode: str, why: str
) -> None:
    found: Context = context(state, at, frozen=frozen)
    assert found.mode == mode
    assert found.why_no_control.startswith(why)
    assert bool(found.why_no_control) == (mode != "live")


def test_links_keep_the_moment() -> None:
    found = context(at=12)
    assert found.href("/plan", node="asc:delay") == "/plan?run=r1&at=12&node=asc%3Adelay"
    assert found.href("/plan", at=None) == "/plan?run=r1"
