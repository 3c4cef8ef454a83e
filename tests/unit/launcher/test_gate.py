"""The gate: tools it provides, steps it runs, the status it gives."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import gate
from tests.gate import Check, Tool, provide, run_gate

ROOT = Path(gate.__file__).parents[1]
GOOD = Check("good", (sys.executable, "-c", "pass"))
LATE = Check("late", (sys.executable, "-c", "print('said late')"), beside=True)
WRONG = Check("wrong", (sys.executable, "-c", "raise SystemExit('said why')"), beside=True)
BAD = Check("bad", (sys.executable, "-c", "raise SystemExit(1)"))


def test_a_tool_that_is_here_is_left_alone() -> None:
    assert provide(Tool("python", lambda: Path(sys.executable), "python3")) == ""


def test_a_tool_is_installed_the_other_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.gate.shutil.which", lambda name: None)
    program = tmp_path / "program"
    other = (sys.executable, "-c", f"open({str(program)!r}, 'w')")
    tool = Tool("it", lambda: program if program.exists() else None, "it", other)
    assert provide(tool) == ""


def test_a_tool_nothing_provides_is_named_with_what_to_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.gate.shutil.which", lambda name: None)
    failing = (sys.executable, "-c", "raise SystemExit('no route')")
    answer = provide(Tool("it", lambda: None, "it-package", failing))
    assert "apt-get install it-package" in answer
    assert "no route" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("steps", "status"), [((GOOD,), 0), ((BAD, GOOD), 1), ((GOOD, WRONG), 1), ((GOOD, LATE), 0)]
)
def test_every_step_runs_and_one_failure_fails_all(
    steps: tuple[Check, ...],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(gate, "TOOLS", ())
    monkeypatch.setattr(gate, "checks", lambda: steps)
    assert run_gate(tmp_path, []) == status
    out, _, summary = capfd.readouterr().out.partition("=== summary")
    assert ("said late" in out, "said why" in out) == (LATE in steps, WRONG in steps)
    assert [line.split()[1] for line in summary.splitlines() if line] == [s.name for s in steps]


def test_missing_tools_fail_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(gate, "TOOLS", (Tool("it", lambda: None, "it"),))
    monkeypatch.setattr(gate, "provide", lambda tool: "it is missing")
    assert run_gate(tmp_path, []) == 1
    assert "The tests cannot run:\n  it is missing" in capsys.readouterr().err


def test_steps_wait_for_the_one_they_come_after(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def writing(name: str, text: str) -> tuple[str, ...]:
        code = f"import time; time.sleep({len(text)} / 5); open('seen', 'a').write('{text}')"
        return (sys.executable, "-c", code)

    steps = (
        Check("slow", writing("slow", "aaa")),
        Check("quick", writing("quick", "b"), beside=True),
        Check("next", writing("next", "c"), beside=True, after="slow"),
    )
    monkeypatch.setattr(gate, "TOOLS", ())
    monkeypatch.setattr(gate, "checks", lambda: steps)
    assert run_gate(tmp_path, []) == 0
    assert (tmp_path / "seen").read_text() == "baaac"


def test_every_test_is_in_one_step() -> None:
    """As pytest reads the steps' paths."""
    steps = [check.command for check in gate.checks() if "pytest" in check.command]
    for file in ROOT.glob("tests/**/test_*.py"):
        path = str(file.relative_to(ROOT))
        of = [command for command in steps if _has(command, path)]
        assert len(of) == 1, path


def _has(command: tuple[str, ...], path: str) -> bool:
    paths = [part for part in command if part.startswith("tests")]
    ignored = [part.partition("=")[2] for part in command if part.startswith("--ignore=")]
    return path.startswith(tuple(paths)) and not path.startswith(tuple(ignored or ["-"]))
