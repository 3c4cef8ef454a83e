"""The plan log of a range of batches: the one that is brushed on the strip, or the last minutes."""

from __future__ import annotations

from typing import TypeVar

import pytest

from dashboard.base import context as contexts
from dashboard.base.context import Moment
from dashboard.figures.planlog import draw_space
from dashboard.panels.brushed import range_shown
from dashboard.panels.common import planlog, planlog_returns
from dashboard.panels.contract import PanelScope
from dashboard.serving.services import Services
from tests.unit.dashboard_pages.figures import checked
from tests.web.engine_run import UNIT

V = TypeVar("V")


def sure(view: V | None) -> V:
    """A view that there is."""
    assert view is not None
    return view


def test_the_page_is_of_the_range_that_the_address_names(piloted: Services) -> None:
    """Against looks picked by hand."""
    reader = piloted.reader
    scope, looks = PanelScope(UNIT, reader.units("r1", None)), reader.looks("r1")
    first, last = looks[2].batch, looks[-2].batch
    own = [each for each in looks if first <= each.batch <= last]
    context = contexts.resolve(reader, Moment(run="r1", span=f"{first}-{last}"))
    shares = sure(planlog_returns.build_shares(reader, context, scope))
    drivers = sure(planlog.build_drivers(reader, context, scope))
    returned = sure(planlog_returns.build(reader, context, scope))
    space = sure(planlog.build(reader, context, scope))
    ranges = {shares.range, drivers.range, returned.range, space.range}
    assert ranges == {f"batches {first} to {last}"}
    assert sum(row.n_looks for row in shares.rows) == drivers.drivers.n == len(own)
    assert sure(returned.hindsight).n_tuples == sum(each.record["ran"][0] for each in own)
    assert [point.batch for point in space.points] == [each.batch for each in looks[:-1]]
    marks = [trace["marker"] for trace in draw_space(space)["data"] if trace.get("meta")]
    assert [one for mark in marks for one in mark["opacity"]].count(1.0) == len(own)
    early = contexts.resolve(reader, Moment(run="r1", span="0-0"))
    assert planlog_returns.build_shares(reader, early, scope) is None
    space = sure(planlog.build(reader, early, scope))
    assert space.since == len(space.points) == len(looks)
    assert checked(draw_space(space))


@pytest.mark.parametrize("span", ["1m", "2m", "1h", "7-3", "9", "x", "1-2-3", "9m9"])
def test_a_range_is_of_two_batches_or_of_the_last_minutes(piloted: Services, span: str) -> None:
    reader = piloted.reader
    shown = range_shown(reader, contexts.resolve(reader, Moment(run="r1", span=span)))
    times = {batch.id or 0: batch.time for batch in reader.batches("r1")}
    newest, minutes = max(times), {"1m": 1, "2m": 2, "1h": 60}.get(span, 0)
    before = [id for id, time in times.items() if time <= times[newest] - 60 * minutes]
    oldest = max(before, default=min(times))
    assert shown == ((oldest, newest) if minutes else (3, 7) if span == "7-3" else None)
