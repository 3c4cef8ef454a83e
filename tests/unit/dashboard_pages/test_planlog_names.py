"""Plans of a plan log by name."""

from __future__ import annotations

from dashboard.panels.common.planlog_parts import plan_cell
from dashboard.views.planlog_plans import LoggedPlan


def test_a_plan_that_is_no_version_is_called_by_what_it_is() -> None:
    short, long = LoggedPlan("5731aa", 0, (), "filters", ("b", "a"), "b → a"), "cars ⋈ owners, " * 3
    assert (short.name, short.label) == ("plan b → a", "b → a")
    assert LoggedPlan("5731aa", 0, (), "caches", (), long).name == f"plan {long[:31]}…"
    alike = LoggedPlan("5731aa", 0, (), "chains", (), long, alike=True)
    assert (alike.name, alike.label) == ("plan 5731", f"plan 5731: {long}")
    assert plan_cell(short)["title"] == "b → a · 5731aa"
    version = LoggedPlan("ab", 0, (1, 3), "early drop", ("a", "b"))
    assert (version.name, version.label) == ("plan 1", "plan 1: a → b")
