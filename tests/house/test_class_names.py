"""A class name stands for one thing in the whole of the product."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
_HOW_TO_FIX: Final = (
    "a class name is defined more than once. Where both are one thing, keep one class and import "
    "it; otherwise name the newer one, or the one fewer import, by what sets it apart: a row of a "
    "table of the store ends in Row, a line of a list on a page in Line, what a panel draws in "
    "Shown or View (RunRow and RunLine, Overhead and OverheadView)"
)


def product() -> dict[str, str]:
    """Path below the root -> text of every Python file of the product."""
    files = [_ROOT / "run.py"]
    for folder in ("backend", "bench", "dashboard", "storage"):
        files += sorted((_ROOT / folder).rglob("*.py"))
    return {str(f.relative_to(_ROOT)): f.read_text(encoding="utf-8") for f in files}


def places(files: Mapping[str, str]) -> dict[str, list[str]]:
    """Class name -> ``path:line`` of each of its definitions, nested and private ones too."""
    found = defaultdict(list)
    for path, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{path}:{node.lineno}")
    return found


def repeated(found: Mapping[str, list[str]]) -> list[str]:
    """A line for each name that is defined more than once."""
    return [
        f"{name}: {', '.join(where)}" for name, where in sorted(found.items()) if len(where) > 1
    ]


def test_a_class_name_is_defined_once() -> None:
    found = places(product())
    assert len(found) > 300, "the search itself is broken"
    told = repeated(found)
    assert not told, "\n".join([_HOW_TO_FIX, *told])


def test_the_search_finds_repeated_names() -> None:
    files = {"a.py": "class A: ...\nclass B:\n    class C: ...\n", "b.py": "class C: ...\n"}
    assert repeated(places(files)) == ["C: a.py:3, b.py:1"]
