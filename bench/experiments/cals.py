"""``run.py experiment cals``: what is known of the experiments of [AL11], again. Card B5"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench.experiments import cals_figures, cals_work
from bench.experiments.cals_running import DATA_SETS, ShedSizes
from bench.experiments.command import write
from bench.experiments.results import FigureResult

FIGURES: Final[Mapping[str, Callable[[ShedSizes], FigureResult]]] = {
    "s1": cals_figures.s1,
    "s2": cals_figures.s2,
    "s3": cals_figures.s3,
    "s4": cals_figures.s4,
    "s5": cals_figures.s5,
    "s6": cals_figures.s6,
    "s7": cals_figures.s7,
    "s8": cals_work.s8,
}
TITLE: Final = "CALS: the paper's experiments again, reconstructed"


def main(options: argparse.Namespace, state: Path) -> int:
    """Run what the command line asks for and write the report; 2 when it cannot be done."""
    sizes = ShedSizes(options.scale, options.seed, options.repeats or DATA_SETS)
    return write(options, FIGURES, sizes, TITLE, state / "experiment-cals.html")
