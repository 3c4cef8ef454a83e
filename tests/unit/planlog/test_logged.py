"""Logs of a unit that no autopilot decides for: what they have, over kills and other schemas."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.planlog.logged import PlanLogger, Weighed
from backend.adaptive.planlog.records import LogSchema, NamedStatistic
from storage.vocabulary.planlog import KEEP_EVERY, form_digest
from storage.vocabulary.records import Decision
from tests.oracles.plan_logger import Step, told

SUBJECT = "R and S: order of R"
PLANS = st.sampled_from(["ab", "ba", "cab"])
COSTS = st.integers(0, 400).map(lambda n: n / 8)
EVALUATIONS = st.tuples(COSTS, PLANS, COSTS, PLANS, COSTS, st.booleans())
STEPS = st.lists(
    st.tuples(st.integers(0, 500), st.tuples(st.integers(0, 90), COSTS), st.none() | EVALUATIONS)
    .map(lambda parts: Step(*parts)),
    max_size=40,
)  # fmt: skip


def weighed(
    seq: int, step: Step, unit: str = "us", subject: str = SUBJECT, worth: float = 0.0
) -> Weighed:
    assert step.evaluation is not None
    statistic, present, cost, rival, other, is_taken = step.evaluation
    decision = Decision(
        seq, seq, "a-greedy", "probe order", "switched" if is_taken else "kept", "cost", 1.0, "<",
        2.0, 7, 9, 1, "", {"kind": "filters", "order": list(present)},
        {"kind": "filters", "order": list(rival)}, cost, other,
    )  # fmt: skip
    return Weighed(decision, subject, "us/tuple", {"drop a": (statistic + worth, unit)})


def ran(logger: PlanLogger, seq: int, step: Step, unit: str = "us") -> list[dict[str, Any]]:
    """A batch; the records that came of it, as a store gives them."""
    logger.passed(step.n_tuples)
    own = [] if step.evaluation is None else [weighed(seq, step, unit)]
    found = [each.record for each in logger.logged({SUBJECT: step.ran}, own, 3)]
    return [json.loads(json.dumps(record)) for record in found]


def spelt(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As a store gives them: every schema spelt out."""
    form = LogSchema((NamedStatistic("drop a", "us"),), "us/tuple", SUBJECT).form()
    return [{**record, "schema": form} for record in records]


@given(STEPS)
def test_an_evaluation_is_logged_as_the_twin_tells_it(steps: list[Step]) -> None:
    logger = PlanLogger()
    records = [each for seq, step in enumerate(steps) for each in ran(logger, seq, step)]
    expected = told(steps)
    assert [
        (each["number"], each["t"], each["plan"], each["chosen"], bool(each.get("replaced")))
        for each in records
    ] == [
        (e.number, e.t, *(form_digest(["filters", list(p), []]) for p in (e.plan, e.chosen)),
         e.replaced) for e in expected
    ]  # fmt: skip
    assert [tuple(each["ran"]) for each in records] == [(e.n_ran, e.cost_ran) for e in expected]
    forms = [digest for each in records for digest in each.get("plans", {})]
    assert len(forms) == len(set(forms))


@given(STEPS, st.sets(st.integers(0, 39)))
def test_a_log_that_is_killed_goes_on_as_one_that_is_not(
    steps: list[Step], kills: set[int]
) -> None:
    whole, killed = PlanLogger(), PlanLogger()
    theirs, mine = list[dict[str, Any]](), list[dict[str, Any]]()
    for seq, step in enumerate(steps):
        theirs += ran(whole, seq, step)
        mine += ran(killed, seq, step)
        if seq in kills:
            state = json.loads(json.dumps(killed.state()))
            killed = PlanLogger()
            assert killed.resume(spelt(mine), state) == []
    assert mine == theirs


def test_a_log_is_taken_up_from_the_last_record_that_kept_the_state() -> None:
    steps = [Step(10, (5, 2.0), (float(n % 50), "ab", 4.0, "ba", 3.0, False)) for n in range(600)]
    whole, killed = PlanLogger(), PlanLogger()
    theirs = [each for seq, step in enumerate(steps) for each in ran(whole, seq, step)]
    mine = [each for seq, step in enumerate(steps[:550]) for each in ran(killed, seq, step)]
    state = killed.state()
    killed = PlanLogger()
    killed.resume(spelt(mine[-KEEP_EVERY:]), state)
    mine += [each for seq, step in enumerate(steps[550:], 550) for each in ran(killed, seq, step)]
    assert mine == theirs
    assert ["state" in each for each in mine].count(True) == 2
    assert max(len(json.dumps(each["state"])) for each in mine if "state" in each) < 20_000


def test_other_statistics_begin_another_log_and_what_is_no_number_is_left_out() -> None:
    logger, step = PlanLogger(), Step(10, (5, 2.0), (0.5, "ab", 4.0, "ba", 3.0, False))
    (first,) = ran(logger, 1, step)
    (other,) = ran(logger, 2, step, unit="prob")
    assert (first["number"], other["number"]) == (1, 1)
    assert first["began"] != other["began"]
    assert logger.logged({}, [weighed(3, step, worth=math.nan)], 1) == []
    thin = Decision(4, 4, "", "", "thin", "", 0, "<", 1, 0, 0, 1, "")
    unpriced = weighed(4, step)._replace(decision=thin)
    assert logger.logged({}, [unpriced], 1) == []


def test_logs_of_two_subjects_have_begins_of_their_own_and_one_unreadable_is_said() -> None:
    logger, step = PlanLogger(), Step(10, (5, 2.0), (0.5, "ab", 4.0, "ba", 3.0, False))
    both = [weighed(1, step), weighed(2, step, subject="caches")]
    records = [each.record for each in logger.logged({}, both, 1)]
    assert len({record["began"] for record in records}) == 2
    records[0] = {**records[0], "statistics": [math.nan]}
    (said,) = PlanLogger().resume(records, {})
    assert said.title == f"the plan log of {SUBJECT} begins anew"
    assert "finite" in said.detail
    later = {"version": 9, "columns": [], "subject": SUBJECT}
    (said,) = PlanLogger().resume([{**records[0], "schema": later}], {})
    assert "another form" in said.detail
