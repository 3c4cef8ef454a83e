"""The Decisions views: list, filters, counts; the card's inequality, orders, costs and words."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.panels.common.decision_card import counted_table, saved_tone, scale_of
from dashboard.views.decision_card import build_card, knob_text, order_names
from dashboard.views.decisions import Measured, build_list, count_words, pick, saved_per_1000
from storage.tables.rows import DecisionCounts, DecisionEntry
from storage.vocabulary.records import Decision, DecisionOutcome, Knob, PlanVersion

COUNTS = DecisionCounts(
    {"switched": 2, "kept": 1, "cooldown": 3, "thin": 1}, stored=7, evaluated=40
)
MU = Knob("mu", "float", 0.1, 0.1, "", "threshold")


def a_decision(**changes: Any) -> Decision:
    fields: dict[str, Any] = {
        "seq": 5,
        "batch": 12,
        "algorithm": "asc.macro",
        "kind": "rearrange",
        "verdict": "switched",
        "metric": "visits",
        "lhs": 0.31,
        "relation": ">=",
        "rhs": 0.1,
        "n": 4000,
        "n_sample": 800,
        "knob_version": 3,
        "explanation": "visits per tuple rose from 3.0 to 3.9",
        "old": {"kind": "early drop", "order": ["a", "b", "c"]},
        "new": {"kind": "early drop", "order": ["c", "a", "b"]},
        "predicted_old": 3.9,
        "predicted_new": 3.1,
    }
    return Decision(**{**fields, **changes})


def an_outcome(**changes: Any) -> DecisionOutcome:
    fields: dict[str, Any] = {
        "decision": 5,
        "batch": 15,
        "actual_new": 3.12,
        "n": 5000,
        "sample_new": 3.1,
        "counterfactual_old": 3.85,
        "n_sample": 250,
    }
    return DecisionOutcome(**{**fields, **changes})


def an_entry(outcome: DecisionOutcome | None = None, **changes: Any) -> DecisionEntry:
    return DecisionEntry(a_decision(**changes), 100.0, outcome)


def a_plan(version: int, batch: int, decision: int | None) -> PlanVersion:
    return PlanVersion(version, batch, "early drop", ("a",), {}, "h", "why", decision)


def test_the_list_counts_every_evaluation_and_says_what_it_leaves_out() -> None:
    view = build_list([an_entry()], COUNTS, "not acted on")
    assert view.by_filter == {"all": 7, "switched": 2, "kept": 1, "not acted on": 5}
    words = count_words(view)
    assert words == "1 of 5, newest first; 40 evaluated, of those not taken a sample is stored"


def test_when_all_evaluations_are_stored_the_words_say_so() -> None:
    counts = DecisionCounts({"switched": 1}, stored=1, evaluated=1)
    words = count_words(build_list([an_entry()], counts))
    assert words == "1, newest first"


def test_what_costs_follow_from_is_on_the_card_as_it_was_counted() -> None:
    """Whole numbers as such; a pattern that nothing asked for compared nothing."""
    rows: list[list[Any]] = [["<a,*>", 1200, 3.5, 0.7, 4.25, 2.0], ["none", 0, None, 0.3, 5.0, 1.0]]
    columns = ["Pattern", "Requests", "Compared", "Weight", "Cost before", "Cost after"]
    detail = {
        "counted": [{"about": "Requests by access pattern", "columns": columns, "rows": rows}]
    }
    card = build_card(an_entry(detail=detail), [MU], [])
    assert card.counted == (("Requests by access pattern", columns, rows),)
    assert card.further == []
    drawn: Any = counted_table(card.counted[0])
    assert [column["form"] for column in drawn.columns] == [None, "int", *["f3"] * 4]
    assert [row["cells"] for row in drawn.rows] == rows
    assert build_card(an_entry(detail={}), [MU], []).counted == ()


def test_an_unknown_filter_means_all() -> None:
    assert build_list([], COUNTS, "nonsense").chosen_filter == "all"


@pytest.mark.parametrize(
    ("entry", "value", "reason"),
    [
        (an_entry(an_outcome()), 750.0, ""),
        (an_entry(an_outcome(counterfactual_old=3.0)), -100.0, ""),
        (an_entry(), None, "not measured yet"),
        (an_entry(an_outcome(n_sample=7)), None, "not enough samples (n=7 < 30)"),
        (an_entry(an_outcome(sample_new=None)), None, "the two orders were not compared"),
        (an_entry(verdict="cooldown"), None, "nothing was switched"),
    ],
)
def test_saved_visits_or_why_there_is_no_number(
    entry: DecisionEntry, value: float | None, reason: str
) -> None:
    saved = saved_per_1000(entry)
    assert saved.value == (None if value is None else pytest.approx(value))
    assert saved.reason == reason


def test_the_choice_prefers_the_wanted_then_the_plan_shown_then_the_newest() -> None:
    entries = [an_entry(seq=9), an_entry(seq=5), an_entry(seq=2)]
    assert pick(entries, 77, 5) == 77
    assert pick(entries, None, 5) == 5
    assert pick(entries, None, 4) == 9
    assert pick([], None, 4) is None


def test_the_card_tells_orders_plans_and_measured_costs() -> None:
    plans = [a_plan(1, 0, None), a_plan(2, 13, 5)]
    card = build_card(an_entry(an_outcome()), [MU], plans)
    assert card.old is not None
    assert card.new is not None
    assert [item.attribute for item in card.new.items if item.marked] == ["c"]
    assert (card.old.version, card.new.version) == (1, 2)
    assert card.saved_words == "saved 750 visits per 1 000 tuples (estimated on 250 sampled tuples)"
    by_label = {cost.label: cost for cost in card.costs}
    assert by_label["old order, same tuples"].cost.value == 3.85
    assert by_label["old order, same tuples"].estimated
    assert not by_label["new order, measured"].estimated
    assert by_label["new order, measured"].basis.startswith("measured on 5")
    assert card.knobs == [("mu", "0.1", "")]


def test_a_thin_sample_shows_its_reason_instead_of_a_number() -> None:
    card = build_card(an_entry(an_outcome(n_sample=7), n_sample=12), [], [])
    reasons = {cost.label: cost.cost.reason for cost in card.costs}
    assert reasons["old order, predicted"] == "not enough samples (n=12 < 30)"
    assert reasons["old order, same tuples"] == "not enough samples (n=7 < 30)"
    assert reasons["new order, measured"] == ""
    assert card.saved_words == "not enough samples (n=7 < 30)"


def test_a_rejected_evaluation_has_no_new_order_and_no_measured_cost() -> None:
    card = build_card(an_entry(verdict="below_threshold", lhs=0.03, new=None), [], [])
    assert card.new is None
    assert card.inequalities[0].holds is False
    assert [cost.label for cost in card.costs] == ["old order, predicted", "new order, predicted"]


def test_without_any_prediction_there_is_no_cost_to_compare() -> None:
    card = build_card(
        an_entry(verdict="thin", new=None, predicted_old=None, predicted_new=None), [], []
    )
    assert card.costs == []


def test_the_list_tells_each_test_in_a_line() -> None:
    view = build_list([an_entry(metric="change of visits_per_tuple"), an_entry(lhs=None)], COUNTS)
    assert view.rows[0].summary == "0.310 > 0.100 change of visits per tuple"
    assert view.rows[1].summary == "visits per tuple rose from 3.0 to 3.9"


def test_the_card_tells_the_test_as_the_list_does() -> None:
    for lhs, found in ((0.03, "0.030 < 0.100"), (0.1, "0.100 = 0.100"), (0.31, "0.310 > 0.100")):
        entry = an_entry(lhs=lhs)
        assert build_card(entry, [], []).inequalities[0].words == found
        assert build_list([entry], COUNTS).rows[0].summary.startswith(f"{found} ")


def test_sides_have_digits_until_they_differ_and_the_relation_that_was_needed() -> None:
    close = an_entry(lhs=0.2, relation=">=", rhs=0.20041, verdict="below_threshold")
    assert build_list([close], COUNTS).rows[0].summary == "0.2000 < 0.2004 visits, ≥ needed"
    assert build_card(close, [], []).inequalities[0].words == "0.2000 < 0.2004"
    kept = an_entry(lhs=80.821, relation="<", rhs=13.156, verdict="below_threshold")
    assert build_list([kept], COUNTS).rows[0].summary == "80.821 > 13.156 visits, < needed"


def test_a_kept_plan_tells_what_the_other_would_have_saved() -> None:
    detail = {"saving": {"mean": 0.0, "low": 0.0, "high": 0.0, "n": 800}}
    entry = an_entry(verdict="kept", detail=detail, predicted_old=4.795, predicted_new=4.844)
    kept = build_card(entry, [], [])
    assert kept.saving == "predicted saving of the other plan -0.049 per tuple"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("look", "n = 4\u2009000 tuples · 800 of them sampled"),
        ("rearrange", "n = 4\u2009000 tuples · 800 of them sampled"),
        ("chains", "n = 4\u2009000 tuples · 800 operator steps"),
        ("probe order", "n = 4\u2009000 elements · 800 profiled elements"),
    ],
)
def test_samples_are_called_what_they_are(kind: str, words: str) -> None:
    card = build_card(an_entry(an_outcome(), kind=kind), [], [])
    assert card.sample_words == words
    basis = words.rpartition("800 ")[2].replace("of them sampled", "sampled tuples")
    assert card.saved_words.endswith(f"(estimated on 250 {basis})")
    look = an_entry(an_outcome(), kind="look", detail={"cost_unit": "probes per element"})
    card = build_card(look, [], [])
    assert card.sample_words == "n = 4\u2009000 elements · 800 of them sampled"
    assert "per 1 000 elements (estimated on 250 sampled elements)" in card.saved_words
    assert {"old order, same elements"} < {cost.label for cost in card.costs}
    more = build_card(an_entry(n_sample=9000), [], [])
    assert more.sample_words == "n = 4\u2009000 tuples · 9\u2009000 sampled tuples"


def test_list_and_card_call_a_knob_what_its_card_does() -> None:
    entry = an_entry(lhs=None, explanation="less than mu = 0.05")
    assert build_card(entry, [], []).sentence == "less than Threshold μ = 0.05"
    assert build_list([entry], COUNTS).rows[0].summary == "less than Threshold μ = 0.05"


def test_unknown_sides_leave_the_inequality_undecided() -> None:
    card = build_card(an_entry(lhs=None), [], [])
    assert card.inequalities[0].holds is None
    assert card.inequalities[0].words == "— ≥ 0.100"


def test_orders_are_read_from_lists_and_mappings() -> None:
    assert order_names(["a", "b"]) == ["a", "b"]
    assert order_names({"order": ["a"]}) == ["a"]
    assert order_names(None) == []


def test_steps_of_the_macro_sequence_are_read_with_their_candidates() -> None:
    candidates = [{"attribute": "a", "score": 0.2, "individual": 0.2}, {"attribute": "b"}]
    steps = [{"phase": "selectivity", "chosen": "a", "candidates": candidates, "n_sample": 9}]
    card = build_card(an_entry(detail={"steps": steps, "mu": 0.1, "n_comparisons": 3}), [], [])
    assert card.steps[0].winner == "a"
    assert card.steps[0].candidates == [("a", 0.2), ("b", None)]
    assert card.steps[0].metric == "s, least wins"
    assert card.further == [("comparisons", "3")]


def a_reading(now: float, init: float, change: float | None) -> dict[str, Any]:
    return {"now": now, "init": init, "change": change, "unbounded": change is None}


@pytest.mark.parametrize(
    ("trigger", "deciding"),
    [
        ("visits", "visits per tuple"),
        ("dropping ratio", "dropping ratio d"),
        ("either", "visits per tuple"),
    ],
)
def test_both_inequalities_are_shown_and_the_deciding_one_is_known(
    trigger: str, deciding: str
) -> None:
    detail = {
        "mu": 0.1,
        "trigger": trigger,
        "visits": a_reading(3.9, 3.0, 0.3),
        "dropping_ratio": a_reading(0.75, 0.74, 0.0135),
    }
    card = build_card(an_entry(detail=detail), [], [])
    assert [one.name for one in card.inequalities if one.decides] == [deciding]
    assert [one.holds for one in card.inequalities] == [True, False]
    assert card.inequalities[0].note == "3.900 now, 3.000 at the last arrangement"
    assert card.inequalities[0].words == "0.300 > 0.100"


def test_a_change_from_zero_is_larger_than_any_threshold() -> None:
    detail = {"mu": 0.1, "trigger": "either", "visits": a_reading(0.4, 0.0, None)}
    one = build_card(an_entry(detail=detail), [], []).inequalities[0]
    assert (one.lhs, one.holds, one.unbounded, one.words) == (None, True, True, "∞ > 0.100")


def test_all_costed_plans_are_compared_with_their_intervals() -> None:
    cost = {"mean": 3.1, "low": 3.0, "high": 3.2, "n": 800}
    thin = {**cost, "n": 9}
    detail = {
        "plans": [
            {"kind": "early drop", "cost": cost, "incumbent": True, "chosen": False},
            {"kind": "early drop", "cost": cost, "incumbent": False, "chosen": True},
            {"kind": "no early drop", "cost": thin, "incumbent": False, "chosen": False},
            {"kind": "hybrid", "cost": thin, "incumbent": False, "chosen": False},
        ],
        "saving": {"mean": 0.4, "low": 0.3, "high": 0.5, "n": 800},
    }
    card = build_card(an_entry(detail=detail), [], [])
    assert [cost.label for cost in card.costs[:4]] == [
        "old order, predicted",
        "new order, predicted",
        "no early drop, predicted",
        "new hybrid plan, predicted",
    ]
    assert [cost.chosen for cost in card.costs[:3]] == [False, True, False]
    assert card.costs[0].interval == (3.0, 3.2)
    assert card.costs[2].cost.reason == "not enough samples (n=9 < 30)"
    assert card.saving.startswith("predicted saving 0.400 per tuple, 95 % interval 0.300 to 0.500")


def test_versions_come_from_the_record_itself() -> None:
    old = {"version": 3, "kind": "no early drop", "order": ["a"]}
    card = build_card(an_entry(old=old, new={"version": None, "order": ["a"]}), [], [])
    assert card.old is not None
    assert card.new is not None
    assert (card.old.version, card.old.kind, card.new.version) == (3, "no early drop", None)


def test_knob_values_as_text() -> None:
    assert [knob_text(value) for value in (0.15, 10, True, "visits")] == [
        "0.15",
        "10",
        "true",
        "visits",
    ]


def bar_of(**changes: Any) -> list[tuple[str, dict[str, str]]]:
    """(class, style) of the parts of the card's first inequality bar."""
    card = build_card(an_entry(**changes), [MU], [])
    parts: list[Any] = list(scale_of(card.inequalities[0]))
    return [(part.className, part.style) for part in parts]


