"""The dashboard takes no id apart: what something is for it learns from roles, kinds and names."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.house.tree import texts

#: Beginnings that ids of entities have or had, and ways to take such a beginning off.
_PREFIX: Final = re.compile(
    r"""["'`](?:asc|filter|queue|op|query|race|monitor|decision|tuple|synopsis|input(?!:not)):[\w{$]*"""
)
_SURGERY: Final = re.compile(r"""\.(?:removeprefix|startswith|partition|split)\(\s*["']\w*:["']""")


def found_in(text: str) -> list[str]:
    """What of a text takes ids apart."""
    return [*_PREFIX.findall(text), *_SURGERY.findall(text)]


@pytest.mark.parametrize(
    "code",
    ['"asc:"', "f'filter:{name}'", "`queue:${id}`", 'id.partition(":")', 'x.removeprefix("op:")'],
)
def test_the_patterns_find_what_they_are_for(code: str) -> None:
    assert found_in(code)


@pytest.mark.parametrize("code", ['{"query": 1}', 'line.partition("|")', '"system"', "x: Final"])
def test_the_patterns_leave_the_rest_alone(code: str) -> None:
    assert not found_in(code)


def test_no_id_is_taken_apart_in_the_dashboard() -> None:
    offenders = {
        path.as_posix(): found
        for path, text in texts(".py").items()
        if path.parts[0] == "dashboard" and (found := found_in(text))
    }
    assert offenders == {}


def test_nothing_generic_names_a_system() -> None:
    words = re.compile(r"""["'`/.](?:asc|agreedy)["'`/]|systems[./](?:stream|joins)""")
    offenders = [
        path.as_posix()
        for path, text in texts(".py").items()
        if path.parts[0] == "dashboard" and path.parts[1] != "systems" and words.search(text)
    ]
    assert offenders == []


def test_no_id_is_taken_apart_in_the_scripts() -> None:
    offenders = {
        path.as_posix(): found
        for path, text in texts(".js").items()
        if path.parts[0] in ("assets", "dashboard") and (found := found_in(text))
    }
    assert offenders == {}
