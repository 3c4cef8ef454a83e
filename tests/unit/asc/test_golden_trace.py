"""The decision trace of a seeded drift stream: every decision, in words, reviewed as a diff."""

from __future__ import annotations

from tests.golden_files import check_golden
from tests.unit.asc.papers import C, query
from tests.unit.asc.stream import QUERIES, Stream, line, settings, tuples


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


def hybrid_stream() -> Stream:
    """Micro-arrows while the selective attribute moves, then other orderings and queries."""
    knobs = settings(ordering="hybrid", stop_rule="drop", min_support=25, cooldown_tuples=1000)
    stream = Stream(knobs)
    stream.run(tuples(3000, seed=1, b=20))  # a filters
    stream.run(tuples(4000, seed=2, a=20))  # b filters, as many match
    queries = (*QUERIES[1:], query("q5", C("a", "<", 15), C("c", "=", 50)))
    stream.register(queries, "query q1 removed, query q5 registered")
    stream.run(tuples(2000, seed=3, a=20))
    stream.turn("hybrid_compare", "global")
    stream.run(tuples(1000, seed=4, a=20))
    stream.turn("ordering", "ticket")
    stream.run(tuples(1000, seed=5, a=20))
    stream.turn("ordering", "best")
    stream.run(tuples(2000, seed=6, b=20))
    return stream


def test_the_hybrid_trace() -> None:
    lines = [line(instruction) for instruction in hybrid_stream().instructions]
    check_golden("selection_hybrid_trace.txt", "\n".join(lines) + "\n")


def test_the_drift_trace() -> None:
    lines = [line(instruction) for instruction in drift_stream().instructions]
    check_golden("selection_drift_trace.txt", "\n".join(lines) + "\n")
