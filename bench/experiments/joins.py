"""``run.py experiment joins``: Fig. 5.11 to 5.23 and the points of Table 5.2 of [B05] again."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench.experiments import join_caching, join_changing, join_points
from bench.experiments.command import write
from bench.experiments.join_caching import JoinSizes
from bench.experiments.results import FigureResult

FIGURES: Final[Mapping[str, Callable[[JoinSizes], FigureResult]]] = {
    "5.11": join_caching.figure_11,
    "5.13": join_caching.figure_13,
    "5.15": join_caching.figure_15,
    "5.17": join_caching.figure_17,
    "5.19": join_caching.figure_19,
    "5.21": join_points.figure_21,
    "5.22": join_changing.figure_22,
    "5.23": join_changing.figure_23,
}
TITLE: Final = "Adaptive joins: the thesis's experiments again"


def main(options: argparse.Namespace, state: Path) -> int:
    """Run what the command line asks for and write the report; 2 when it cannot be done."""
    sizes = JoinSizes(options.scale, options.seed)
    return write(options, FIGURES, sizes, TITLE, state / "experiment-joins.html")
