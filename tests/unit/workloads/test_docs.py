"""docs/workloads.md says what the loader does."""

from __future__ import annotations

import re
from pathlib import Path

from backend.workloads.contract import CORRUPT, fit_rows
from backend.workloads.drift import Phase
from backend.workloads.files import FILE_FORMATS
from backend.workloads.spec import BUILT_IN, Workload, load_workload

PAGE = (Path(__file__).parents[3] / "docs" / "workloads.md").read_text(encoding="utf-8")
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


def test_every_format_and_phase_key_is_documented() -> None:
    for name in (*FILE_FORMATS, *BUILT_IN):
        assert f"`{name}`" in PAGE
    for key in Phase.__dataclass_fields__:
        assert f"| `{key}` |" in PAGE
