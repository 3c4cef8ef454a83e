"""Which knobs have no effect on a run as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dashboard.views.idle import idle_knobs
from storage.vocabulary.records import Knob


def knob(name: str, value: Any, scope: str = "u") -> Knob:
    return Knob(name=name, kind="int", value=value, default=value, unit="", help="", scope=scope)


def idle(*knobs: Knob, published: Mapping[str, set[str]] | None = None) -> set[str]:
    names = {unit: frozenset(own) for unit, own in (published or {"u": set()}).items()}
    return {name for _, name in idle_knobs(knobs, names, frozenset({"run_pool_bytes"}))}


def test_caches_without_a_candidate() -> None:
    knobs = knob("pool_bytes", 1), knob("caching", "exact"), knob("scheduler", "chain")
    assert idle(*knobs) == {"pool_bytes", "caching"}
    assert idle(*knobs, published={"u": {"pipeline_cost"}}) == {"pool_bytes"}
    assert idle(*knobs, published={"u": {"pipeline_cost", "cache_state"}}) == set()


def test_what_another_knob_turns_off() -> None:
    by_age = knob("window_by", "seconds"), knob("window_s", 3.0), knob("window_tuples", 10)
    assert idle(*by_age) == {"window_tuples"}
    by_number = knob("window_by", "tuples"), *by_age[1:]
    assert idle(*by_number) == {"window_s"}


def test_an_autopilot_without_orders_to_choose() -> None:
    policy, caution = knob("policy", "autopilot"), knob("caution", 1)
    assert idle(policy, caution) == set(), "of selections, filters, states"
    joins = policy, caution, knob("join_order", "a-greedy")
    assert idle(*joins) == {"policy", "caution", "join_order"}
    assert idle(*joins, published={"u": {"pipeline_cost"}}) == set()
    assert idle(knob("policy", "thresholds"), caution) == {"caution"}


def test_the_same_name_in_another_unit_is_told_apart() -> None:
    both = knob("pool_bytes", 1, "a"), knob("pool_bytes", 1, "b")
    published = {"a": frozenset({"cache_state"}), "b": frozenset[str]()}
    assert list(idle_knobs(both, published, frozenset())) == [("b", "pool_bytes")]


def test_the_engines_own() -> None:
    speed, pool = knob("speed", 1.0, ""), knob("run_pool_bytes", 0, "")
    assert idle(speed, pool, knob("rate", 0.0, "input:R")) == {"speed", "run_pool_bytes"}
    assert idle(speed, pool, knob("rate", 5.0, "input:R")) == {"run_pool_bytes"}
