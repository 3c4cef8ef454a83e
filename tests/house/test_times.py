"""No test file takes long without a reason, as far as is recorded: run.py test --record-times."""

from __future__ import annotations

from tests.gate.rows import recorded_times
from tests.house.tree import ROOT

#: Processor seconds.
MOST_S = 20.0
#: Above that, and why.
DEAR = {
    "tests/contract/test_killed_local_runs.py": "whole runs of every system, killed and resumed",
    "tests/spark/test_backend_command.py": "the backend as users start it, for each way a run ends",
    "tests/spark/test_killed_runs.py": "whole runs on Spark, killed and resumed",
    "tests/spark/test_run_host.py": "every way of reading and writing on Spark",
    "tests/systems/test_contract.py": "every system against all that the engine asks of one",
    "tests/systems/test_records.py": "every system's records, whole runs",
    "tests/unit/cql/test_hostile.py": "texts at the limits of size and depth",
    "tests/unit/engine/test_sample_kills.py": "a whole run, killed 34 times at random instants",
    "tests/unit/network/test_sample_coverage.py": "200 seeds, as few tell nothing of 95 %",
    "tests/unit/storage/test_sql.py": "questions that are ended at their limits of time",
    "tests/web/test_accessibility.py": "axe on every page, in two sizes and two themes",
    "tests/web/test_demo.py": "the demo as it is started by a user, twice, with Spark",
    "tests/web/test_page_network.py": "pages of a network that runs",
    "tests/web/test_phone.py": "every page in two sizes",
    "tests/web/test_plan_dag.py": "graphs in all sizes, with axe",
    "tests/web/test_plan_face.py": "every part of a card, in both themes",
    "tests/web/test_plan_page.py": "every part of the plan page, live and in replay",
    "tests/web/test_plan_watching.py": "every tool of the graph",
    "tests/web/test_page_memory.py": "pools and caches of a join that runs",
    "tests/web/test_page_timeline.py": "figures with all their lanes, drawn by Plotly",
    "tests/web/test_replay_pages.py": "every page played and compared with the page at rest",
    "tests/web/test_shell.py": "all that pages have in common",
    "tests/web/test_truth.py": "pages at random moments against the record",
}


def test_a_test_file_is_cheap_or_has_a_reason() -> None:
    recorded = recorded_times(ROOT)
    dear = {path: taken.processor_s for path, taken in recorded.items()}
    assert {path: s for path, s in dear.items() if s > MOST_S and path not in DEAR} == {}


def test_reasons_are_of_files_that_are_there() -> None:
    assert [path for path in DEAR if not (ROOT / path).exists()] == []
