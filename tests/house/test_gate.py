"""The gate: tools it provides, steps it runs, the status it gives."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests import gate
from tests.gate import run_all, run_gate
from tests.gate.quick import ALWAYS, quick_rows
from tests.gate.reach import changed, reached, within
from tests.gate.rows import TIMES, Outcome, Row, Taken, dealt_out, record_times, run_rows
from tests.gate.steps import Check, run_beside
from tests.gate.tools import Tool, provide

ROOT = Path(gate.__file__).parents[2]
GOOD = Check("good", (sys.executable, "-c", "pass"))
BAD = Check("bad", (sys.executable, "-c", "raise SystemExit('said why')"))


def test_a_tool_that_is_here_is_left_alone() -> None:
    assert provide(Tool("python", lambda: Path(sys.executable), "python3")) == ""


def test_a_tool_is_installed_the_other_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.gate.tools.shutil.which", lambda name: None)
    program = tmp_path / "program"
    other = (sys.executable, "-c", f"open({str(program)!r}, 'w')")
    tool = Tool("it", lambda: program if program.exists() else None, "it", other)
    assert provide(tool) == ""


def test_a_tool_nothing_provides_is_named_with_what_to_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.gate.tools.shutil.which", lambda name: None)
    failing = (sys.executable, "-c", "raise SystemExit('no route')")
    answer = provide(Tool("it", lambda: None, "it-package", failing))
    assert "apt-get install it-package" in answer
    assert "no route" in capsys.readouterr().out


def test_missing_tools_fail_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(gate, "TOOLS", (Tool("it", lambda: None, "it"),))
    monkeypatch.setattr(gate, "provide", lambda tool: "it is missing")
    assert run_gate(tmp_path, argparse.Namespace(), []) == 1
    assert "The tests cannot run:\n  it is missing" in capsys.readouterr().err


def test_steps_run_side_by_side_and_one_after_the_other(tmp_path: Path) -> None:
    def writing(name: str, text: str) -> Check:
        code = f"import time; time.sleep({len(text)} / 5); open('seen', 'a').write('{text}')"
        return Check(name, (sys.executable, "-c", code))

    lists = [[writing("slow", "aaa"), writing("next", "c")], [writing("quick", "b")]]
    done = run_beside(tmp_path, lists)
    assert [(one.name, one.status) for one in done] == [("slow", 0), ("next", 0), ("quick", 0)]
    assert (tmp_path / "seen").read_text() == "baaac"


@pytest.mark.parametrize("lists", [[[BAD, GOOD]], [[GOOD], [BAD]], [[GOOD, BAD]]])
def test_no_test_runs_once_a_static_check_failed(
    lists: list[list[Check]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): open('ran', 'w')")
    assert run_all(tmp_path, lists, [Row("row", ("test_a.py",))]) is None
    assert not (tmp_path / "ran").exists()
    out = capsys.readouterr().out
    assert "said why" in out
    assert "not run row" in out


#: Fails until it was called n times.
_TOYS = """
import pytest
from pathlib import Path

@pytest.mark.parametrize("n", [{ns}])
def test_toy(n):
    path = Path(__file__).with_name(f"{name} {{n}}")
    calls = int(path.read_text()) if path.exists() else 0
    path.write_text(str(calls + 1))
    assert calls >= n % 10
