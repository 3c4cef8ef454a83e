"""What would change a plan next, and why it did not, from the records of decisions."""

from __future__ import annotations

from typing import Any

from dashboard.components.formats import show
from dashboard.views.headroom import build_headroom, build_why_not, next_words, of_entity
from storage.tables.rows import DecisionEntry
from storage.vocabulary.records import Decision

PAIR = {
    "words": "a3 overtakes a6 if its drop probability rises by 0.060",
    "missing": 0.06,
    "unit": "prob",
    "near": 0.9,
    "entity": "a3",
    "over": "a6",
}
TRIGGER = {
    "words": "the order is built anew when visits per tuple come to 2.54",
    "missing": 0.21,
    "unit": "visits/tuple",
    "near": 0.1,
    "entity": "",
    "over": "",
}


def entry(seq: int, verdict: str = "below_threshold", **more: Any) -> DecisionEntry:
    given: dict[str, Any] = {
        "seq": seq,
        "batch": seq,
        "algorithm": "x",
        "kind": "rearrangement",
        "verdict": verdict,
        "metric": "change of visits_per_tuple",
        "lhs": 0.08,
        "relation": ">=",
        "rhs": 0.1,
        "n": 100,
        "n_sample": 10,
        "knob_version": 0,
        "explanation": "kept",
        "unit_id": "u1",
    }
    return DecisionEntry(Decision(**{**given, **more}), 0.0, None)


def test_the_plan_as_a_whole_comes_before_its_pairs_and_only_the_newest_counts() -> None:
    recorded = {"headroom": [PAIR, TRIGGER]}
    lines = build_headroom([entry(9, detail=recorded), entry(8, detail={})], {})
    assert [one.seq for one in lines] == [9, 9]
    assert lines[0].words.startswith("The order is built anew")
    assert (lines[0].missing, lines[0].near) == ("0.21 visits/tuple", 0.1)
    assert lines[1].words == PAIR["words"]
    assert (lines[1].missing, lines[1].entity, lines[1].over) == ("0.060", "a3", "a6")


def test_a_fraction_of_a_burst_is_not_none_of_it() -> None:
    for unit, missing, words in (
        ("of a burst", 0.0048, "0.005 of a burst"),
        ("tuples", 0.0048, "0.005 tuples"),
        ("elements/us", 8.75e-5, "8.75 × 10⁻⁵ elements/µs"),
    ):
        little = {**TRIGGER, "missing": missing}
        (line,) = build_headroom([entry(9, detail={"headroom": [{**little, "unit": unit}]})], {})
        assert line.missing == words


def test_each_unit_and_pipeline_has_its_own() -> None:
    found = [
        entry(4, unit_id="u2", old={"pipeline": "R"}),
        entry(3, unit_id="u2", old={"pipeline": "S"}),
        entry(2, unit_id="u2", old={"pipeline": "R"}),
        entry(9),
    ]
    lines = build_headroom(found, {"u1": "Filters", "u2": "Joins"})
    assert [(one.of, one.about, one.seq) for one in lines] == [
        ("Filters", "", 9),
        ("Joins", "pipeline of R", 4),
        ("Joins", "pipeline of S", 3),
    ]


def test_a_unit_that_evaluated_nothing_says_so() -> None:
    found = build_headroom([entry(9)], {"u1": "Filters", "u2": "Joins"})
    assert [(one.of, one.near, one.seq) for one in found[1:]] == [("Joins", None, 0)]
    assert found[1].words.startswith("Nothing was evaluated so far")


def test_records_without_headroom_tell_the_inequality_they_tested() -> None:
    (line,) = build_headroom([entry(1)], {})
    far = f"must change by {show(0.1, 'pct')} since the last arrangement"
    assert line.words == f"Visits per tuple {far}, so far by {show(0.08, 'pct')}"
    assert (line.missing, round(line.near or 0, 2)) == (show(0.02, "pct"), 0.8)
    (line,) = build_headroom([entry(1, metric="memory_gain")], {})
    assert line.words == "Memory gain ≥ 0.100 would change it, now 0.080"
    for silent in (entry(1, lhs=None), entry(1, "kept", lhs=0.2)):
        (unknown,) = build_headroom([silent], {})
        assert (unknown.words, unknown.near, unknown.missing) == ("Kept", None, "")


def test_a_plan_that_just_changed_or_is_pinned_says_so() -> None:
    (changed,) = build_headroom([entry(1, "switched")], {})
    assert changed.words.startswith("It has just changed")
    (pinned,) = build_headroom([entry(1, "pinned")], {})
    assert "pinned" in pinned.words
    assert changed.near is pinned.near is None


def test_the_header_tells_the_nearest_operator() -> None:
    lines = build_headroom([entry(9, detail={"headroom": [PAIR, TRIGGER]})], {"u1": "Filters"})
    assert next_words(lines) == f"Filters: {PAIR['words']}"
    assert next_words(build_headroom([entry(1, "pinned")], {})) == next_words([]) == ""


def test_an_operator_is_told_with_what_has_to_happen_first() -> None:
    lines = build_headroom([entry(9, detail={"headroom": [PAIR, TRIGGER]})], {})
    assert [one.entity for one in of_entity(lines, "a6", "u1")] == ["a3", ""]
    assert [one.entity for one in of_entity(lines, "a1", "u1")] == [""]
    assert of_entity(lines, "a6", "u2") == []


def test_near_violations_come_first_and_changes_are_left_out() -> None:
    near = {"headroom": [{**TRIGGER, "near": 0.97}]}
    found = [entry(3), entry(2, detail=near), entry(1, "switched"), entry(4, lhs=0.01)]
    rows = build_why_not(found, {})
    assert [one.line.seq for one in rows] == [2, 3, 4]
    assert rows[0].line.missing == "0.21 visits/tuple"
    assert rows[0].word


def look(batch: int, n: int, *, due: int = 4_000) -> DecisionEntry:
    saving = {**TRIGGER, "words": "the nearest other plan has to save more"}
    following = {**TRIGGER, "words": "in tuples", "missing": due, "unit": "tuples", "near": 0.0}
    detail = {"headroom": [saving, following]}
    return entry(batch, kind="look", batch=batch, n=n, detail=detail)


def test_the_next_look_is_told_in_batches_as_large_as_those_before() -> None:
    """1 000 tuples a batch: 4 after the look in batch 10."""
    entries = [look(10, 5_000), look(5, 3_000)]
    told = {batch: build_headroom(entries, {}, batch)[1] for batch in (10, 12, 13, 14)}
    beginnings = (
        "comes in 4 batches,",
        "comes in 2 batches,",
        "comes with the next batch,",
        "is due",
    )
    for line, beginning in zip(told.values(), beginnings, strict=True):
        assert line.words.startswith(f"The next look {beginning}")
    assert [line.missing for line in told.values()] == ["4 batches", "2 batches", "", ""]


def test_without_a_look_before_the_next_one_is_told_in_tuples() -> None:
    for lines in (
        build_headroom([look(10, 0)], {}, 10),
        build_headroom([look(10, 9), look(5, 9)], {}),
    ):
        assert [line.words for line in lines] == [
            "The nearest other plan has to save more",
            "In tuples",
        ]
