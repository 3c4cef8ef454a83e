"""Two plan logs in one space: what the first knew of the second, plans of both, and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

import pytest

from dashboard.base.context import Moment, resolve
from dashboard.figures.planlog import draw_pair
from dashboard.panels.common import compare_logs
from dashboard.panels.contract import PanelScope, Sheet
from dashboard.views.planlog import PlanLogEntry, plan_log
from dashboard.views.planlog_pair import cost_lines, known_share, pair_logs, pair_words, why_unlike
from storage.reader import Reader, open_reader
from tests.unit.dashboard_pages.figures import checked
from tests.unit.dashboard_pages.test_pages import as_text
from tests.unit.dashboard_pages.test_planlog_views import look, plans, there_and_back
from tests.web.engine_run import SelectionRun
from tests.web.joins_run import JoinsRun

SCHEMA = {"statistics": [["x", "prob"], ["y", "prob"]], "cost_unit": "visits/tuple"}


def north_too() -> list[PlanLogEntry]:
    """East and west again, the statistics in another order; and twice where nobody was before."""
    looks = [look(1, "west", "ab", "ab"), look(2, "west", "ab", "ba"), look(3, "east", "ba", "ba")]
    north = [look(n, "east", "ba", "ba", statistics=[0.5, 3.0 + n]) for n in (4, 5)]
    entries = plan_log([*looks, *north])
    turned = [dict([*entry.statistics.items()][::-1]) for entry in entries]
    return [replace(e, statistics=own) for e, own in zip(entries, turned, strict=True)]


def slow_share(a: list[PlanLogEntry], b: list[PlanLogEntry]) -> float:
    """Look by look, statistic by statistic."""
    usual = {
        name: max(
            median(abs(n.statistics[name] - o.statistics[name]) for o, n in pairwise(a)),
            0.01 * max(abs(e.statistics[name]) for e in a),
        )
        for name in a[0].statistics
    }
    near = [
        any(all(abs(e.statistics[s] - k.statistics[s]) <= 4 * usual[s] for s in usual) for k in a)
        for e in b
    ]
    return fmean(near)


def test_the_share_that_was_known_is_that_of_looks_near_one_of_the_first() -> None:
    a, b = plan_log(there_and_back()), north_too()
    pair = pair_logs(a, b, (plans(), plans()), "")
    assert pair.known == slow_share(a, b) == pytest.approx(3 / 5)
    assert known_share(a, a) == 1.0
    assert (pair.n_a, len(pair.space.points)) == (12, 17)
    east, west = sorted(pair.plans, key=lambda row: row.plan.text, reverse=True)
    assert west.a
    assert west.b
    assert west.a.measured == pytest.approx((4 * 1.0 + 3 * 4.0) / 7)
    assert west.b.measured == 1.0
    assert east.plan.text == "b → a"
    known = "Of the 5 looks of B, 60.0\u2009% lie in regions that A knew. Both took 2 plans."
    assert pair_words(pair) == known
    assert "a → b: 2.29 in A, 1.00 in B, visits/tuple" in cost_lines(pair)


def test_plans_of_one_log_are_told_apart_from_those_of_both() -> None:
    a = plan_log([look(n, "west", "ab", "ab") for n in (1, 2)])
    b = plan_log([look(n, "east", "ba", "ba") for n in (1, 2)])
    pair = pair_logs(a, b, (plans(), plans()), "y~x")
    assert (pair.space.x, pair.space.y) == ("y", "x")
    assert pair_words(pair).endswith("No plan was taken in both.")
    assert [(bool(row.a), bool(row.b)) for row in pair.plans] == [(True, False), (False, True)]
    traces = [trace for trace in draw_pair(pair)["data"] if trace.get("meta")]
    assert [trace["marker"]["symbol"] for trace in traces] == ["circle-open", "square"]


def test_logs_of_other_numbers_are_refused_with_a_sentence() -> None:
    assert why_unlike(SCHEMA, SCHEMA) == ""
    turned = {**SCHEMA, "statistics": SCHEMA["statistics"][::-1]}
    assert why_unlike(SCHEMA, turned) == ""
    other = {"statistics": [["x", "ms"], ["z", "prob"]], "cost_unit": "us/tuple"}
    assert why_unlike(SCHEMA, other) == (
        "The logs are not of the same numbers: only A has y; only B has z; x is in prob in A, in "
        "ms in B; costs are visits/tuple in A, µs/tuple in B."
    )


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Two runs under the autopilot, and one of joins."""
    path = Path(tmp_path_factory.mktemp("pair")) / "run.db"
    for name in ("a", "b"):
        SelectionRun(path, name, policy="autopilot").drift().close()
    joins = JoinsRun(path, "joins")
    joins.ticks(3)
    joins.close()
    with open_reader(str(path)) as reader:
        yield reader


def shown(reader: Reader, show: str) -> compare_logs.LogsShown | None:
    context = resolve(reader, Moment("b", show=show))
    return compare_logs.build(reader, context, PanelScope())


def test_the_panel_draws_the_looks_of_both_runs(reader: Reader) -> None:
    first = shown(reader, "a,0,~b,0,~batch")
    assert first is not None
    assert first.pair is not None
    space = first.pair.space
    looks = [reader.looks(run) for run in "ab"]
    assert first.pair.n_a == len(looks[0])
    assert [p.batch for p in space.points] == [each.batch for own in looks for each in own]
    last, names = looks[1][-2].batch, space.names[::-1][:2]
    again = shown(
        reader, f"{first.before}{'~'.join(names)}~{space.subject}".replace("b,0,", f"b,0,{last}")
    )
    assert again is not None
    assert again.pair is not None
    assert (again.pair.space.x, again.pair.space.y) == names
    assert len(again.pair.space.points) == len(space.points) - 1
    drawn = compare_logs.draw(again, Sheet(resolve(reader, Moment("b")), "dark"))
    assert checked(drawn.figure)
    assert "lie in regions that A knew" in as_text(drawn.body)


def test_the_panel_says_why_there_is_nothing_to_draw(reader: Reader) -> None:
    other = shown(reader, "joins,0,~b,0,~batch")
    assert other is not None
    assert other.pair is None
    assert other.why_none.endswith("no log is of both.")
    none = shown(reader, "a,0,0~b,0,~batch")
    assert none is not None
    assert none.why_none.endswith("no look was taken in the batches of A.")
