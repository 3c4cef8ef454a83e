"""What adapting came to, in one figure and one curve: the headline of the Plan page.

A system has a ledger of what was saved since the run began, or two costs of which one is in force.
All are estimates on sampled tuples, and are called so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from dashboard.components.formats import THIN, show
from dashboard.views.numbers import known, thinned
from dashboard.views.saved import SavedShare, last_batches, saved
from storage.tables.rows import SeriesData

Tone: TypeAlias = Literal["gain", "loss", "quiet"]
#: batch, value, and its 95 % band where there is one
CurvePoint: TypeAlias = tuple[int, float, float | None, float | None]
#: Values by batch, oldest first, by property.
Columns: TypeAlias = Mapping[str, Mapping[int, float]]


class Ratio(NamedTuple):
    """Two costs of which the first, in force, saves or loses against the second. saves, loses:
    words in front of the share; nothing: where there is none; against: what it is a share of.
    recent: newest batches it is told of; of several nothing is told before there is an interval."""

    now: str
    before: str
    saves: str
    loses: str
    nothing: str
    against: str
    recent: int = 1


class Gain(NamedTuple):
    """lead and figure: 'Adapting saved', '36 %'; figure is '' when there is nothing to boast of.

    basis: of what, with its interval. what, form: of the curve, for its caption and its numbers.
    """

    lead: str
    figure: str
    basis: str
    tone: Tone
    what: str
    form: Literal["pct", "si"]
    curve: list[CurvePoint]


class GainSource(NamedTuple):
    """Where a system tells what adapting came to. gain: from the properties by name, over the run
    until the moment. changes: those of them that draw it anew. together: they are of the unit and
    the engine; else of each entity that has the last of ``changes``. summed: of all of these, added
    batch by batch. recent: newest batches that are told of, each exact."""

    properties: tuple[str, ...]
    gain: Callable[[Columns], Gain | None]
    changes: tuple[str, ...]
    together: bool = False
    summed: bool = False
    recent: int = 1


def ratio_source(ratio: Ratio) -> GainSource:
    """Two costs as a source."""
    return GainSource(ratio[:2], partial(ratio_gain, ratio), ratio[:2], recent=ratio.recent)


def ratio_gain(ratio: Ratio, columns: Columns) -> Gain | None:
    """What is saved at the moment; None without both costs, or before there are batches enough."""
    costs, others = columns.get(ratio.now, {}), columns.get(ratio.before, {})
    batches = [batch for batch in costs if others.get(batch)]
    curve: list[CurvePoint] = [
        (batch, 1 - costs[batch] / others[batch], None, None) for batch in batches
    ]
    newest = batches[-ratio.recent :]
    saving = saved(
        [costs[batch] for batch in newest],
        [others[batch] for batch in newest],
        last_batches(len(newest)),
    )
    if saving is None or (ratio.recent > 1 and saving.low is None):
        return None
    lead, figure, tone = claim(ratio, saving)
    basis = f"{ratio.against}, {saving.stretch}{saving.interval}, estimated on the profile"
    share = show(saving.share, "pct").replace("-", "−")
    basis = basis if figure else f"{share} {basis}"
    return Gain(lead, figure, basis, tone, "share saved in each batch", "pct", curve)


def claim(ratio: Ratio, saving: SavedShare) -> tuple[str, str, Tone]:
    """What two costs come to, as every page says it: lead, figure ('' = nothing to claim), tone."""
    if saving.effect == "nothing":
        return ratio.nothing, "", "quiet"
    figure = percent(abs(saving.share))
    return (ratio.saves, figure, "gain") if saving.share > 0 else (ratio.loses, figure, "loss")


def percent(share: float) -> str:
    """A share as a headline has it."""
    return f"{100 * share:.0f}{THIN}%" if share >= 0.1 else show(share, "pct")


def column(data: SeriesData, batch: int | None, now: float | None) -> dict[int, float]:
    """The known values of a series by batch; the newest, ``now`` at ``batch``, is exact also where
    points are means of several."""
    pairs = zip(data.batch.tolist(), data.value.tolist(), strict=True)
    values = {int(at): float(value) for at, value in pairs if known(float(value))}
    if batch is not None and now is not None and known(now):
        values.pop(batch, None)
        values[batch] = now
    return values


def turning_points(curve: Sequence[CurvePoint], most: int) -> list[CurvePoint]:
    """The points at which the curve turns, at most so many, the newest among them."""
    turns = [
        point
        for place, point in enumerate(curve)
        if not 0 < place < len(curve) - 1
        or not curve[place - 1][1] == point[1] == curve[place + 1][1]
    ]
    return thinned(turns, most)
