"""Options of ``run.py experiment``. Standard library only: help is shown before set-up."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_experiment(parser: argparse.ArgumentParser) -> None:
    """Which experiment, how large, on what."""
    parser.add_argument(
        "name",
        metavar="NAME",
        choices=["amri", "asc", "cals", "filters", "joins", "kmon", "scheduling"],
        help="amri: the paper of 2013; asc: those of 2007, 2012; cals: that of 2011; filters: the "
        "thesis of 2005, chapter 4; joins: its chapter 5; kmon: its chapter 6; scheduling: its "
        "section 2.3.3",
    )
    parser.add_argument(
        "--figure", metavar="N", help="one figure: 2012-6, or 6 of both; 4.11, table-6.1 (all)"
    )
    parser.add_argument(
        "--scale",
        type=scale_number,
        default=1.0,
        metavar="S",
        help="share of the papers' numbers of tuples, above 0 (default: %(default)g)",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        metavar="N",
        help="query sets or streams a number is the mean of (amri, asc, kmon: 3, filters: 5, "
        "cals: 10)",
    )
    parser.add_argument("--seed", type=int, default=1, help="same seed, same numbers (%(default)s)")
    parser.add_argument(
        "--census", type=Path, metavar="FILE", help="the US census of 1990, CSV (default: flights)"
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="JSON file that keeps claims and verdicts, figure by figure (default: none)",
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="HTML file to write (default: .planwatch/)"
    )


def scale_number(text: str) -> float:
    """A share above 0, 1 at most. Raises ArgumentTypeError."""
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0 < scale <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no scale; allowed: above 0, 1 at most")
    return scale
