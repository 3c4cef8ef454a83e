"""Functions stay within 40 lines (docstrings not counted) and files within 400."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.house.tree import texts

LONGEST_FUNCTION = 40
LONGEST_FILE = 400
_JS_FUNCTION = re.compile(
    r"\bfunction\s+(?P<name>\w+)\s*\(|\b(?P<bound>\w+)\s*[=:]\s*(?:async\s*)?"
    r"(?:function\b|\([^()]*\)\s*=>|\w+\s*=>)"
)


class Function(NamedTuple):
    """A function and where it is; n_lines without its docstring."""

    path: str
    line: int
    name: str
    n_lines: int


def python_functions(path: str, text: str) -> Iterator[Function]:
    """All functions of a Python module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node) is not None
            docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
            n_lines = (node.end_lineno or 0) - node.lineno + 1 - docstring
            yield Function(path, node.lineno, node.name, n_lines)


def script_functions(path: str, text: str) -> Iterator[Function]:
    """All named functions of a script, by matching braces outside strings and comments."""
    bare = re.sub(
        r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", _blank, text, flags=re.S
    )
    for match in _JS_FUNCTION.finditer(bare):
        start = bare.find("{", match.end())
        if start < 0 or ";" in bare[match.end() : start]:
            continue
        end = _closing_brace(bare, start)
        n_lines = bare.count("\n", match.start(), end) + 1
        line = bare.count("\n", 0, match.start()) + 1
        yield Function(path, line, match.group("name") or match.group("bound"), n_lines)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def _closing_brace(text: str, start: int) -> int:
    depth = 0
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return len(text)


def test_functions_are_short() -> None:
    functions = [
        *(f for path, text in texts(".py").items() for f in python_functions(str(path), text)),
        *(f for path, text in texts(".js").items() for f in script_functions(str(path), text)),
    ]
    assert len(functions) > 100, "the search itself is broken"
    long = sorted((f for f in functions if f.n_lines > LONGEST_FUNCTION), key=lambda f: -f.n_lines)
    told = [f"{f.path}:{f.line} {f.name}: {f.n_lines} lines" for f in long]
    assert not told, "\n".join(["functions over 40 lines:", *told])


def test_files_are_short() -> None:
    lengths = {path: text.count("\n") for path, text in texts(".py", ".js").items()}
    told = [f"{path}: {n} lines" for path, n in lengths.items() if n > LONGEST_FILE]
    assert not told, "\n".join(["files over 400 lines:", *told])


def test_the_searches_find_functions() -> None:
    python = 'def f():\n    """One\n    two."""\n    return 1\n'
    assert [(f.name, f.n_lines) for f in python_functions("x", python)] == [("f", 2)]
    script = "function a(x) {\n  return '}';\n}\nconst b = (y) => {\n  // }\n  if (y) {\n  }\n};\n"
    assert [(f.name, f.n_lines) for f in script_functions("x", script)] == [("a", 3), ("b", 5)]
