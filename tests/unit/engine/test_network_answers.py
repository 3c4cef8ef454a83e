"""What a run tells of the answers of networks and of the stores that their synopses share."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from backend.model.ids import entity_id
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.relations import MOST_ROWS, relation_name, rows_in
from tests.engine_runs import RUN_ID
from tests.unit.engine.test_networks import UNIT, Run, answered, relation_at


def test_answers_tell_their_size_and_their_newest_value(tmp_path: Path) -> None:
    run = Run(tmp_path)
    for n in range(3):
        run.seconds(10 * n, 10 * (n + 1))
    now = max(row["tau"] for row in answered(tmp_path, "recent"))
    assert run.value("recent", "relation_tuples") == len(
        relation_at(answered(tmp_path, "recent"), now)
    )
    came = [row for row in answered(tmp_path, "recent") if row["sign"] == 1]
    assert run.value("recent", "answer_value") in {r["n"] for r in came if r["tau"] == now}
    assert run.value("icy", "relation_tuples") is None
    run.close()


def test_sizes_begin_with_the_query_and_go_on_after_a_kill(tmp_path: Path) -> None:
    run = Run(tmp_path, state=tmp_path / "state")
    run.seconds(0, 10)
    run.ask("query_add", {"name": "late", "text": "Select Distinct road From Cars [Rows 3]"})
    run.seconds(10, 20)
    run.seconds(20, 30)
    assert run.value("late", "relation_tuples") == len(relation_at(answered(tmp_path, "late"), 29))
    run.kill()
    run = Run(tmp_path, continues=True, state=tmp_path / "state")
    run.seconds(30, 40)
    for name in ("recent", "late"):
        now = len(relation_at(answered(tmp_path, name), 39))
        assert run.value(name, "relation_tuples") == now > 0
    run.close()


def test_rows_of_small_relations_are_recorded_batch_by_batch_and_after_a_kill(
    tmp_path: Path,
) -> None:
    more = {"many": "Select id From Cars [Range 300]"}
    run = Run(tmp_path, state=tmp_path / "state", more=more)
    for n in range(5):
        if n == 2:
            run.kill()
            run = Run(tmp_path, continues=True, state=tmp_path / "state", more=more)
        run.seconds(60 * n, 60 * (n + 1))
    for batch in range(5):
        for name in ("recent", "named", "many"):
            stored = run.reader.matrix(RUN_ID, relation_name(name), batch, UNIT)
            assert stored is not None
            wanted = relation_at(answered(tmp_path, name), 60 * batch + 58)
            found = rows_in(stored.matrix)
            if len(wanted) > MOST_ROWS:
                assert found is None
                continue
            assert found is not None
            rows = [dict(zip(found[0], row, strict=True)) for row, n in found[1] for _ in range(n)]
            assert Counter(map(str, rows)) == Counter(map(str, wanted)), (name, batch)
    assert run.reader.matrix(RUN_ID, relation_name("icy"), None, UNIT) is None
    run.close()


def test_stores_and_what_sharing_saves_are_told(tmp_path: Path) -> None:
    more = {"wide": "Select road, count(*) As n From Cars [Range 40] Group By road"}
    run = Run(tmp_path, more=more)
    run.seconds(0, 50)
    plan = [p for p in run.reader.plans(RUN_ID) if p.unit_id == UNIT][-1]
    graph = PlanGraph.from_json(plan.graph)
    values = run.reader.values(RUN_ID)
    held = {
        node.id: [
            (edge.target, values[edge.target]["size_tuples"] or 0)
            for edge in graph.edges
            if edge.source == node.id
        ]
        for node in graph.nodes
        if node.role == "store"
    }
    for store, stubs in held.items():
        assert {graph.node(stub).role for stub, _ in stubs} == {"stub"}
        assert values[store]["size_tuples"] == max(n for _, n in stubs)
    assert any(len({n for _, n in stubs}) > 1 for stubs in held.values()), "two sizes in a store"
    saved = sum(values[n.id]["saved_bytes"] or 0 for n in graph.nodes if n.role == "store")
    assert (values[entity_id(UNIT, "system", "unit")]["saved_bytes"] or 0) >= saved > 0
    run.ask("knob", {"knob": "sharing", "value": False, "scope": UNIT})
    run.seconds(50, 60)
    plan = [p for p in run.reader.plans(RUN_ID) if p.unit_id == UNIT][-1]
    assert not [n for n in PlanGraph.from_json(plan.graph).nodes if n.role in ("store", "stub")]
    run.close()
