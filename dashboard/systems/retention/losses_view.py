"""What joins that keep less lose by each of their inputs, and by which rule; records to lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from dashboard.views.book import Book
from dashboard.views.numbers import known
from storage.vocabulary.records import Knob

WINDOW: Final = "retained window"
JOIN: Final = "retained join"
#: Rules by which tuples go, as reasons.
RULES: Final = {
    "universe": "universe: keys that are not in the sample",
    "rand": "rand: tuples that are not in the sample",
    "oldest": "oldest: tuples that came first",
    "prob": "prob: keys with the fewest partners",
    "life": "life: tuples with the fewest partners in the time left",
    "off": "off: windows lack what went before, until they are filled anew",
}


class InputLoss(NamedTuple):
    """An input of a join. node: its window; title: the queries; rule: in force, one of RULES. lost:
    share of the results that lack a tuple of it, whatever the others keep. missed, total: tuples
    not kept in the batch, and since the run began. there: share of the results that are there by
    all inputs; results: of the batch that are lost by all, estimated; low, high: its 95 % interval.
    None: not known."""

    node: str
    name: str
    title: str
    join: str
    rule: str
    lost: float | None
    missed: float
    total: float
    there: float | None
    results: float | None
    low: float | None
    high: float | None


def build_losses(
    book: Book,
    values: Mapping[str, Mapping[str, float | None]],
    knobs: Mapping[str, Knob],
) -> list[InputLoss]:
    """By join and input, those that have numbers."""
    knob, losses = knobs.get("retention"), list[InputLoss]()
    rule = "" if knob is None else str(knob.value)
    for join in book.of(JOIN):
        inputs = [w for w in book.of(WINDOW) if join.id in w.properties.get("joins", ())]
        for window in inputs:
            if window.id in values:
                node = str(window.properties["node"])
                of = str(join.properties["node"])
                names = node, book.name(node), book.title(of), book.name(of)
                losses.append(_loss(names, rule, values[window.id], values.get(join.id, {})))
    return sorted(losses, key=lambda loss: (loss.title, loss.join, loss.name, loss.node))


def _loss(
    names: tuple[str, str, str, str],
    rule: str,
    own: Mapping[str, float | None],
    all: Mapping[str, float | None],
) -> InputLoss:
    def number(values: Mapping[str, float | None], name: str) -> float | None:
        return values[name] if known(values.get(name)) else None

    def less(name: str) -> float | None:
        """Results there would be, less those that are."""
        whole, there = number(all, name), number(all, "sampled_results")
        return None if whole is None or there is None else max(0.0, whole - there)

    expected = number(all, "expected_share")
    return InputLoss(
        *names,
        rule=rule,
        lost=number(own, "lost_share"),
        missed=number(own, "missed_tuples") or 0.0,
        total=number(own, "missed_total") or 0.0,
        there=number(all, "sample_share") if expected is None else expected,
        results=less("estimated_results"),
        low=less("estimated_low"),
        high=less("estimated_high"),
    )
