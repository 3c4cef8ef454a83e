"""Branches of runs: who computes one, what is typed for it, and where they are shown."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest

from dashboard.base.opening import build_opening, default_run
from dashboard.views.branches import (
    SETTING,
    branch_line,
    branch_pair,
    branches_of,
    taker,
    with_branch,
)
from dashboard.views.compare import ComparedStretch
from dashboard.views.runs import build_runs
from run import build_parser
from storage.vocabulary.branches import BranchOf, branch_of, branch_words
from storage.vocabulary.records import Run
from tests.unit.dashboard_shell.samples import run

BRANCH = BranchOf("old", 7, "mu", "asc.S", 0.3, 0.1, 40)
OLD, NEW = run("old", "running", 1.0), run("new", "running", 5.0)
MADE = replace(run("made", "running", 9.0), settings=BRANCH.settings())


def has_batch(_: str) -> bool:
    return True


def ended(one: Run) -> Run:
    return replace(one, state="ended")


def test_the_engine_of_the_run_itself_is_asked_else_the_newest_at_work() -> None:
    assert taker([OLD, NEW, MADE], "old") is OLD
    assert taker([ended(OLD), NEW, MADE], "old") is NEW
    assert taker([ended(OLD), MADE], "old") is None


@pytest.mark.parametrize("run_id", ["my run", "-dashed", "plain"])
@pytest.mark.parametrize("setting", ["mu=0.3", "trigger=dropping ratio", "what_if=True", "load=-1"])
def test_what_is_typed_is_what_the_command_line_takes(run_id: str, setting: str) -> None:
    line = branch_line(run_id, 7, "asc.S", "a store.db", setting)
    words = shlex.split(line)
    assert words[:2] == ["python3", "run.py"]
    assert words[2:] == branch_words(run_id, 7, "asc.S", "a store.db", setting)
    options = build_parser().parse_args(words[2:])
    found = (options.run, options.at, options.unit, options.store, options.set)
    assert found == (run_id, 7, "asc.S", "a store.db", setting)
    assert branch_line(run_id, 7, "asc.S", "a store.db").count(f"--set={SETTING}") == 1


def test_a_branch_lies_beside_its_record_from_where_they_part() -> None:
    pair = branch_pair("made", BRANCH)
    assert (pair.a, pair.b) == (ComparedStretch("old", 7, 40), ComparedStretch("made", 7))
    runs = [OLD, MADE, NEW]
    assert with_branch(MADE, runs) == with_branch(OLD, runs) == pair
    assert with_branch(NEW, runs) is with_branch(MADE, []) is None
    assert branches_of(runs, "old") == [(MADE, BRANCH)]
    assert branches_of([OLD, MADE, NEW], "new") == []
    assert branch_of(OLD) is None


def test_the_list_of_runs_says_of_what_one_is_a_branch() -> None:
    view = build_runs([OLD, MADE], {}, lambda _: 9.0)
    rows: dict[str, Any] = {row.id: row.branch for row in view.rows}
    assert rows == {"old": None, "made": BRANCH}
    assert BRANCH.words == "branch of old at batch 7 with mu = 0.3"


def test_no_page_opens_on_a_branch_while_there_is_another_run() -> None:
    assert default_run([MADE, ended(OLD)], has_batch) == ended(OLD)
    assert default_run([MADE], has_batch) is MADE
    assert build_opening([MADE, OLD], has_batch, None).live == "old"
    assert build_opening([MADE, ended(OLD)], has_batch, None).live == ""
