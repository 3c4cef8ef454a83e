"""Of thousands of queries a few hundred are published with a batch; at the end all are told."""

from __future__ import annotations

from backend.engine.query_totals import ALL, QueryTotals
from storage.vocabulary.records import Sample


def told(samples: list[Sample]) -> dict[str, float | None]:
    """The last total of each query."""
    return {
        s.entity.removeprefix("query:"): s.value for s in samples if s.property == "matched_total"
    }


def test_of_few_queries_all_that_matched_are_published() -> None:
    totals = QueryTotals("query:{}".format, {})
    totals.add({f"q{j}": 1 for j in range(ALL)})
    found = totals.add({"q3": 2, "q7": 1})
    assert told(found) == {"q3": 3, "q7": 2}
    assert [s.value for s in found if s.property == "matched_tuples"] == [2, 1]
    assert totals.rest() == []


def test_of_many_those_that_lead_are_published_always_and_others_in_turn() -> None:
    totals, n = QueryTotals("query:{}".format, {}), 4 * ALL
    batch = {f"q{j}": n - j for j in range(n)}
    known: dict[str, float | None] = {}
    for _ in range(8):
        samples = totals.add(batch)
        assert {"q0", "q50", "q199"} <= told(samples).keys()
        assert len(told(samples)) == ALL
        known |= told(samples)
    assert len(known) == n
    known |= told(totals.rest())
    assert known == {name: 8 * count for name, count in batch.items()}


def test_a_batch_tells_only_its_own_matches() -> None:
    totals = QueryTotals("query:{}".format, {})
    totals.add({f"q{j}": 5 for j in range(4 * ALL)})
    samples = totals.add({"q0": 1})
    in_batch = [s for s in samples if s.property == "matched_tuples"]
    assert [(s.entity, s.value) for s in in_batch] == [("query:q0", 1)]
    assert told(samples)["q0"] == 6
