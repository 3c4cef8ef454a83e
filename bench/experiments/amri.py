"""``run.py experiment amri``: rows a1 to d3 of the experiments of [W13], again. Card A12"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench.experiments import amri_bounds
from bench.experiments.amri_clock import CLOCKS
from bench.experiments.amri_designs import AmriSizes
from bench.experiments.amri_figures import RATIOS
from bench.experiments.command import write
from bench.experiments.results import FigureResult

Figure = Callable[[AmriSizes], FigureResult]
_RATIOS: Final[Mapping[str, Figure]] = {figure.key: figure.result for figure in RATIOS}
_CLOCKS: Final[Mapping[str, Figure]] = {figure.key: figure.result for figure in CLOCKS}
_OWN: Final[Mapping[str, Figure]] = {
    "d1": amri_bounds.d1,
    "d2": amri_bounds.d2,
    "d3": amri_bounds.d3,
    "e1": amri_bounds.e1,
}
FIGURES: Final[Mapping[str, Figure]] = dict(sorted({**_RATIOS, **_CLOCKS, **_OWN}.items()))
TITLE: Final = "AMRI: the paper's experiments again"


def main(options: argparse.Namespace, state: Path) -> int:
    """Run what the command line asks for and write the report; 2 when it cannot be done."""
    sizes = AmriSizes(options.scale, options.seed, options.repeats or 3)
    return write(options, FIGURES, sizes, TITLE, state / "experiment-amri.html")
