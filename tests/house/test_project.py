"""Lock files, changelog, decision records and glossary keep their form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from storage.vocabulary.kinds import CommandState, EntityKind, RunState
from tests.house.tree import ROOT

PIN = re.compile(
    r"^([A-Za-z0-9._-]+)==\S+ \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M
)
DECISIONS = sorted((ROOT / "docs" / "adr").glob("*.md"))


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_pins_are_exact_hashed_and_name_no_host(name: str) -> None:
    wanted = (ROOT / f"{name}.in").read_text(encoding="utf-8")
    pinned = (ROOT / f"{name}.txt").read_text(encoding="utf-8")
    bare = re.sub(r"^ *#.*\n", "", pinned, flags=re.MULTILINE)
    assert PIN.sub("", bare).strip() == "", "something is not an exact pin with hashes"
    names = {match.group(1) for match in PIN.finditer(bare)}
    asked = set(re.findall(r"^([a-z][\w-]*)", wanted, re.MULTILINE))
    assert asked <= names
    assert "://" not in pinned


def test_both_lock_files_agree() -> None:
    both = [
        dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(encoding="utf-8"), re.M))
        for name in ("requirements.txt", "requirements-dev.txt")
    ]
    shared = both[0].keys() & both[1].keys()
    assert [name for name in shared if both[0][name] != both[1][name]] == []


def test_the_changelog_has_the_unreleased_on_top() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert re.search(r"^- \S", text, re.MULTILINE)


def test_there_are_decision_records_numbered_without_gaps() -> None:
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    assert DECISIONS


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_record_is_a_page_with_evidence(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == ["Context", "Decision", "Evidence", "Consequences"]
    assert text.count("\n") <= 60
    evidence = text.partition("## Evidence")[2].partition("## ")[0]
    assert re.search(r"\d", evidence), "evidence has numbers"


def test_the_glossary_has_the_words_of_the_records() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = set(re.findall(r"\*\*([^*]+)\*\*", text))
    words = {*get_args(EntityKind), *get_args(RunState), *get_args(CommandState)}
    assert words - terms == set()
