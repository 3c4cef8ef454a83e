"""Words of the glossary, as pages explain them."""

from __future__ import annotations

import re
from dataclasses import astuple

from dashboard.views.glossary import SOURCE, glossary_of, parse_glossary

DOCUMENT = """# Words
- no entry

## Plans

- **plan** — how a unit
  evaluates `queries`. **order** — where
  it **chooses** one; **rank** and **place** are numbers.

## Joins (k-Mon)

- **key** — see [here](x.md).
"""


def test_a_sentence_that_begins_with_a_word_is_an_entry() -> None:
    assert [astuple(word) for word in parse_glossary(DOCUMENT)] == [
        (["plan"], "plan — how a unit evaluates queries.", "Plans", ""),
        (["order"], "order — where it chooses one", "Plans", ""),
        (["rank", "place"], "rank and place are numbers.", "Plans", ""),
        (["key"], "key — see here.", "Joins", "kmon"),
    ]


def test_words_of_a_system_are_those_of_its_runs() -> None:
    general = glossary_of(())
    own = [word for word in glossary_of(("kmon",)) if word not in general]
    assert {word.system for word in own} == {"kmon"}
    assert len(own) > 5


def test_every_word_has_a_meaning_and_no_mark_is_left() -> None:
    systems = {"asc", "agreedy", "joins", "kmon", "amri", "cals"}
    words = glossary_of(systems)
    assert {word.system for word in words} == {"", *systems}
    assert len(words) >= len(re.findall(r"(?m)^- \*\*", SOURCE.read_text(encoding="utf-8")))
    for word in words:
        assert word.words
        assert all(word.words), word
        assert len(word.text) > len(word.words[0]) + 5, word
        assert not re.search(r"[*`]", word.text), word
