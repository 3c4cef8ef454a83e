"""``run.py experiment asc``: the figures of the papers on attribute selection constructs again."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench.experiments import adapting, indexes, schemes
from bench.experiments.command import write
from bench.experiments.conditions import Conditions
from bench.experiments.results import FigureResult

FIGURES: Final[Mapping[str, Callable[[Conditions], FigureResult]]] = {
    "2007-4": indexes.l07_figure_4,
    "2007-5": indexes.l07_figure_5,
    "2007-6": schemes.l07_figure_6,
    "2007-7": schemes.l07_figure_7,
    "2007-8": schemes.l07_figure_8,
    "2007-9": adapting.l07_figure_9,
    "2012-6": schemes.l12_figure_6,
    "2012-7": schemes.l12_figure_7,
    "2012-8": adapting.l12_figure_8,
    "2012-9": adapting.l12_figure_9,
}
TITLE: Final = "Attribute selection constructs: the papers' experiments again"


def main(options: argparse.Namespace, state: Path) -> int:
    """Run what the command line asks for and write the report; 2 when it cannot be done.

    state: the folder for the report and the data's cache.
    """
    conditions = Conditions(
        options.scale, options.seed, options.repeats or 3, options.census, state / "cache"
    )
    return write(options, FIGURES, conditions, TITLE, state / "experiment-asc.html")
