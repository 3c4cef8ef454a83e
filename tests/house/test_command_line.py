"""The command line: what is understood, what is refused, and that help needs nothing."""

from __future__ import annotations

import argparse
import ast
import errno
import subprocess
import sys
from pathlib import Path

import pytest

import run
from backend.launch.cli import parser as backend_options
from backend.launch.environment import SetupFailed
from backend.launch.ports import PortRefused
from dashboard.web.cli import build_parser as dashboard_options
from storage.store import StoreTooNew

LAUNCHER = Path(run.__file__)


def test_it_reads_on_an_old_python() -> None:
    ast.parse(LAUNCHER.read_text(encoding="utf-8"), feature_version=(3, 7))


def test_an_old_python_is_refused_in_one_sentence() -> None:
    code = (
        "import runpy, sys; sys.version_info = (3, 8, 1, 'final', 0); "
        f"runpy.run_path({str(LAUNCHER)!r}, run_name='__main__')"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 1
    assert answer.stderr.startswith("Planwatch needs Python 3.11 or newer, this is 3.8. ")
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("verb", [[], *([verb] for verb in run.VERBS)])
def test_help_needs_no_package(verb: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-E", "-S", str(LAUNCHER), *verb, "--help"]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "usage: run.py" in answer.stdout


def test_a_start_loads_nothing_that_one_verb_alone_needs() -> None:
    code = "import run, sys; print({'urllib.request', 'http.cookiejar', 'cmd'} & {*sys.modules})"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=LAUNCHER.parent
    )
    assert answer.stdout == "set()\n", answer.stderr


@pytest.mark.parametrize(
    ("arguments", "verb", "workload"),
    [
        ([], "demo", None),
        (["my.toml"], "demo", "my.toml"),
        (["--port", "9000"], "demo", None),
        (["demo", "my.toml"], "demo", "my.toml"),
        (["backend", "my.toml"], "backend", "my.toml"),
    ],
)
def test_demo_is_what_is_meant(arguments: list[str], verb: str, workload: str | None) -> None:
    options, rest = run.read_command_line(arguments)
    assert (options.verb, options.workload, rest) == (verb, workload, [])


def test_everything_after_test_is_pytests() -> None:
    options, rest = run.read_command_line(["test", "-k", "asc", "tests/unit", "--co"])
    assert options.verb == "test"
    assert rest == ["-k", "asc", "tests/unit", "--co"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shpw"], "no verb 'shpw'; the verbs are demo, tour, serve,"),
        (["demo", "--prot", "1"], "unrecognized arguments: --prot"),
        (["serve", "--port", "70000"], "'70000' is no port; allowed: 0..65535"),
        (["replay"], "required: FILE"),
        (["backend", "a.toml", "b.toml"], "unrecognized arguments: b.toml"),
    ],
)
def test_what_is_not_understood_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run.read_command_line(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_options_are_passed_on() -> None:
    words = "backend w.toml --once --set mu=0.2 --set rate=0 --master local[1] --shared m --store u"
    options, _ = run.read_command_line(words.split())
    passed = run.pipeline_arguments(options)
    assert sorted(passed) == sorted(words.split()[1:])
    assert passed[passed.index("--set") + 1] == "mu=0.2"
    words = "serve --store u --host localhost --port 81 --allow-host a --allow-host b --prefix /p"
    words += " --read-only"
    options, _ = run.read_command_line(words.split())
    assert run.server_arguments(options, 81) == words.split()[1:]


@pytest.mark.parametrize(
    ("verb", "understood"),
    [("backend", backend_options()), ("serve", dashboard_options())],
)
def test_what_is_passed_on_is_understood(verb: str, understood: argparse.ArgumentParser) -> None:
    """Our --help and theirs name the same options."""
    ours = argparse.ArgumentParser()
    for add in run.OPTIONS[verb]:
        add(ours)
    theirs = set(understood._option_string_actions) - {"--replay"}  # what the verb replay adds
    assert set(ours._option_string_actions) == theirs


@pytest.mark.parametrize(
    ("error", "words", "status"),
    [
        (SetupFailed("No network."), "No network.", 1),
        (PortRefused("Port 1 is taken."), "Port 1 is taken.", 2),
        (StoreTooNew("x was written by a later Planwatch"), "by a later Planwatch.", 2),
        (OSError(errno.ENOSPC, "No space left on device", "f"), "The disk is full", 1),
    ],
)
def test_failures_people_meet_are_one_sentence(error: Exception, words: str, status: int) -> None:
    known = run.explain(error)
    assert known is not None
    assert words in known[0]
    assert known[1] == status


@pytest.mark.parametrize("error", [KeyError("x"), OSError(errno.EPERM, "no")])
def test_a_defect_is_not_explained_away(error: Exception) -> None:
    assert run.explain(error) is None


@pytest.mark.parametrize(("workload", "has_recording"), [([], True), (["my.toml"], False)])
def test_a_demo_of_ours_begins_a_new_store_with_a_recording(
    workload: list[str], has_recording: bool, tmp_path: Path
) -> None:
    store = tmp_path / "runs.db"
    options, _ = run.read_command_line(["demo", *workload, "--store", str(store)])
    run.begin_store(options)
    assert store.exists() == has_recording
