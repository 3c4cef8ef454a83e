"""Outside of the folders of systems no module names one: what they need to know they ask of all.

A module names a system when it imports from its folder, or from that of its operators, or has its
name as a text. Names that are also words of a query or of a network (stream, joins) count in
imports alone. What is left is listed below, with why: a list to make shorter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from backend.systems.registry import SYSTEMS
from tests.house.test_rooms import imported, literals
from tests.house.tree import texts

NAMES: Final = frozenset(system.name for system in SYSTEMS)
WORDS: Final = frozenset({"stream", "joins"})
#: One folder a system, or a module, in each of these.
FOLDERS: Final = ("backend/systems", "dashboard/systems", "storage/vocabulary")
#: What a system brought to the operators of networks is its own.
OPERATORS: Final[Mapping[str, str]] = {
    "backend/operators/network/kmon/": "kmon",
    "backend/operators/network/kinds/kmon.py": "kmon",
    "backend/operators/network/shedding/": "cals",
    "backend/operators/network/sampling/": "cals",
}
_LINE: Final = "the one line of each system"
_FRAME: Final = "backend.systems.stream is also the frame of all networks"
NAMING: Final[Mapping[str, tuple[str, set[str]]]] = {
    "backend/systems/registry.py": (_LINE, set(NAMES)),
    "dashboard/systems/__init__.py": (_LINE, set(NAMES)),
    "storage/vocabulary/registry.py": (_LINE, set(NAMES)),
    "backend/operators/network/shards/making.py": ("the one line of each operator", {"kmon"}),
    "backend/engine/listening.py": (_FRAME, {"stream"}),
    "backend/engine/units.py": (_FRAME, {"stream"}),
    "backend/hosts/rehearsal.py": (_FRAME, {"stream"}),
    "run.py": ("names of experiments", {"amri", "asc", "cals", "kmon"}),
}


def product() -> dict[str, str]:
    """Modules and scripts by path; bench, which measures single systems, is none of them."""
    folders = ("assets", "backend", "dashboard", "storage", "run.py")
    found = texts(".py", ".js").items()
    return {path.as_posix(): text for path, text in found if path.parts[0] in folders}


def owner(path: str) -> str:
    """The system whose own a module is, '' where it is nobody's."""
    for folder in FOLDERS:
        own = Path(path.removeprefix(f"{folder}/")).parts[0].removesuffix(".py").split("_")[0]
        if path.startswith(f"{folder}/") and own in NAMES:
            return own
    return next((own for folder, own in OPERATORS.items() if path.startswith(folder)), "")


def named(path: str, text: str) -> Iterator[str]:
    """The systems that a module names."""
    if path.endswith(".js"):
        yield from (
            name for name in re.findall(r"""["'`](\w+)["'`]""", text) if name in NAMES - WORDS
        )
        return
    yield from (word for word in literals(text) if word in NAMES - WORDS)
    for module in imported(text):
        folder = re.match(r"(?:(?:backend|dashboard)\.systems|storage\.vocabulary)\.(\w+)", module)
        yield from {folder[1]} & NAMES if folder else NAMES - WORDS & {*module.split(".")}


def test_no_module_names_a_system_that_is_not_its_own() -> None:
    found: dict[str, set[str]] = {}
    for path, text in product().items():
        others = {*named(path, text)} - {owner(path)}
        if others:
            found[path] = others
    assert found == {path: names for path, (_, names) in NAMING.items()}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("backend/systems/asc/unit.py", "asc"),
        ("storage/vocabulary/asc_rule.py", "asc"),
        ("storage/vocabulary/core.py", ""),
        ("backend/systems/registry.py", ""),
        ("backend/operators/network/shedding/scored.py", "cals"),
        ("backend/hosts/rehearsal.py", ""),
    ],
)
def test_a_module_is_of_its_folder(path: str, expected: str) -> None:
    assert owner(path) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from backend.systems.joins import core", {"joins"}),
        ("from backend.operators.network.joins import joins", set()),
        ("from backend.operators.network.kmon.shape import KMonShape", {"kmon"}),
        ('x = "amri"', {"amri"}),
        ('x = "stream"', set()),
        ('"""amri"""', set()),
    ],
)
def test_the_search_finds_what_names_a_system(code: str, expected: set[str]) -> None:
    assert {*named("backend/x.py", code)} == expected
