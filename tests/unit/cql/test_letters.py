"""Keywords are read in either case of ASCII; all other letters are those of names."""

from __future__ import annotations

from typing import Final
from unicodedata import normalize

import pytest

from backend.cql import CqlError, parse_query
from backend.model.schema import Schema

#: Letters whose other case is one of ASCII.
DOTLESS: Final = "\N{LATIN SMALL LETTER DOTLESS I}"
S: Final = "\N{LATIN SMALL LETTER LONG S}"
K: Final = "\N{KELVIN SIGN}"
IS, IN, SELECT, LIKE = f"{DOTLESS}s", f"{DOTLESS}n", f"{S}elect", f"li{K}e"
STREAMS = {"T": Schema.parse(f"ts int, {IS} int, {IN} int, {SELECT} int, {LIKE} int, daysä int")}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"Select {IS}, {IN} From T Where {IS} > 5", [IS, IN]),
        (f"SELECT T.{IS} FROM T WHERE {IS} IN (1, 2) or {IN} is null", [IS]),
        (f"select {SELECT}, {LIKE} from T", [SELECT, LIKE]),
        (f"Select daysä As secondä From T [Range 5 Days] As {IN}", ["secondä"]),
        (f"Select count(*) As {IN} From T [Rows 2] {IS}", [IN]),
    ],
)
def test_names_that_look_like_keywords_in_other_letters(text: str, names: list[str]) -> None:
    plan = parse_query("q", text, STREAMS).plan
    assert plan is not None
    # the sign of the kelvin is a K to all that compares letters
    assert [field.name for field in plan.fields] == [normalize("NFC", name) for name in names]


@pytest.mark.parametrize("text", [f"{SELECT} * From T", f"Select * From T Where ts {IN} (1, 2)"])
def test_no_keyword_has_other_letters(text: str) -> None:
    with pytest.raises(CqlError, match=f"found '[{S}{DOTLESS}]"):
        parse_query("q", text, STREAMS)
