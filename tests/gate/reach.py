"""Test files that a change reaches, by who imports whom; nearest first."""

from __future__ import annotations

import ast
import subprocess
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

#: What holds our modules, and pytest's fixtures for all below them.
_FOLDERS: Final = ("backend", "bench", "dashboard", "storage", "tests")
_OF_PAGES: Final = (".js", ".css")
_FIXTURES: Final = "conftest.py"
#: Compared with the first of these there is.
_BASES: Final = ("origin/main", "green", "HEAD~1", "HEAD")


def changed(root: Path) -> list[str]:
    """Paths that differ from what landed last, those that are not committed included."""
    base = next(base for base in _BASES if _git(root, "rev-parse", "-q", "--verify", base))
    paths = _git(root, "diff", "--name-only", base)
    paths += _git(root, "ls-files", "--others", "--exclude-standard")
    return sorted(set(paths))


def _git(root: Path, *words: str) -> list[str]:
    ran = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return ran.stdout.splitlines() if ran.returncode == 0 else []


def reached(root: Path, paths: Sequence[str]) -> dict[str, int]:
    """Test file -> imports between it and the nearest of the paths; nearest first. What is no
    module reaches the tests that name it, scripts and sheets those of pages, too."""
    importers, texts = _importers(root)
    begin = {path for path in paths if path in texts}
    others = [Path(path) for path in paths if not path.endswith(".py")]
    tests = {path: text for path, text in texts.items() if path.startswith("tests/")}
    begin |= {p for p, text in tests.items() if any(other.name in text for other in others)}
    if any(other.suffix in _OF_PAGES for other in others):
        begin |= {path for path in tests if path.startswith("tests/web/")}
    distance = dict.fromkeys(sorted(begin), 0)
    waiting = deque(distance)
    while waiting:
        path = waiting.popleft()
        for importer in importers.get(path, ()):
            if importer not in distance:
                distance[importer] = distance[path] + 1
                waiting.append(importer)
    files = {path: n for path, n in distance.items() if Path(path).name.startswith("test_")}
    return dict(sorted(files.items(), key=lambda item: (item[1], item[0])))


def _importers(root: Path) -> tuple[Mapping[str, list[str]], Mapping[str, str]]:
    """Module -> those that import it; and the text of each, by path."""
    files = {path for folder in _FOLDERS for path in root.glob(f"{folder}/**/*.py")}
    paths = sorted(path.relative_to(root) for path in (*files, *root.glob("run.py")))
    texts = {str(path): (root / path).read_text(encoding="utf-8") for path in paths}
    modules = {_module(path): str(path) for path in paths}
    importers: defaultdict[str, list[str]] = defaultdict(list)
    for path, text in texts.items():
        for name in _imported(path, text):
            for module in (name, name.rpartition(".")[0]):
                if module in modules:
                    importers[modules[module]].append(path)
                    break
    return importers, texts


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: str, text: str) -> Iterator[str]:
    """Names of modules, and of what is taken from them; fixtures of a test's folders."""
    if path.startswith("tests/"):
        folders = list(Path(path).parents)[:-1]
        yield from (_module(folder / _FIXTURES) for folder in folders)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(files: Iterable[str], seconds: Mapping[str, float], most_s: float) -> list[str]:
    """The first of the files, as many as take most_s together; one that alone takes longer is
    passed over."""
    chosen, total = [], 0.0
    for path in files:
        if total + seconds[path] <= most_s:
            chosen.append(path)
            total += seconds[path]
    return chosen
