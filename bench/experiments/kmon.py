"""``run.py experiment kmon``: Fig. 6.10 to 6.18, Tables 6.1 to 6.3 of [B05] again."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench.experiments import kmon_combining, kmon_costs, kmon_memory, kmon_monitoring, kmon_road
from bench.experiments.command import write
from bench.experiments.kmon_sizes import KMonSizes
from bench.experiments.results import FigureResult

FIGURES: Final[Mapping[str, Callable[[KMonSizes], FigureResult]]] = {
    "6.1": kmon_combining.links,
    "6.10": kmon_memory.figure_10,
    "6.11": kmon_monitoring.figure_11,
    "6.12": kmon_memory.figure_12,
    "6.13": kmon_monitoring.figure_13,
    "6.14": kmon_memory.figure_14,
    "6.15": kmon_monitoring.figure_15,
    "6.16": kmon_memory.figure_16,
    "table-6.1": kmon_costs.table_1,
    "table-6.2": kmon_costs.table_2,
    "table-6.3": kmon_road.table_3,
    "6.17": kmon_combining.figure_17,
    "6.18": kmon_combining.figure_18,
}
TITLE: Final = "k-constraints: the thesis's experiments again"


def main(options: argparse.Namespace, state: Path) -> int:
    """Run what the command line asks for and write the report; 2 when it cannot be done."""
    sizes = KMonSizes(options.scale, options.seed, options.repeats or 3)
    return write(options, FIGURES, sizes, TITLE, state / "experiment-kmon.html")
