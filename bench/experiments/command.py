"""What the experiments share as commands: which figures, the claims as text, the report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from backend.workloads.flights import DataMissing
from bench.experiments.record import keep
from bench.experiments.report import html
from bench.experiments.results import FigureResult
from bench.experiments.streams import CensusUnreadable

Conditions = TypeVar("Conditions")
Figures = Mapping[str, Callable[[Conditions], FigureResult]]


class NoSuchFigure(ValueError):
    """A figure that is not among ours; the message lists them."""


def chosen(figures: Mapping[str, object], name: str | None) -> list[str]:
    """The keys a name means: '2012-6', '6' (of both papers), '4.11', None for all.

    Raises NoSuchFigure.
    """
    keys = [key for key in figures if name is None or name in (key, key.partition("-")[2])]
    if not keys:
        raise NoSuchFigure(f"no figure is called {name!r}; there are: {', '.join(figures)}")
    return keys


def run_figures(
    figures: Figures[Conditions], keys: Sequence[str], conditions: Conditions
) -> list[FigureResult]:
    """The figures, one after the other."""
    return [figures[key](conditions) for key in keys]


def told(results: Sequence[FigureResult]) -> str:
    """The claims as lines of text."""
    lines = [
        f"{r.key}  {claim.verdict:>15}  {claim.text}\n{'':25}{claim.number}"
        for r in results
        for claim in r.claims
    ]
    return "\n".join(lines)


def write(
    options: argparse.Namespace,
    figures: Figures[Conditions],
    conditions: Conditions,
    title: str,
    report: Path,
) -> int:
    """Run what the command line asks for, write the report and keep the record; 2 when it cannot
    be done.

    report: where it goes when the command line does not say.
    """
    try:
        results = run_figures(figures, chosen(figures, options.figure), conditions)
    except (NoSuchFigure, CensusUnreadable, DataMissing) as error:
        print(error, file=sys.stderr)
        return 2
    if options.record is not None:
        keep(options.record, results)
    path: Path = options.report or report
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html(title, results), encoding="utf-8")
    print(told(results))
    print(f"The report is {path}.")
    return 0
