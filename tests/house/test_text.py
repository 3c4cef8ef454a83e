"""What no file of the project may say: places of one machine, package hosts, how it was made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.tree import ROOT, markdown, project_files, texts

#: Spelled with classes of one letter, so that this file does not hold what it looks for.
FORBIDDEN = {
    "a path of one machine": r"(?<![\w.~-])/(?:wor[k]|hom[e]/\w|roo[t]/|User[s]/\w|tm[p]/\w{1,2}/)",
    "a package host": r"pyp[i]\.org|pythonhoste[d]\.org|npmj[s]\.(?:com|org)|(?<!emit-)index-ur[l]",
    "how it was made": r"\b(?i:(?<!user.)agen[t]s?|assistan[t]s?|chatbo[t]|LL[M]s?)\b",
    "work left undone": r"\b(?:TOD[O]|FIXM[E]|XX[X])\b",
    "an unexplained exemption": r"#\s*(?:noq[a]|type:\s*ignor[e])[^#\n—-]*$",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what], re.MULTILINE)
    told = [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()!r}"
        for path, text in texts().items()
        for match in pattern.finditer(text)
    ]
    assert not told, "\n".join([f"{what}:", *told])


def test_links_between_documents_lead_somewhere() -> None:
    told = [
        f"{path}: {target}"
        for path, text in markdown().items()
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
        if not (ROOT / path.parent / target).exists()
    ]
    assert not told, "\n".join(["links into the void:", *told])


def test_paths_named_in_documents_exist() -> None:
    """A `folder/file.ext` in backquotes; names with a placeholder (NAME, <x>, *) are meant so."""
    told = [
        f"{path}: {named}"
        for path, text in markdown().items()
        for named in re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text)
        if not re.search(r"NAME|NNNN|\bx[./]", named) and not _exists(path, named)
    ]
    assert not told, "\n".join(["paths that do not exist:", *told])


def _exists(document: Path, named: str) -> bool:
    made_by_a_start = named.startswith((".venv", ".planwatch"))
    return made_by_a_start or (ROOT / named).exists() or (ROOT / document.parent / named).exists()


def test_no_large_file_is_carried_along() -> None:
    told = [path for path in project_files() if (ROOT / path).stat().st_size > 1_000_000]
    assert not told
