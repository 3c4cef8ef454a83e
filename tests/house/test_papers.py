"""What docs/papers.md says of the papers' experiments is what the kept records of them came to."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

import pytest

from bench.experiments import amri, asc, cals, filters, joins, kmon, scheduling
from tests.house.tree import ROOT

FIGURES: Final = {
    "amri": amri.FIGURES,
    "asc": asc.FIGURES,
    "cals": cals.FIGURES,
    "filters": filters.FIGURES,
    "joins": joins.FIGURES,
    "kmon": kmon.FIGURES,
    "scheduling": scheduling.FIGURES,
}
#: Times, of which another machine's record says nothing; papers.md says so.
TIMED: Final = {"2007-4", "2007-5", "table-6.1"}
#: How the column "here" begins.
WORDS: Final = {"reproduced": "holds", "partly": "partly", "not reproduced": "does not"}
_HEAD: Final = "| figure | claim | here | numbers"
#: How papers.md begins the names of figures, and how their keys do.
_BEGINS: Final = {"[L12] ": "2012-", "[L07] ": "2007-", "Table ": "table-"}


class PapersRow(NamedTuple):
    """A row of a table of experiments. figures: '4.13, 4.14 (1, 2)', in brackets the places of the
    claims it is about, else all; here: what became of them."""

    experiment: str
    figures: str
    claim: str
    here: str


def rows() -> list[PapersRow]:
    """The rows of all tables of experiments."""
    papers = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    sections = re.split(r"`python3 run\.py experiment (\w+)`", papers)
    found = []
    for experiment, text in zip(sections[1::2], sections[2::2], strict=True):
        table = text.partition(_HEAD)[2].partition("\n\n")[0]
        for line in table.splitlines()[2:]:
            figures, claim, here, *_ = [cell.strip() for cell in line.strip("|").split("|")]
            found.append(PapersRow(experiment, figures, claim, here))
    return found


def record(experiment: str) -> dict[str, Any]:
    """Figure -> what it came to."""
    path = ROOT / "docs" / "experiments" / f"{experiment}.json"
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept


def meant(row: PapersRow) -> dict[str, list[int]]:
    """Figure -> places of the claims the row is about, from 1; [] = all. The second figure of a
    pair that the thesis draws apart has no key of its own."""
    begin = next((key for word, key in _BEGINS.items() if row.figures.startswith(word)), "")
    numbers = re.findall(
        r"([a-z]\d+|[a-z]+|[\d.]+)(?: \(([\d, ]+)\))?",
        re.sub(r"^(\[L\d+\]|Table) ", "", row.figures),
    )
    found = {begin + name: [int(one) for one in re.findall(r"\d+", only)] for name, only in numbers}
    return {key: places for key, places in found.items() if key in FIGURES[row.experiment]}


ROWS: Final = rows()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.figures} {row.claim[:30]}")
def test_a_verdict_is_the_one_of_the_record(row: PapersRow) -> None:
    kept, figures = record(row.experiment), meant(row)
    assert figures, "names no figure"
    if figures.keys() <= TIMED:
        assert not figures.keys() & kept.keys()
        return
    verdicts = set()
    for key, places in figures.items():
        claims = [one["verdict"] for one in kept[key]["claims"]]
        verdicts |= {claims[place - 1] for place in places} if places else set(claims)
    came_to = WORDS[verdicts.pop()] if len(verdicts) == 1 else "partly"
    assert row.here == came_to or row.here.startswith((f"{came_to}, ", f"{came_to}: "))


@pytest.mark.parametrize("experiment", FIGURES)
def test_every_figure_has_a_record_and_a_row(experiment: str) -> None:
    told = {key for row in ROWS if row.experiment == experiment for key in meant(row)}
    assert told == FIGURES[experiment].keys()
    assert record(experiment).keys() == FIGURES[experiment].keys() - TIMED
