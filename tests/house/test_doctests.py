"""Worked examples in docstrings, the papers' own where these have some, come out as they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from tests.house.tree import texts

MODULES = [
    path
    for path, text in texts(".py").items()
    if path.parts[0] in ("backend", "storage") and ">>> " in text
]


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_examples_come_out(path: Path) -> None:
    module = import_module(".".join(path.with_suffix("").parts))
    assert doctest.testmod(module).failed == 0


def test_there_are_examples_of_the_algorithms_of_each_paper() -> None:
    algorithms = ("ordering", "asc", "stream", "joins", "amri", "shedding")
    named = {name for path in MODULES for part in path.parts for name in (part, part.split("_")[0])}
    assert named >= {*algorithms}
