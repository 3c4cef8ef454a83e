"""Words of the glossary with their meanings, read from docs/glossary.md. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).parents[2] / "docs" / "glossary.md"
#: "## Title (System)": a part of one system; without brackets it is of all.
_PART: Final = re.compile(r"^## (?P<title>.*?)(?: \((?P<system>.+)\))?$")
#: A sentence of an entry that begins with a word of its own.
_NEXT: Final = re.compile(r"(?<=[.;]) (?=\*\*)")
_BOLD: Final = re.compile(r"\*\*(.+?)\*\*")
#: Bold words one behind the other, where no dash says what is defined.
_LEADING: Final = re.compile(r"(?:\*\*.+?\*\*(?:,| and)? ?)+")


@dataclass(frozen=True, slots=True)
class GlossaryWord:
    """``words`` are explained by ``text``. part: of the glossary; system: '' = of all systems."""

    words: list[str]
    text: str
    part: str
    system: str


def glossary_of(systems: Collection[str]) -> list[GlossaryWord]:
    """The words of all systems and of these, in the order of the document."""
    return [word for word in _glossary() if word.system in ("", *systems)]


@cache
def _glossary() -> tuple[GlossaryWord, ...]:
    return tuple(parse_glossary(SOURCE.read_text(encoding="utf-8")))


def parse_glossary(document: str) -> Iterator[GlossaryWord]:
    """The entries of a document, one for each sentence that begins with a word in bold."""
    title = system = ""
    for block in re.split(r"\n(?=- |## |\n)", document):
        text = " ".join(block.split())
        if part := _PART.match(text):
            title = part["title"]
            system = re.sub(r"\W", "", part["system"] or "").lower()
        elif text.startswith("- **"):
            for entry in _NEXT.split(text.removeprefix("- ")):
                yield GlossaryWord(_words(entry), _plain(entry), title, system)


def _words(entry: str) -> list[str]:
    defined, dash, _ = entry.partition(" — ")
    leading = _LEADING.match(entry)
    return _BOLD.findall(defined if dash else leading[0] if leading else "")


def _plain(entry: str) -> str:
    return re.sub(r"\*\*|`|\[([^\]]*)\]\([^)]*\)", r"\1", entry).removesuffix(";")
