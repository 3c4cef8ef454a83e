"""docs/workloads.md says what the loader does."""

from __future__ import annotations

import json
import re
from pathlib import Path

from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.model.conditions import DeclaredConstraint
from backend.model.filters import Probing
from backend.operators.filters.pipeline import PipelineOperator
from backend.systems.agreedy.pipeline import pipeline_of
from backend.workloads.contract import CORRUPT, fit_rows
from backend.workloads.drift import Phase
from backend.workloads.files import FILE_FORMATS
from backend.workloads.sources import MemorySource
from backend.workloads.spec import BUILT_IN, SinkSpec, Workload, load_workload
from tests.loops import FixedLoop

PAGE = (Path(__file__).parents[2] / "docs" / "workloads.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def load(folder: Path, text: str) -> Workload:
    (folder / "cars").mkdir(exist_ok=True)
    (folder / "cars" / "a.csv").write_text("id,speed,plate,seen\n")
    (folder / "w.toml").write_text(text, encoding="utf-8")
    return load_workload(folder / "w.toml")


def test_the_first_example_loads(tmp_path: Path) -> None:
    workload = load(tmp_path, EXAMPLES[0])
    assert workload.name == "traffic"
    assert [query.name for query in workload.queries] == ["speeding", "no plate", "whose"]


def test_the_rows_of_the_example_are_what_the_page_says(tmp_path: Path) -> None:
    (cars,) = load(tmp_path, EXAMPLES[1]).streams
    table = fit_rows(cars.source.rows or (), cars.schema)
    assert table.column("speed").to_pylist() == [140.5, None, None, None]
    assert [text is None for text in table.column(CORRUPT).to_pylist()] == [True] * 3 + [False]


def test_the_constraints_of_the_page_load(tmp_path: Path) -> None:
    workload = load(tmp_path, next(text for text in EXAMPLES if "[[constraints]]" in text))
    (query,) = workload.queries
    assert query.constraints == (
        DeclaredConstraint("RIDS", 0, "Received", "Sent"),
        DeclaredConstraint("OAC", 5, child="Sent", attribute="pid"),
    )


def test_the_functions_and_tables_of_the_page_run(tmp_path: Path) -> None:
    (module,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "mine.py").write_text(module, encoding="utf-8")
    workload = load(tmp_path, next(text for text in EXAMPLES if "too_fast_there" in text))
    (cars,) = workload.streams
    source = MemorySource(cars.source.rows or (), cars.schema)
    loop = FixedLoop(
        {
            "Cars": {
                query.name: PipelineOperator(
                    query.name,
                    cars.schema,
                    pipeline_of(query),
                    workload.functions,
                    {},
                    Probing("all"),
                    0.5,
                )
                for query in workload.queries
            }
        }
    )
    out = tmp_path / "out"
    LocalHost(loop, [InputSource(cars, source)], SinkSpec(str(out), "json")).run()
    (file,) = (out / "stream=Cars").glob("*.json")
    selected: dict[str, list[int]] = {}
    for row in map(json.loads, file.read_text().splitlines()):
        for name in row["query_ids"]:
            selected.setdefault(name, []).append(row["id"])
    assert selected == {"inside": [1, 3, 4], "speeding": [1, 2], "our speeders": [1]}
    (missed,) = (one for result in loop.results for one in result.inputs["Cars"].missed)
    assert json.loads(missed.raw)["id"] == 4
    assert missed.error.startswith("too_fast_there: TypeError")


def test_every_format_and_phase_key_is_documented() -> None:
    for name in (*FILE_FORMATS, *BUILT_IN):
        assert f"`{name}`" in PAGE
    for key in Phase.__dataclass_fields__:
        assert f"| `{key}` |" in PAGE
