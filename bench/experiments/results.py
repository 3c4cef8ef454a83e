"""What a figure brings: plots, claims checked, conditions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

Verdict: TypeAlias = Literal["reproduced", "partly", "not reproduced"]


class Series(NamedTuple):
    """One bar colour or line: y over x, equally long."""

    name: str
    x: tuple[str, ...] | tuple[float, ...]
    y: tuple[float, ...]


class Plot(NamedTuple):
    """A diagram. marks: x of vertical lines (switches of the data). log_x: x on a log scale."""

    title: str
    x_title: str
    y_title: str
    kind: Literal["bars", "lines"]
    series: tuple[Series, ...]
    marks: tuple[float, ...] = ()
    log_x: bool = False


class PaperClaim(NamedTuple):
    """A sentence of the paper, whether our runs bear it out, and our number with its unit."""

    text: str
    verdict: Verdict
    number: str


class FigureResult(NamedTuple):
    """A figure run again. setup: (condition, value). notes: how to read it, what differs."""

    key: str
    title: str
    setup: tuple[tuple[str, str], ...]
    plots: tuple[Plot, ...]
    claims: tuple[PaperClaim, ...]
    notes: tuple[str, ...] = ()


#: Steps of a rising series that may go down.
DOWNWARD: Final = 0.25
#: By which the claims of a report are judged, for its readers.
JUDGED: Final = (
    "How claims are judged: a claim about several cases (query sets, sizes, data) is reproduced "
    "when it holds in all of them, partly when it holds in some. A series grows when its last "
    f"value is above its first and at most {DOWNWARD:.0%} of its steps go down, partly when more "
    "do; it falls likewise. What counts as equal, near or much is said in the claim itself."
)


def verdict(cases: Sequence[bool]) -> Verdict:
    """Borne out in all cases, in some, in none."""
    if all(cases):
        return "reproduced"
    return "partly" if any(cases) else "not reproduced"


def rising(values: Sequence[float]) -> Verdict:
    """Whether values grow from first to last, and with at most DOWNWARD of the steps downward."""
    if values[-1] <= values[0]:
        return "not reproduced"
    steps = [b >= a for a, b in pairwise(values)]
    return "reproduced" if sum(steps) >= (1 - DOWNWARD) * len(steps) else "partly"


def listed(values: Sequence[float], digits: int = 3) -> str:
    """Numbers with commas."""
    return ", ".join(f"{value:.{digits}f}" for value in values)
