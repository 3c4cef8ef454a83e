"""Commands in the documents are understood, and every verb and make target is documented."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess

import pytest

import run
from tests.house.tree import ROOT, markdown

COMMANDS = sorted(
    {
        found.strip()
        for text in markdown().values()
        for found in re.findall(r"python3 run\.py([^`\n#|&;]*)", text)
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_documented_command_is_understood(command: str) -> None:
    words = [word.strip("[]") for word in shlex.split(command) if word not in ("…", "...")]
    if words and words[-1] == "--help":
        assert words[0] in (*run.VERBS, "--help")
        return
    options, _ = run.read_command_line(words)
    assert options.verb in run.VERBS


def test_the_documented_benches_exist() -> None:
    named = [shlex.split(command) for command in COMMANDS]
    benches = {words[1] for words in named if words[:1] == ["bench"] and len(words) > 1}
    assert benches
    there = {path.stem for path in (ROOT / "bench").glob("*.py")}
    assert {name for name in benches if not name.startswith("[")} <= there


def test_the_readme_has_every_verb() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [verb for verb in run.VERBS if f"run.py {verb}" not in readme] == []


def test_the_readme_starts_with_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = readme.index("python3 run.py\n")
    assert 0 < first < readme.index("python3 run.py test\n") < 3000


def test_every_option_has_help() -> None:
    silent = []
    for add in {add for adders in run.OPTIONS.values() for add in adders}:
        parser = argparse.ArgumentParser()
        add(parser)
        silent += [action.dest for action in parser._actions if not action.help]
    assert silent == []


def test_make_explains_each_of_its_at_most_ten_targets() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", text, re.MULTILINE)
    explained = re.findall(r"^([a-z-]+):.*## \S", text, re.MULTILINE)
    assert explained == targets
    assert len(targets) <= 10
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert all(target in shown for target in targets)


def test_ci_runs_the_readmes_test_command() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o100, "not executable"
    assert "python3 run.py test" in script.read_text(encoding="utf-8")
