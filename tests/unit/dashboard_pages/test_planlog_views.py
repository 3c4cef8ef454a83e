"""The plan log looked at: names of plans, space, what drives changes, hindsight, what came back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dashboard.base import context as contexts
from dashboard.base.context import Moment
from dashboard.figures.planlog import draw_space
from dashboard.pages import PLAN_LOG
from dashboard.panels.common import planlog, planlog_returns
from dashboard.panels.contract import PanelScope
from dashboard.panels.facts import read_facts
from dashboard.serving.live import Hub
from dashboard.serving.services import Services
from dashboard.serving.settings import Settings
from dashboard.views.book import Book
from dashboard.views.planlog import newest_log, plan_log, terms_words
from dashboard.views.planlog_hindsight import (
    guess_bounds,
    guessed,
    like_filled,
    look_back_on,
    returned_words,
    sum_lines,
    why_none,
)
from dashboard.views.planlog_importance import plan_drivers
from dashboard.views.planlog_plans import LoggedPlan, name_plans, plan_shares
from dashboard.views.planlog_recurrences import back_words, recurrences
from dashboard.views.planlog_returns import look_back
from dashboard.views.planlog_space import axes, build_space, subject_shown
from dashboard.views.planlog_story import tell_log, with_log
from dashboard.views.postmortem import Sentence, Story
from storage.reader import open_reader
from storage.reading.plan_log import looks_of, subjects
from storage.tables.rows import StoredLook
from storage.vocabulary.records import Entity, PlanVersion
from tests.unit.dashboard_pages.figures import checked, figures_in
from tests.web import joins_run
from tests.web.engine_run import UNIT
from tests.web.joins_run import JoinsRun

#: Conditions by name, and what the plans "ab" and "ba" cost in them.
PLACES = {"west": (0.1, 0.5), "east": (0.9, 0.5)}
COSTS = {"west": {"ab": 1.0, "ba": 4.0}, "east": {"ab": 4.0, "ba": 1.0}}
REGIONS = {("west", "ab"): 1, ("east", "ba"): 2, ("east", "ab"): 3, ("west", "ba"): 4}


def look(seq: int, place: str, plan: str, chosen: str, **more: Any) -> StoredLook:
    """A look that ended 1 000 tuples under ``plan`` in these conditions."""
    own = COSTS[place]
    noise = 0.01 * (seq % 3)
    record = {
        "schema": {"statistics": [["x", "prob"], ["y", "prob"]], "cost_unit": "visits/tuple"},
        **{"began": 0, "t": 1000 * seq, "statistics": [PLACES[place][0] + noise, 0.5 + noise]},
        **{"plan": plan, "cost": own[plan], "ran": [1000, 1000 * own[plan]], "replaced": False},
        "offers": [[other, own[other], 9, 0, 0, 0] for other in own if other != plan],
        **{"plans": {}, "switching": 100.0, "deciding": 10.0, "chosen": chosen, "number": seq},
        "region": REGIONS[place, chosen],
        **more,
    }
    return StoredLook("u", seq, seq, 1000.0 + 60 * seq, record)


def there_and_back() -> list[StoredLook]:
    """West, east after two looks, west after one, and east at once again."""
    west = [look(n, "west", "ab", "ab") for n in (1, 2, 3)]
    east = [look(4, "east", "ab", "ab"), look(5, "east", "ab", "ba")]
    east += [look(n, "east", "ba", "ba") for n in (6, 7)]
    back = [look(8, "west", "ba", "ab"), *(look(n, "west", "ab", "ab") for n in (9, 10))]
    return [*west, *east, *back, look(11, "east", "ab", "ba"), look(12, "east", "ba", "ba")]


def plans() -> dict[str, LoggedPlan]:
    return {
        "ab": LoggedPlan("ab", 0, (1, 3), "early drop", ("a", "b")),
        "ba": LoggedPlan("ba", 1, (2, 4), "early drop", ("b", "a")),
    }


def version(number: int, batch: int, order: str, decision: int | None = None) -> PlanVersion:
    ids = tuple(f"e:{name}" for name in order)
    return PlanVersion(number, batch, "early drop", ids, {}, "", "", decision, unit_id="u")


def test_plans_have_the_names_of_their_versions() -> None:
    versions = [version(1, 0, "ab"), version(2, 6, "ba", 5), version(3, 9, "ab", 8)]
    book = Book([Entity(f"e:{name}", "operator", name, {}) for name in "ab"])
    named = name_plans(there_and_back()[:10], versions, book)
    assert named == {
        "ab": LoggedPlan("ab", 0, (1, 3), "early drop", ("a", "b")),
        "ba": LoggedPlan("ba", 1, (2,), "early drop", ("b", "a")),
    }
    assert (named["ab"].name, named["ab"].text) == ("plan 1", "a → b")
    unknown = name_plans(there_and_back()[:1], [], book)["ab"]
    assert (unknown.name, unknown.order) == ("plan ab", ())


def test_shares_are_of_the_tuples_that_ran_between_looks() -> None:
    first, second = plan_shares(plan_log(there_and_back()), plans())
    assert (first.plan.digest, first.n_looks, first.n_switches) == ("ab", 7, 1)
    assert first.share + second.share == pytest.approx(1)
    assert first.n_tuples == 7000
    assert first.measured == pytest.approx((4 * 1.0 + 3 * 4.0) / 7)
    assert first.predicted == pytest.approx((6 * 1.0 + 1 * 4.0) / 7)
    assert plan_shares([], plans()) == []


def test_conditions_that_came_back_say_how_soon_their_plan_ran() -> None:
    newer, older = recurrences(plan_log(there_and_back()), plans())
    assert (older.decision, older.seen_batch, older.n_looks, older.n_first) == (8, 3, 1, None)
    assert (newer.decision, newer.seen_batch, newer.n_looks, newer.n_first) == (11, 7, 1, 2)
    assert back_words(newer) == (
        "Conditions of 00:23:40 are back: plan 2 taken after 1 look, it took 2 the first time."
    )
    assert "came back at 00:24:40: plan 1 taken after 1 look." in back_words(older)
    assert recurrences(plan_log(there_and_back()[:7]), plans()) == []
    assert recurrences([], plans()) == []


@pytest.mark.parametrize("n_between", [1, 2, 5])
def test_a_plan_that_came_back_in_conditions_that_never_left_is_no_recurrence(
    n_between: int,
) -> None:
    """ab, ba, ab, all in the west: thrashing, not memory."""
    looks = [look(n, "west", "ab", "ab") for n in range(1, 5)]
    looks.append(look(5, "west", "ab", "ba"))
    looks += [look(n, "west", "ba", "ba") for n in range(6, 5 + n_between)]
    last = looks[-1].seq
    looks.append(look(last + 1, "west", "ba", "ab"))
    looks += [look(last + n, "west", "ab", "ab") for n in (2, 3)]
    assert recurrences(plan_log(looks), plans()) == []


def test_one_look_astray_is_not_taken_for_conditions_that_left() -> None:
    looks = [look(n, "west", "ab", "ab") for n in range(1, 5)]
    looks += [look(5, "west", "ab", "ba"), look(6, "east", "ba", "ba")]
    looks += [look(n, "west", "ba", "ba") for n in (7, 8)]
    looks += [look(9, "west", "ba", "ab"), look(10, "west", "ab", "ab")]
    assert recurrences(plan_log(looks), plans()) == []


def test_the_statistic_that_moves_the_plan_comes_first() -> None:
    drivers = plan_drivers(plan_log(there_and_back()))
    assert (drivers.n, drivers.n_plans) == (12, 2)
    assert [row.name for row in drivers.statistics] == ["x", "y"]
    assert drivers.statistics[0].fall > drivers.statistics[1].fall
    alone = plan_drivers(plan_log(there_and_back()[:1]))
    assert [row.fall for row in alone.statistics] == [0, 0]


def test_hindsight_is_of_what_looks_priced() -> None:
    assert look_back_on(there_and_back()[:3]) is None
    back = look_back_on(there_and_back())
    assert back is not None
    assert (back.plans, back.known, back.near, back.n_looks) == (("ab", "ba"), 1, 0, 12)
    own = back.back
    assert own.running == 1000 * (3 * 1 + 2 * 4 + 2 * 1 + 1 * 4 + 2 * 1 + 1 * 4 + 1 * 1)
    assert own.single.cost == 1000 * (6 * 1 + 6 * 4)
    assert own.sequence.cost == 12 * 1000 + 3 * 100
    assert own.switching + own.deciding == 3 * 100 + 12 * 10
    assert sum_lines(back)[0].words == "spent"
    assert returned_words(back) == (
        "Adapting returned 14 × what it cost; 50 % of it came from one switch."
    )
    assert back.batches[own.switches[0].place - 1] == 5
    assert back.least == back.most == own


def test_adapting_that_lost_says_so() -> None:
    astray = [look(1, "west", "ab", "ba"), look(2, "west", "ba", "ab"), look(3, "west", "ab", "ab")]
    back = look_back_on(astray)
    assert back is not None
    words = returned_words(back)
    assert words.startswith("Adapting has not paid: the best single plan")
    assert words.endswith("Most was lost after the switch at batch 1.")


def test_a_verdict_that_guessed_prices_decide_is_not_told() -> None:
    """Nobody knows what "ba" costs in the west: as little as "ab", or as much as "ab" in the
    east."""
    west = [look(n, "west", "ab", "ab", offers=[]) for n in (1, 2, 3)]
    east = [look(4, "east", "ab", "ba"), *(look(n, "east", "ba", "ba") for n in (5, 6))]
    back = look_back_on([*west, *east])
    assert back is not None
    assert (back.least.saved, back.most.saved) == (-3000, 6000)
    assert returned_words(back) == (
        "It cannot be told whether adapting paid: 25.0\u2009% of the prices are guessed. The best "
        "single plan would have cost between 3.0k visits less and 6.0k visits more than what ran."
    )
    single = next(line for line in sum_lines(back) if line.words == "best single plan")
    assert (single.low, single.high) == (6000, 15000)


@pytest.mark.parametrize("seed", range(20))
def test_what_adapting_saved_lies_between_the_bounds_of_what_is_guessed(seed: int) -> None:
    """Prices are known, and then some of plans that neither ran nor were the cheapest are not."""
    rng = np.random.default_rng(seed)
    more = rng.normal(1, 2, (30, 4))
    chosen = rng.integers(0, 4, 30).tolist()
    more[np.arange(30), chosen] = 0.0
    hidden = (rng.random((30, 4)) < 0.4) & (more > more.min(axis=1)[:, None])
    hidden &= more < np.sort(more, axis=None)[-1]
    hidden[np.arange(30), chosen] = False
    low, high = guess_bounds(np.where(hidden, np.nan, more), more.min(axis=1))
    saved = [look_back(5 + each, chosen, 1.0, 0.0).saved for each in (low, more, high)]
    assert saved == sorted(saved)


def test_prices_come_from_like_conditions_and_else_from_what_is_usual() -> None:
    statistics = np.array([[0.0], [0.1], [0.0], [0.1], [9.0]])
    prices = np.array([[1.0], [np.nan], [3.0], [2.0], [np.nan]])
    filled, sources = like_filled(prices, statistics)
    assert filled[:4, 0].tolist() == [1, 2, 3, 2]
    assert np.isnan(filled[4, 0])
    assert sources[:, 0].tolist() == [-1, 3, -1, -1, -1]
    more = np.array([[0.0, 2.0], [0.0, np.nan], [-3.0, 0.0], [np.nan, 0.0]])
    assert guessed(more, [0, 0, 1, 1]).tolist() == [[0, 2], [0, 2], [-3, 0], [0, 0]]


def test_the_address_names_two_statistics_or_the_important_ones_are_taken() -> None:
    assert axes(None, ["x", "y", "z"]) == ("x", "y")
    assert axes("z~x", ["x", "y", "z"]) == ("z", "x")
    assert axes("z~gone", ["x", "y", "z"]) == ("x", "y")
    assert axes(None, ["x"]) == ("x", "x")


@pytest.mark.parametrize("n", [1, 2, 12])
def test_the_space_has_a_point_a_look_and_a_fading_path(n: int) -> None:
    entries = plan_log(there_and_back()[:n])
    view = build_space(entries, plans(), ["x", "y"], None)
    figure = draw_space(view, "dark")
    assert checked(figure)
    points = [trace for trace in figure["data"] if "plan" in trace.get("meta", {})]
    assert sum(len(trace["x"]) for trace in points) == n
    assert sorted(data[0] for trace in points for data in trace["customdata"]) == [
        entry.batch for entry in entries
    ]
    path = [trace["opacity"] for trace in figure["data"] if trace.get("name") == "path"]
    assert path == sorted(path)
    assert len(path) == min(10, n - 1)
    cells = {cell for row in view.ground.cells for cell in row}
    assert {point.place for point in view.points} <= cells


def test_axes_say_their_units() -> None:
    view = build_space(plan_log(there_and_back()), plans(), ["x", "y"], None)
    layout = draw_space(view._replace(units=("bytes", "prob")))["layout"]
    assert layout["xaxis"]["title"]["text"] == "x · bytes →"
    assert (layout["yaxis"]["title"]["text"], layout["yaxis"]["tickformat"]) == ("y →", ".0%")


def test_the_legend_names_the_plans_that_most_looks_chose() -> None:
    view = build_space(plan_log(there_and_back()), plans(), ["x", "y"], None)
    point, plan = view.points[0], view.plans[0]
    many = [
        (
            plan._replace(place=place, digest=f"d{place}"),
            [point._replace(place=place)] * (place + 1),
        )
        for place in range(9)
    ]
    points = tuple(look for _, looks in many for look in looks)
    ground = view.ground._replace(cells=((0,),))
    figure = draw_space(
        view._replace(points=points, plans=tuple(plan for plan, _ in many), ground=ground)
    )
    traces = [trace for trace in figure["data"] if "plan" in trace.get("meta", {})]
    named = [trace["meta"]["plan"] for trace in traces if trace["showlegend"]]
    assert named == [f"d{place}" for place in range(3, 9)]


def test_the_story_tells_of_what_came_back_and_what_adapting_returned() -> None:
    log = tell_log(there_and_back(), [], Book(), "Flights")
    assert [line.text.partition(";")[0] for line in log.opening] == [
        "Flights: Adapting returned 14 × what it cost"
    ]
    assert [sentence.batch for sentence in log.sentences] == [8, 11]
    assert log.sentences[1].link == ("/decisions", "11", "u")
    note = Sentence(9, 1500.0, "note", "ana noted")
    whole = with_log(Story([], [note]), log)
    assert [sentence.batch for sentence in whole.sentences] == [8, 9, 11]
    assert tell_log(there_and_back()[:2], [], Book(), "").opening == ()


def test_a_look_tells_its_four_terms() -> None:
    terms = {"rival": "ba", "saving": 0.25, "dwell": 8000.0}
    record = {**look(1, "west", "ab", "ab", **terms).record, "schema": "d51f9cf79bb7"}
    assert terms_words({"cost_unit": "visits per tuple", "plan_log": record}) == (
        "surely 0.250 visits/tuple × 8\u2009000 tuples to come, against 100 to switch + 10 to look"
    )
    of_join = terms_words({"cost_unit": "probes per element", "plan_log": record})
    assert "0.250 probes/element × 8\u2009000 elements to come" in of_join
    nothing = look(1, "west", "ab", "ab", rival=None, saving=None, dwell=1.0)
    assert terms_words({"plan_log": nothing.record}) == terms_words({}) == terms_words(None) == ""


def test_looks_of_a_log_before_are_left_out() -> None:
    other = look(13, "west", "ab", "ab", began=5)
    assert newest_log([*there_and_back(), other]) == [other]
    assert newest_log([]) == []


def test_the_page_is_of_the_looks_up_to_the_moment(piloted: Services) -> None:
    reader = piloted.reader
    context = replace(contexts.resolve(reader, Moment(run="r1")), theme="light")
    assert PLAN_LOG.has_records(read_facts(context, reader))
    (figure,) = figures_in(PLAN_LOG.layout(context, piloted))
    assert checked(figure)
    looks = reader.looks("r1")
    at = looks[len(looks) // 2].batch
    early = contexts.resolve(reader, Moment(run="r1", at=at))
    scope = PanelScope(UNIT, reader.units("r1", None))
    shares = planlog_returns.build_shares(reader, early, scope)
    assert shares is not None
    assert sum(row.n_looks for row in shares.rows) == len(reader.looks("r1", until=at))
    none = contexts.resolve(reader, Moment(run="r1", at=looks[0].batch - 1))
    assert planlog_returns.build_shares(reader, none, scope) is None
    assert planlog_returns.build_back(reader, none, scope) is None
    assert PLAN_LOG.layout(replace(none, theme="light"), piloted)


def test_the_page_shows_the_logs_of_a_network_subject_by_subject(tmp_path: Path) -> None:
    path = tmp_path / "joins.db"
    run = JoinsRun(path, "r1")
    for batch in range(9):
        run.ticks(1, r_times=1 if batch < 6 else 12)
    run.close()
    with open_reader(str(path)) as reader:
        settings = Settings(str(path), "a-token-for-tests")
        services = Services(reader, None, settings, Hub(reader))
        scope = PanelScope(joins_run.UNIT, reader.units("r1", None))
        logs = subjects(reader, "r1", joins_run.UNIT)
        assert {"chains", "a and b and c: caches"} <= set(logs)
        seen = set[str]()
        for subject in logs:
            moment = Moment(run="r1", show=f"~~{subject}")
            context = replace(contexts.resolve(reader, moment), theme="light")
            view = planlog.build(reader, context, scope)
            assert view is not None
            assert (view.subject, view.subjects) == (subject, tuple(logs))
            assert all(plan.text for plan in view.plans)
            shown = planlog_returns.build(reader, context, scope)
            assert shown is not None
            assert (shown.hindsight is None) == bool(shown.why_none)
            seen.add(shown.why_none)
            (figure,) = figures_in(PLAN_LOG.layout(context, services))
            assert checked(figure)
        assert "One plan ran so far, so there is nothing to compare it with." in seen
        caches = looks_of(reader, "r1", None, joins_run.UNIT, 99, "a and b and c: caches")
        named = name_plans(caches, [], Book())
        assert "no caches" in {plan.name for plan in named.values()}


def test_a_return_that_too_few_prices_are_known_for_is_not_told() -> None:
    looks = there_and_back()
    own, back = [with_subject(each) for each in looks], look_back_on(looks)
    assert back is not None
    few = back._replace(plans=("ab", "ba", "c"), known=0.35, near=0.05)
    assert why_none(looks, few) == why_none(own, back) == ""
    assert "that did not run 10.0\u2009% are known, too few to tell" in why_none(own, few)
    idle = [replace(each, record={**each.record, "ran": [0, 0.0]}) for each in looks]
    assert why_none(idle, look_back_on(idle)).startswith("Nothing was measured")


def with_subject(of: StoredLook) -> StoredLook:
    return replace(of, record={**of.record, "schema": {**of.record["schema"], "subject": "s"}})


def test_costs_that_are_no_cost_of_a_tuple_are_told_as_means() -> None:
    held = [
        replace(e, record={**e.record, "schema": {**e.record["schema"], "cost_unit": "bytes"}})
        for e in there_and_back()
    ]
    whole, mean = look_back_on(there_and_back()), look_back_on(held)
    assert whole is not None
    assert mean is not None
    assert mean.back.running == pytest.approx(whole.back.running / whole.n_tuples)
    assert (mean.n_tuples, mean.unit) == (whole.n_tuples, "bytes")


def test_a_subject_stands_behind_two_statistics_in_the_address() -> None:
    logs = ["", "caches", "chains"]
    assert subject_shown("a~b~chains", logs) == subject_shown("~~chains", logs) == "chains"
    assert subject_shown("a~b", logs) == subject_shown(None, logs) == ""
    assert subject_shown("a~b~gone", logs[1:]) == "caches"
    assert axes("~~chains", ["x", "y"]) == ("x", "y")
    assert axes("y~x~chains", ["x", "y"]) == ("y", "x")
