"""Generic modules of the dashboard know no system: they import none, and name none of its words.

A word of a system is a role, a kind of matrix or a property of its vocabulary, or a knob of it
alone. What is left is listed below, with why: a list to make shorter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from backend.systems.registry import SYSTEMS
from storage.vocabulary.core import CORE
from storage.vocabulary.registry import VOCABULARIES
from tests.house.tree import texts

#: Systems that share the knobs of the frame of networks.
NETWORKS: Final = "networks"
#: Not meant as a word of a system: kinds of events and elements of pages, keys in the detail of a
#: decision or in the data of a chart, headings, units.
COINCIDENCE: Final[Mapping[str, set[str]]] = {
    "api/openapi.py": {"components"},
    "components/asking.py": {"input"},
    "components/kinds.py": {"input"},
    "figures/timeline.py": {"mu"},
    "pages/plan_tables.py": {"regions"},
    "panels/common/decision_card.py": {"confidence", "cost_us", "filter", "rank"},
    "panels/common/knobs.py": {"audit"},
    "panels/common/load.py": {"load"},
    "views/decision_card.py": {"candidates", "mu", "rank", "selectivity", "trigger"},
    "views/decisions.py": {"filter", "probes", "rank"},
    "views/gain.py": {"loss"},
    "views/headroom.py": {"pipeline"},
    "views/inspector.py": {"probes", "shards"},
    "views/postmortem.py": {"input"},
    "views/results.py": {"filter", "selection"},
    "views/timeline.py": {"input"},
}
#: Queues, stores and answers are of every run, and their numbers have their words from networks.
NUMBERS: Final[Mapping[str, set[str]]] = {
    "pages/plan_tables.py": {"queue_bytes", "queue_mean_tuples", "queue_peak_tuples"},
    "panels/common/answer_parts.py": {"answer_tuples"},
    "panels/common/load.py": {"state_bytes"},
    "panels/turns.py": {"network_us"},
    "report/ending.py": {"state_bytes"},
    "serving/deltas.py": {"answer_value"},
    "views/alerts.py": {"answer_tuples"},
    "views/answers.py": {"answer_tuples"},
    "views/load.py": {"state_bytes"},
    "views/monitor.py": {"answer_value"},
    "views/plan.py": {"queue_peak_tuples", "saved_bytes", "state_bytes"},
    "views/results.py": {"relation_tuples"},
}
#: Memory use, of all systems in one list.
MEMORY: Final[Mapping[str, set[str]]] = {
    "panels/common/market.py": {"pool_bytes"},
    "views/takes.py": {
        *("bitmap_memory", "components", "log_bytes", "pool_bytes", "queue_bytes"),
        *("queue_capacity", "state_bytes", "state_limit_bytes", "tau_tuples"),
        "window_tuples",
    },
}


def words() -> set[str]:
    """Those of single systems."""
    owners: dict[str, set[str]] = {}
    for system in SYSTEMS:
        whose = system.name if system.name in ("asc", "agreedy") else NETWORKS
        for knob in system.knobs:
            owners.setdefault(knob.name, set()).add(whose)
    found = {name for name, own in owners.items() if len(own) == 1}
    for one in VOCABULARIES:
        found |= set() if one is CORE else {*one.roles, *one.matrices, *one.properties}
    return found


def literals(text: str) -> Iterator[str]:
    """The texts in a module that are no docstrings."""
    tree = ast.parse(text)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def generic() -> dict[Path, str]:
    """The modules of the dashboard outside of the folders of systems, by their path there."""
    return {
        path.relative_to("dashboard"): text
        for path, text in texts(".py").items()
        if path.parts[0] == "dashboard" and path.parts[1] != "systems"
    }


def test_generic_modules_name_no_word_of_a_system_but_those_listed() -> None:
    own = words()
    assert len(own) > 120, "the search itself is broken"
    found = {
        path.as_posix(): named
        for path, text in generic().items()
        if (named := {word for word in literals(text) if word in own})
    }
    allowed: dict[str, set[str]] = {}
    for listed in (COINCIDENCE, NUMBERS, MEMORY):
        for name, some in listed.items():
            allowed[name] = allowed.get(name, set()) | some
    assert found == allowed


def imported(text: str) -> Iterator[str]:
    """The modules, and what is taken from them, by their full names."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_of_generic_modules_the_application_alone_imports_systems() -> None:
    importing = [
        (path.as_posix(), name)
        for path, text in generic().items()
        for name in imported(text)
        if name.startswith("dashboard.systems")
    ]
    assert importing == [("web/app.py", "dashboard.systems")]


def test_no_import_is_hidden_from_the_contracts() -> None:
    """A module that is imported by a name in a text is one that import-linter does not see; a
    function of a user's own module is the one thing that is named so."""
    product = ("backend", "dashboard", "storage", "run.py")
    hidden = [
        path.as_posix()
        for path, text in texts(".py").items()
        if path.parts[0] in product and re.search(r"\bimport_module\b|\b__import__\b", text)
    ]
    assert hidden == ["backend/workloads/loading.py"]


@pytest.mark.parametrize(
    ("code", "found"), [('"""mu"""\nx = "mu"', ["mu"]), ("def f():\n    '''mu'''", [])]
)
def test_the_search_finds_words_outside_of_docstrings(code: str, found: list[str]) -> None:
    assert list(literals(code)) == found
