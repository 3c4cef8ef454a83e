"""What the decision core does when queries and knobs change while it runs."""

from __future__ import annotations

from backend.model.events import AdoptPlan, KnobsChanged, SelectionPlan
from backend.systems.asc.matching import sample_regions
from storage.vocabulary.records import Decision
from tests.unit.asc.papers import C, query
from tests.unit.asc.stream import QUERIES, Stream, a_filters, b_filters, settings


def test_registering_a_query_keeps_the_order_and_appends() -> None:
    stream = Stream(settings(), QUERIES[:1], profile_prob=1.0)
    stream.run(b_filters(500))
    assert stream.core.plan.order == ("b", "a")
    version = stream.core.plan.version
    found = stream.register(
        [*QUERIES[:1], query("q9", C("d", "=", 3), C("c", "=", 1))], "query q9 registered"
    )
    adopt = found[-1]
    assert isinstance(adopt, AdoptPlan)
    assert adopt.plan == SelectionPlan(version + 1, "early drop", ("b", "a", "c", "d"))
    assert adopt.batch_id == stream.batch
    assert adopt.reason == "query q9 registered; b → a → c → d (c, d newly used)"
    assert stream.core.monitor.window_tuples == 500  # raw values: the samples serve on
    assert stream.core.monitor.d_init is None
    decision = stream.run(b_filters(250))[0]
    assert isinstance(decision, Decision)
    assert decision.kind == "queries changed"


def test_queries_changed_before_the_first_measurement() -> None:
    stream = Stream(settings())
    stream.run(a_filters(100))
    stream.register(QUERIES[1:], "query q1 removed")
    stream.run(a_filters(500))
    assert [d.kind for d in stream.decisions()] == ["initial order"]


def test_samples_without_a_newly_used_attribute_are_dropped() -> None:
    stream = Stream(settings(), QUERIES[:1], profile_prob=1.0)
    stream.run({name: values for name, values in b_filters(250).items() if name in "ab"})
    stream.run(b_filters(100))
    assert stream.core.monitor.window_tuples == 350
    stream.register(QUERIES[:2], "query q2 registered")
    assert stream.core.monitor.window_tuples == 100
    stream.core.handle(stream.executed({**b_filters(50), "d": [None] * 50}))
    assert stream.core.monitor.window_tuples == 150


def test_queries_on_other_attributes_start_from_the_queries_again() -> None:
    stream = Stream(settings(), QUERIES[:1])
    stream.run(a_filters(500))
    stream.register(
        [query("q8", C("c", "=", 1)), query("q9", C("c", "<", 9), C("d", "=", 3))], "new"
    )
    assert stream.core.plan.order == ("c", "d")


def test_without_p_attributes_the_core_runs_on() -> None:
    stream = Stream(settings(), [query("all")])
    stream.run(a_filters(2000))
    assert stream.core.plan.order == ()
    assert {d.verdict for d in stream.decisions()} == {"kept", "below_threshold"}
    stream.register([], "all removed")
    stream.run(a_filters(1000))
    stream.register(QUERIES, "back")
    stream.run(a_filters(1000))
    assert len(stream.core.plan.order) == 4


def test_a_changed_stop_rule_is_a_new_plan_version() -> None:
    stream = Stream(settings())
    stream.run(a_filters(1000))
    version = stream.core.plan.version
    adopt = stream.turn("stop_rule", "drop")[-1]
    assert isinstance(adopt, AdoptPlan)
    assert adopt.plan.version == version + 1
    assert adopt.reason == "stop rule changed from resolved to drop; order kept"
    decision = stream.run(a_filters(250))[0]
    assert isinstance(decision, Decision)
    assert decision.kind == "stop rule changed"
    assert decision.knob_version == 1


def test_a_smaller_tau_trims_the_window() -> None:
    stream = Stream(settings(), profile_prob=1.0)
    stream.run(a_filters(1000))
    assert stream.core.monitor.window_tuples == 1000
    stream.turn("tau_tuples", 330)
    assert stream.core.monitor.window_tuples == 330
    assert len(stream.core.profile_regions) == 330
    last = sample_regions(stream.core.constructs, {a: v[-330:] for a, v in a_filters(1000).items()})
    assert (stream.core.profile_regions == last).all()
    stream.register(QUERIES, "the same again")  # regions are computed anew from the raw values
    assert (stream.core.profile_regions == last).all()


def test_a_knob_that_does_not_concern_plans_changes_nothing() -> None:
    stream = Stream(settings())
    assert stream.turn("mu", 0.4) == []
    assert isinstance(stream.events[-1], KnobsChanged)
