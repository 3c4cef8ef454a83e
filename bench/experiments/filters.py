"""``run.py experiment filters``: Fig. 4.11 to 4.24 and Table 4.2 of [B05] again."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench.experiments import filter_changing, filter_costs, filter_stable
from bench.experiments.command import write
from bench.experiments.filter_trials import TrialSizes
from bench.experiments.results import FigureResult

FIGURES: Final[Mapping[str, Callable[[TrialSizes], FigureResult]]] = {
    "4.11": filter_stable.figure_11,
    "4.12": filter_stable.figure_12,
    "4.13": filter_stable.figure_13,
    "4.14": filter_stable.figure_14,
    "table-4.2": filter_costs.table_2,
    "4.15": filter_costs.figure_15,
    "4.16": filter_costs.figure_16,
    "4.17": filter_costs.figure_17,
    "4.18": filter_costs.figure_18,
    "4.19": filter_changing.figure_19,
    "4.20": filter_changing.figure_20,
    "4.21": filter_changing.figure_21,
    "4.22": filter_changing.figure_22,
    "4.23": filter_changing.figure_23,
    "4.24": filter_changing.figure_24,
}
TITLE: Final = "Pipelined filters: the thesis's experiments again"


def main(options: argparse.Namespace, state: Path) -> int:
    """Run what the command line asks for and write the report; 2 when it cannot be done."""
    trials = TrialSizes(options.scale, options.seed, options.repeats or 5)
    return write(options, FIGURES, trials, TITLE, state / "experiment-filters.html")
