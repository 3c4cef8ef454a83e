"""Browser tests read what is painted: no sleeps, and no reads right after an act, by their syntax.

Between an act, which the page answers in its own time, and a read of it there is something that
waits for a state. What a helper of the tests does counts as done by whoever calls it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Methods by which a test acts on a page, or on the run that the page shows.
ACTS: Final = _words("""
    check click dblclick dispatch_event down drag_to feed fill go_back go_forward goto hover move
    press press_sequentially reload select_option set_checked set_input_files set_viewport_size tap
    type uncheck up wheel
""")
#: Those that read once, whatever is still on its way.
READS: Final = _words("""
    all_inner_texts all_text_contents bounding_box count evaluate evaluate_all get_attribute
    inner_html inner_text input_value is_checked is_disabled is_enabled is_visible screenshot
    text_content
""")
#: Those that wait for a state.
WAITS: Final = _words("""
    expect expect_download expect_event expect_navigation expect_page expect_popup expect_request
    expect_response open_page wait_for wait_for_event wait_for_load_state wait_for_request
    wait_for_selector wait_for_url
""")
SLEEPS: Final = _words("sleep wait_for_timeout")
#: Comment on the line of a sleep that shows that something does not happen, or paces an act.
REASON: Final = "# sleeps:"


class Effect(Enum):
    """Of a call on what a test may read after it."""

    ACT = "act"
    WAIT = "wait"
    READ = "read"
    NONE = "none"


Helpers = Mapping[str, tuple[Effect, ...]]


def unexplained_sleeps(source: str) -> Iterator[int]:
    """Lines that sleep without a reason."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _name(node) in SLEEPS:
            yield from [node.lineno] if REASON not in lines[node.lineno - 1] else []


def hasty_reads(source: str, helpers: Helpers) -> Iterator[int]:
    """Lines of tests that read after an act, with nothing that waits between the two."""
    for function in functions(source).values():
        if not function.name.startswith("test_"):
            continue
        has_acted = False
        for line, effect in _effects(function.body, helpers):
            if effect is Effect.READ and has_acted:
                yield line
            has_acted = {Effect.ACT: True, Effect.WAIT: False}.get(effect, has_acted)


def functions(source: str) -> dict[str, ast.FunctionDef]:
    """Those of a module, by name."""
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


def helpers_of(
    functions: Mapping[str, ast.FunctionDef], known: Helpers = MappingProxyType({})
) -> dict[str, tuple[Effect, ...]]:
    """Effects of functions that tests call, those of the functions they call included. known: of
    functions from elsewhere."""
    effects = dict(known)
    for _ in range(4):  # helpers of helpers
        effects |= {
            name: tuple(effect for _, effect in _effects(function.body, effects))
            for name, function in functions.items()
        }
    return effects


def _effects(body: list[ast.stmt], helpers: Helpers) -> Iterator[tuple[int, Effect]]:
    for statement in body:
        for call in _calls(statement):
            for effect in _effect(call, statement, helpers):
                yield call.lineno, effect


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """In the order in which they are executed; bodies of functions within are not."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield from _calls(child)
    if isinstance(node, ast.Call):
        yield node


def _effect(call: ast.Call, statement: ast.stmt, helpers: Helpers) -> tuple[Effect, ...]:
    name = _name(call)
    if name in WAITS | SLEEPS or name.startswith("until"):
        return (Effect.WAIT,)
    if isinstance(call.func, ast.Name) and name in helpers:
        return helpers[name]
    if name == "evaluate" and isinstance(statement, ast.Expr) and statement.value is call:
        return (Effect.ACT,)
    if isinstance(call.func, ast.Attribute) and name in ACTS:
        return (Effect.ACT,)
    return (Effect.READ,) if name in READS and isinstance(call.func, ast.Attribute) else ()


def _name(call: ast.Call) -> str:
    func = call.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
