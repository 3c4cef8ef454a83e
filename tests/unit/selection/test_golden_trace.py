"""The decision trace of a seeded drift stream: every decision, in words, reviewed as a diff."""

from __future__ import annotations

from tests.golden_files import check_golden
from tests.unit.selection.papers import C, query
from tests.unit.selection.stream import QUERIES, Stream, line, settings, tuples


def drift_stream() -> Stream:
    """The selective attribute moves; all match; it moves back; knobs and queries change."""
    stream = Stream(settings(cooldown_tuples=1000, no_drop_visit_cost=0.6))
    stream.run(tuples(3000, seed=1, b=20))  # a filters
    stream.run(tuples(3000, seed=2, a=20))  # b filters, as many match
    stream.run(tuples(3000, seed=3, a=8, b=8))  # everything matches
    stream.run(tuples(3000, seed=4, b=20))  # a filters again
    stream.turn("mu", 0.5)
    stream.run(tuples(2000, seed=5))
    stream.turn("stop_rule", "drop")
    stream.run(tuples(1000, seed=6))
    queries = (*QUERIES[1:], query("q5", C("c", "=", 50), C("d", "<>", 3)))
    stream.register(queries, "query q1 removed, query q5 registered")
    stream.run(tuples(2000, seed=7))
    return stream


def test_the_drift_trace() -> None:
    lines = [line(instruction) for instruction in drift_stream().instructions]
    check_golden("selection_drift_trace.txt", "\n".join(lines) + "\n")
