"""Regions of the plan log over time: stays, lanes, and how they are drawn."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from dashboard.figures.regions import draw_regions, stay_words
from dashboard.views.planlog import plan_log
from dashboard.views.planlog_regions import MOST_REGIONS, build_lanes
from tests.unit.dashboard_pages.test_planlog_views import look, plans, there_and_back


def test_a_region_that_came_back_is_in_the_lane_it_had() -> None:
    lanes = build_lanes(plan_log(there_and_back()), plans())
    assert lanes is not None
    assert (lanes.regions, lanes.n_regions) == ((1, 3, 2), 3)
    stays = [(s.region, s.plan.digest, s.batch, s.last, s.n_looks, s.n_back) for s in lanes.stays]
    assert stays == [
        (1, "ab", 1, 4, 3, 0),
        (3, "ab", 4, 5, 1, 0),
        (2, "ba", 5, 8, 3, 0),
        (1, "ab", 8, 11, 3, 1),
        (2, "ba", 11, 12, 2, 1),
    ]
    ends = [(stay.since, stay.until) for stay in lanes.stays]
    assert all(end == start for (_, end), (start, _) in pairwise(ends))
    assert ends[-1] == (1000.0 + 60 * 11, 1000.0 + 60 * 12)


def test_each_look_is_in_the_bar_of_its_region() -> None:
    looks = there_and_back()
    lanes = build_lanes(plan_log(looks), plans())
    assert lanes is not None
    for own in looks[:-1]:
        (stay,) = [s for s in lanes.stays if s.since <= own.time < s.until]
        assert stay.region == own.record["region"]


def test_one_region_has_no_lanes_and_of_many_the_longest_have() -> None:
    assert build_lanes(plan_log(there_and_back()[:3]), plans()) is None
    assert build_lanes([], plans()) is None
    many = [replace(entry, region=n) for n, entry in enumerate(plan_log(there_and_back()))]
    last = replace(many[-1], batch=many[-1].batch + 50)
    rest = [
        replace(entry, region=100 + n, batch=last.batch + 1 + n)
        for n, entry in enumerate(plan_log([look(n, "west", "ab", "ab") for n in range(1, 4)]))
    ]
    lanes = build_lanes([*many, last, *rest], plans())
    assert lanes is not None
    assert (len(lanes.regions), lanes.n_regions) == (MOST_REGIONS, 15)
    assert many[-1].region in lanes.regions
    drawn = draw_regions(lanes)
    assert drawn["layout"]["yaxis"]["ticktext"][-1] == "3 others"
    marks = [trace for trace in drawn["data"] if trace["mode"] == "markers"]
    others = [
        words
        for trace in marks
        for row, (_, words) in zip(trace["y"], trace["customdata"], strict=True)
        if row == MOST_REGIONS
    ]
    assert [words.partition(" from")[0] for words in others] == ["3 regions"]
    assert ", 3 looks" in others[0]


def test_a_mark_goes_to_where_a_stay_began_and_says_it() -> None:
    lanes = build_lanes(plan_log(there_and_back()), plans())
    assert lanes is not None
    drawn = draw_regions(lanes)
    marks = [trace for trace in drawn["data"] if trace["mode"] == "markers"]
    batches = sorted(row[0] for trace in marks for row in trace["customdata"])
    assert batches == [stay.batch for stay in lanes.stays]
    back = lanes.stays[3]
    words = stay_words([back])
    assert words.startswith("region 1 from ")
    assert words.endswith(
        f"batches 8 to 11, 3 looks; here again, 1 time before<br>plan 1: {back.plan.text}"
    )