"""


@pytest.mark.parametrize(
    ("toys", "status", "flaky", "twice"),
    [
        ({"a": [0], "b": [0, 10]}, 0, 0, 0),
        ({"a": [0, 1], "b": [11, 21, 10]}, 0, 3, 0),
        ({"a": [1, 11, 21], "b": [1, 11, 21]}, 1, 6, 0),
        ({"a": [0, 2], "b": [1, 0]}, 1, 1, 1),
        ({"a": [10 * n + 1 for n in range(9)], "b": [10 * n + 1 for n in range(9)]}, 1, 0, 18),
    ],
    ids=["all pass", "some flaky", "too many flaky", "one fails twice", "no second go"],
)
def test_what_failed_runs_once_more(
    toys: dict[str, list[int]],
    status: int,
    flaky: int,
    twice: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  bench\n  slow\n")
    for name, ns in toys.items():
        text = _TOYS.format(ns=", ".join(map(str, ns)), name=name)
        (tmp_path / f"test_{name}.py").write_text(text)
    rows = [Row(name, (f"test_{name}.py",)) for name in toys]
    outcome = run_rows(tmp_path, rows)
    assert (outcome.status, len(outcome.flaky), len(outcome.twice)) == (status, flaky, twice)
    assert set(outcome.taken) == {f"test_{name}.py" for name in toys}
    assert outcome.text().count("FLAKY test_") == flaky
    calls = {int((tmp_path / f"{name} {n}").read_text()) for name, ns in toys.items() for n in ns}
    assert max(calls) <= 2


def test_an_error_while_a_fixture_ends_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    text = "import pytest\n@pytest.fixture\ndef f():\n    yield\n    1 / 0\ndef test_a(f): pass\n"
    (tmp_path / "test_a.py").write_text(text)
    outcome = run_rows(tmp_path, [Row("a", ("test_a.py",))], "not x")
    assert outcome.twice == ["test_a.py::test_a"]


def test_a_row_that_broke_off_is_red_though_what_failed_before_passes_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    toy = _TOYS.format(ns="1", name="a")
    (tmp_path / "test_a.py").write_text(f"{toy}\ndef test_end():\n    pytest.exit('broken off')\n")
    outcome = run_rows(tmp_path, [Row("a", ("test_a.py",))], "not x")
    assert (outcome.flaky, outcome.twice) == (["test_a.py::test_toy[1]"], [])
    assert outcome.status == 1


def test_a_row_that_collects_nothing_is_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "test_a.py").write_text("import nothing_of_that_name")
    assert run_rows(tmp_path, [Row("a", ("test_a.py",))], "not x").status == 1
    assert run_rows(tmp_path, [Row("a", ("test_b.py",))], "not x").status == 1


def test_every_test_file_is_in_one_row_or_in_house_keeping() -> None:
    dealt = Counter(path for row in dealt_out(ROOT) for path in row.files)
    files = {str(path.relative_to(ROOT)) for path in ROOT.glob("tests/**/test_*.py")}
    assert set(dealt) == {path for path in files if not path.startswith("tests/house/")}
    assert set(dealt.values()) == {1}


def test_rows_take_about_as_long(tmp_path: Path) -> None:
    """As recorded."""
    seconds = {
        "tests/spark/test_s.py": 5.0,
        "tests/unit/test_u.py": 3.0,
        "tests/unit/test_v.py": 3.0,
    }
    seconds |= {"tests/web/test_a.py": 4.0, "tests/web/test_b.py": 3.0, "tests/web/test_c.py": 2.0}
    for path in seconds:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / TIMES).parent.mkdir(parents=True)
    record_times(tmp_path, Outcome([], [], [], {p: Taken(1.0, s) for p, s in seconds.items()}))
    weights = {row.name: sum(seconds[path] for path in row.files) for row in dealt_out(tmp_path)}
    assert weights == {"engines": 5.0, "others": 6.0, "web a": 5.0, "web b": 4.0}


def _written(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def test_a_change_reaches_who_imports_it_nearest_first(tmp_path: Path) -> None:
    _written(
        tmp_path,
        {
            "backend/a.py": "",
            "backend/b.py": "from backend import a",
            "tests/unit/conftest.py": "import backend.b",
            "tests/unit/test_a.py": "from backend.a import x",
            "tests/unit/test_c.py": "",
            "tests/test_d.py": "PAGE = 'docs/page.md'",
            "tests/web/test_e.py": "",
        },
    )
    near, far = "tests/unit/test_a.py", "tests/unit/test_c.py"
    assert reached(tmp_path, ["backend/a.py"]) == {near: 1, far: 3}
    assert reached(tmp_path, ["backend/b.py"]) == {near: 2, far: 2}
    assert reached(tmp_path, [near]) == {near: 0}
    assert reached(tmp_path, ["docs/page.md"]) == {"tests/test_d.py": 0}
    assert reached(tmp_path, ["assets/x.js"]) == {"tests/web/test_e.py": 0}


def test_the_nearest_that_fit_are_chosen() -> None:
    seconds = {"a": 3.0, "b": 4.0, "c": 2.0}
    assert within(seconds, seconds, 5.5) == ["a", "c"]
    assert within(seconds, seconds, 9.0) == ["a", "b", "c"]


def test_the_quick_gate_names_what_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ["tests/unit/test_a.py", "tests/unit/test_b.py", "tests/spark/test_c.py"]
    seconds = {files[0]: 100.0, files[1]: 30.0, files[2]: 20.0, **dict.fromkeys(ALWAYS, 30.0)}
    _written(tmp_path, {TIMES: "", **dict.fromkeys([*files, *ALWAYS], "")})
    record_times(tmp_path, Outcome([], [], [], {p: Taken(1.0, s) for p, s in seconds.items()}))
    monkeypatch.setattr("tests.gate.quick.changed", lambda root: files)
    rows, left = quick_rows(tmp_path)
    assert [row.files for row in rows] == [(files[0],), (*ALWAYS, files[2])]
    assert left == [files[1]]


def test_what_differs_is_known(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        name = ("-c", "user.name=it", "-c", "user.email=it@example.org")
        subprocess.run(["git", *name, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for path in ("a.py", "b.py"):
        (tmp_path / path).touch()
    git("add", ".")
    git("commit", "-m", "both")
    git("tag", "green")
    (tmp_path / "a.py").write_text("1")
    git("commit", "-am", "one")
    (tmp_path / "c.py").touch()
    assert changed(tmp_path) == ["a.py", "c.py"]
