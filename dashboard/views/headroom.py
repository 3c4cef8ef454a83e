"""What would make a plan change next, and the evaluations that kept it, near violations first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboard.components.formats import show
from dashboard.components.kinds import verdict
from dashboard.components.names import named
from dashboard.views.decisions import CHANGE_OF, metric_words, sign_of
from dashboard.views.numbers import form_of, shown_unit
from storage.tables.rows import DecisionEntry
from storage.vocabulary.headroom import Headroom, read
from storage.vocabulary.planlog import BY_AUTOPILOT, LOOK, SUBJECT
from storage.vocabulary.records import Decision
from storage.vocabulary.words import significant

_CHANGED: Final = "It has just changed: the next evaluation says what would change it again"
#: A lesser gap would be shown as none.
_LEAST_SHOWN: Final = 0.0005
_PINNED: Final = "It is pinned: nothing that is measured changes it"
_UNASKED: Final = (
    "Nothing was evaluated so far: there is no other plan to choose, or too little came"
)


class HeadroomLine(NamedTuple):
    """One thing that would change a plan. unit: its id; of: what people call it, '' where a run has
    one only; about: what of it, as 'pipeline of R', or ''. missing: in words with its unit, '' =
    not told. near: [0, 1], None = not known. seq, batch: the evaluation that says so; seq 0 =
    none."""

    unit: str
    of: str
    about: str
    words: str
    missing: str
    near: float | None
    entity: str
    over: str
    seq: int
    batch: int


class WhyNotLine(NamedTuple):
    """An evaluation that kept the plan, as :class:`HeadroomLine`; word: its verdict."""

    line: HeadroomLine
    verdict: str
    sign: str
    word: str
    time: float


#: Newest evaluations of a unit that are looked at: what is older may be about another algorithm.
RECENT: Final = 20


def build_headroom(
    entries: Iterable[DecisionEntry], titles: Mapping[str, str], batch: int | None = None
) -> list[HeadroomLine]:
    """Of the newest evaluation of each question a unit asks: what it fell short of, what concerns
    the plan as a whole first. entries: newest first; titles: of units, where there are several;
    batch: the newest, as of which the next look of an autopilot is told."""
    newest: dict[tuple[str, str, str], Decision] = {}
    looked = Counter[str]()
    looks: dict[tuple[str, str], list[Decision]] = {}
    for entry in entries:
        decision = entry.decision
        looked[decision.unit_id] += 1
        if looked[decision.unit_id] <= RECENT:
            question = decision.unit_id, decision.algorithm, _about(decision)
            newest.setdefault(question, decision)
            if decision.kind == LOOK:
                looks.setdefault((decision.unit_id, _about(decision)), []).append(decision)
    lines = [
        line
        for decision in newest.values()
        for line in _lines(decision, titles, _per_batch(_same(looks, decision)), batch)
    ]
    lines += [_unasked(unit, of) for unit, of in titles.items() if unit not in looked]
    return sorted(lines, key=lambda line: (line.of, line.unit, line.about))


def _unasked(unit: str, of: str) -> HeadroomLine:
    return HeadroomLine(unit, of, "", _UNASKED, "", None, "", "", 0, -1)


def build_why_not(entries: Iterable[DecisionEntry], titles: Mapping[str, str]) -> list[WhyNotLine]:
    """The evaluations that kept the plan, the nearest to a change first, newer before older."""
    kept = []
    for entry in entries:
        decision = entry.decision
        if decision.verdict == "switched":
            continue
        words = verdict(decision.verdict)
        line = _lines(decision, titles)[0]
        kept.append(WhyNotLine(line, decision.verdict, words.sign, words.word, entry.time))
    return sorted(kept, key=lambda row: -(row.line.near or 0.0))


def next_words(lines: Iterable[HeadroomLine]) -> str:
    """The nearest of all, an operator's before the plan's as a whole; '' where none is told."""
    measured = [line for line in lines if line.near is not None]
    if not measured:
        return ""
    nearest = max(measured, key=lambda line: (bool(line.entity), line.near or 0.0))
    return f"{nearest.of}: {nearest.words}" if nearest.of else nearest.words


def of_entity(lines: Iterable[HeadroomLine], name: str, unit: str) -> list[HeadroomLine]:
    """Those that would move an operator of a unit or let others pass it, and what concerns its plan
    as a whole."""
    own = [line for line in lines if line.unit == unit]
    moving = [line for line in own if name in (line.entity, line.over)]
    return [*moving, *(line for line in own if not line.entity)]


def _same(
    looks: Mapping[tuple[str, str], Sequence[Decision]], look: Decision
) -> Sequence[Decision]:
    """The looks of the same autopilot, newest first."""
    return looks.get((look.unit_id, _about(look)), ())


def _per_batch(looks: Sequence[Decision]) -> float:
    """Tuples, or elements, a batch between the two newest looks, newest first; 0 = not known."""
    if len(looks) < 2:
        return 0.0
    return looks[0].n / max(1, looks[0].batch - looks[1].batch)


def _in_batches(due: float, per_batch: float, waited: int) -> Headroom:
    """When an autopilot looks again, so many tuples after a look that is some batches ago."""
    left = math.ceil(due / per_batch) - waited
    when = "is due as soon as enough is sampled" if left < 1 else f"comes in {left} batches"
    when = "comes with the next batch" if left == 1 else when
    words = f"the next look {when}, or once the statistics leave their region"
    return Headroom(words, float(left) if left > 1 else None, "batches", 0.0)


def _lines(
    decision: Decision,
    titles: Mapping[str, str],
    per_batch: float = 0.0,
    batch: int | None = None,
) -> list[HeadroomLine]:
    recorded = sorted(read(decision.detail), key=lambda headroom: bool(headroom.entity))
    if per_batch and batch is not None:
        waited = batch - decision.batch
        recorded = [
            _in_batches(row.missing, per_batch, waited)
            if decision.kind == LOOK and "/" not in row.unit and row.missing is not None
            else row
            for row in recorded
        ]
    if recorded:
        return [_line(decision, titles, headroom) for headroom in recorded]
    if decision.verdict == "switched":
        return [_line(decision, titles, Headroom(_CHANGED, None, "", 0.0), known=False)]
    if decision.verdict == "pinned":
        return [_line(decision, titles, Headroom(_PINNED, None, "", 0.0), known=False)]
    return [_by_inequality(decision, titles)]


def _line(
    decision: Decision, titles: Mapping[str, str], headroom: Headroom, known: bool = True
) -> HeadroomLine:
    words = (
        headroom.words[:1].upper() + headroom.words[1:] if not headroom.entity else headroom.words
    )
    missing = "" if headroom.missing is None else _amount(headroom.missing, headroom.unit)
    near = headroom.near if known else None
    return HeadroomLine(
        decision.unit_id,
        titles.get(decision.unit_id, ""),
        _about(decision),
        words,
        missing,
        near,
        headroom.entity,
        headroom.over,
        decision.seq,
        decision.batch,
    )


def _by_inequality(decision: Decision, titles: Mapping[str, str]) -> HeadroomLine:
    """Of a record that does not tell: the inequality it tested; where that held and the plan was
    kept all the same, the reason for it. Of a relative change the share that is still missing."""
    lhs, rhs = decision.lhs, decision.rhs
    if lhs is None or rhs is None or decision.verdict == "kept":
        return _line(
            decision, titles, Headroom(named(decision.explanation), None, "", 0.0), known=False
        )
    metric, gap = metric_words(decision.metric), abs(rhs - lhs)
    least, most = sorted((abs(lhs), abs(rhs)))
    near = least / most if most else 1.0
    if metric.startswith(CHANGE_OF):
        far = f"must change by {show(rhs, 'pct')} since the last arrangement"
        words = f"{metric.removeprefix(CHANGE_OF)} {far}, so far by {show(lhs, 'pct')}"
        line = _line(decision, titles, Headroom(words, gap, "", near))
        return line._replace(missing=show(gap, "pct") if gap >= _LEAST_SHOWN else "under 0.1 %")
    sign = sign_of(decision.relation)
    words = f"{metric} {sign} {show(rhs, 'f3')} would change it, now {show(lhs, 'f3')}"
    return _line(decision, titles, Headroom(words, gap, "", near))


def _amount(missing: float, unit: str) -> str:
    """'0.060', '0.005 of a burst', '0.21 visits/tuple', '1 880 tuples'."""
    is_whole = missing == int(missing)
    is_small = unit in ("prob", "", "tuples", "of a burst") and not is_whole
    form = "f3" if is_small else form_of(unit)
    if is_whole and (not unit or unit.endswith(("elements", "requests"))):
        form = "int"
    words = shown_unit(unit) if unit not in ("prob", "") else ""
    text = show(missing, form)
    if form in ("f2", "f3") and missing and not text.strip("-0."):
        text = significant(missing)
    return f"{text} {words}".strip()


def _about(decision: Decision) -> str:
    """'pipeline of R' of a decision on one, or what is decided where a unit has several
    autopilots."""
    if SUBJECT in decision.detail:
        return str(decision.detail[SUBJECT]).removesuffix(BY_AUTOPILOT)
    old: Any = decision.old
    pipeline = old.get("pipeline") if isinstance(old, Mapping) else ""
    return f"pipeline of {pipeline}" if pipeline else ""
