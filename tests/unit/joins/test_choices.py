"""What other ways of caching and ordering would have planned stands in the decisions of a join."""

from __future__ import annotations

from pathlib import Path

from tests.web.joins_run import JoinsRun


def test_a_decision_of_a_join_tells_what_other_values_would_cost(tmp_path: Path) -> None:
    run = JoinsRun(tmp_path / "joins.db", "keys", interval_tuples=1000).ticks(8)
    found = [one.decision for one in run.reader.decisions("keys", limit=500)]
    run.close()
    caching = [one for one in found if one.kind == "cache selection"]
    assert caching
    for one in caching:
        told, costs = one.detail["choices"], one.detail["choices"]["costs"]
        assert (told["knob"], told["now"]) == ("caching", one.predicted_old)
        assert set(costs) == {"exact", "greedy", "trees", "off"}
        assert costs["exact"] <= costs["off"]
    orders = [one for one in found if one.kind == "probe order"]
    assert orders
    for one in orders:
        told, costs = one.detail["choices"], one.detail["choices"]["costs"]
        assert (told["knob"], told["now"]) == ("join_order", one.predicted_old)
        assert costs["optimal"] <= min(told["now"], costs["a-greedy"], costs["independent"]) + 1e-9
        if one.predicted_new is not None:
            assert costs["a-greedy"] == one.predicted_new
