"""Docstrings cite errata by number; docs/papers.md must explain each, and name each module."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
MODULES = sorted((ROOT / "backend" / "systems" / "asc").glob("[a-z]*.py"))


def test_every_cited_erratum_is_explained() -> None:
    section = PAPERS.split("### Errata")[1]
    explained = set(re.findall(r"^\| (\d+) \|", section, re.MULTILINE))
    cited: set[str] = set()
    for module in MODULES:
        text = module.read_text(encoding="utf-8")
        for numbers in re.findall(r"[Ee]rrat(?:um|a) ([\d, and\n]+)", text):
            cited |= set(re.findall(r"\d+", numbers))
    assert cited
    assert cited <= explained


@pytest.mark.parametrize("system", ["asc", "agreedy", "stream", "joins"])
def test_every_module_is_named_and_no_other(system: str) -> None:
    section = PAPERS.split(f"`backend/systems/{system}/`")[1]
    rows = section.split("### What is implemented where")[1].split("\n\n")[1]
    named = {
        name for row in rows.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    modules = [*(ROOT / "backend" / "systems" / system).rglob("[a-z]*.py")]
    if system == "agreedy":  # joins order their probes with the same
        modules += (ROOT / "backend" / "adaptive" / "ordering").glob("[a-z]*.py")
    assert {m.stem for m in modules} - {"knobs"} == named - {"knobs"}