def test_the_larger_side_is_the_bar_and_zero_is_a_mark() -> None:
    pair = {
        "filter": "a",
        "challenger": "c",
        "rank": 0.0,
        "challenger_rank": 0.4,
        "interval": {"low": 0.2, "high": 0.6, "confidence": 0.99},
    }
    parts = dict(bar_of(lhs=0.0, relation="<", rhs=0.36, detail={"pair": pair}))
    assert parts["pw-test-mark"] == {"left": "0.0%"}
    top = 0.9 * 0.6 * 1.18  # alpha = 0.36 / 0.4, of the interval's upper end, with headroom
    assert parts["pw-test-fill"] == {"width": f"{100 * 0.36 / top:.1f}%"}
    assert parts["pw-cost-whisker"]["left"] == f"{100 * 0.9 * 0.2 / top:.1f}%"


def test_by_evidence_the_difference_stands_against_zero() -> None:
    interval = {"low": 0.339, "high": 0.7, "confidence": 0.99}
    pair = {"challenger": "c", "rank": 0.1, "challenger_rank": 0.6, "interval": interval}
    parts = dict(bar_of(lhs=0.0, relation="<", rhs=0.339, detail={"pair": pair}))
    assert parts["pw-test-fill"]["width"] == parts["pw-cost-whisker"]["left"]
    assert parts["pw-test-mark"] == {"left": "0.0%"}


def test_a_change_against_mu_keeps_the_change_as_its_bar() -> None:
    parts = dict(bar_of())
    assert parts["pw-test-fill"] == {"width": f"{100 / 1.18:.1f}%"}
    assert parts["pw-test-mark"] == {"left": f"{100 * 0.1 / (0.31 * 1.18):.1f}%"}


def test_a_rolled_up_decision_names_what_it_had_more() -> None:
    card = build_card(
        an_entry(detail={"sample": "last", "rolled_up": ["paths", "cover_prefix"]}), [], []
    )
    assert card.further == [
        ("sample", "last"),
        ("rolled up", "paths, cover prefix: kept only where a plan changed"),
    ]


@pytest.mark.parametrize(
    ("saved", "tone"), [(750.0, "ok"), (0.2, "quiet"), (None, "quiet"), (-612.0, "warning")]
)
def test_a_change_that_brought_nothing_is_not_praised(saved: float | None, tone: str) -> None:
    assert saved_tone(Measured(saved)) == tone
