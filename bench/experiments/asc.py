"""``run.py experiment asc``: the figures of the papers on attribute selection constructs again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from backend.workloads.flights import DataMissing
from bench.experiments import schemes
from bench.experiments.conditions import Conditions
from bench.experiments.report import html
from bench.experiments.results import FigureResult
from bench.experiments.streams import CensusUnreadable

FIGURES: Final[Mapping[str, Callable[[Conditions], FigureResult]]] = {
    "2007-6": schemes.l07_figure_6,
    "2007-7": schemes.l07_figure_7,
    "2007-8": schemes.l07_figure_8,
    "2012-6": schemes.l12_figure_6,
    "2012-7": schemes.l12_figure_7,
}
TITLE: Final = "Attribute selection constructs: the papers' experiments again"
#: Drawn elsewhere.
PEERS: Final = (
    "2007 Fig. 4 and 5 (grouped filter, red-black tree, linked list beside the construct) are"
    " measured in compiled code by 'run.py bench peers'."
)


class NoSuchFigure(ValueError):
    """A figure that is not among ours; the message lists them."""


def chosen(name: str | None) -> list[str]:
    """The keys a name means: '2012-6', '6' (of both papers), None for all.

    Raises NoSuchFigure.
    """
    keys = [key for key in FIGURES if name is None or name in (key, key.partition("-")[2])]
    if not keys:
        raise NoSuchFigure(f"no figure is called {name!r}; there are: {', '.join(FIGURES)}")
    return keys


def run_figures(keys: Sequence[str], conditions: Conditions) -> list[FigureResult]:
    """The figures, one after the other."""
    return [FIGURES[key](conditions) for key in keys]


def told(results: Sequence[FigureResult]) -> str:
    """The claims as lines of text."""
    lines = [
        f"{r.key}  {claim.verdict:>15}  {claim.text}\n{'':25}{claim.number}"
        for r in results
        for claim in r.claims
    ]
    return "\n".join(lines)


def main(options: argparse.Namespace, state: Path) -> int:
    """Run what the command line asks for and write the report; 2 when it cannot be done.

    state: the folder for the report and the data's cache.
    """
    conditions = Conditions(
        options.scale, options.seed, options.repeats, options.census, state / "cache"
    )
    try:
        results = run_figures(chosen(options.figure), conditions)
    except (NoSuchFigure, CensusUnreadable, DataMissing) as error:
        print(error, file=sys.stderr)
        return 2
    report: Path = options.report or state / "experiment-asc.html"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(html(TITLE, results, [PEERS]), encoding="utf-8")
    print(told(results))
    print(f"The report is {report}.")
    return 0
