"""Plans of a plan log by the names they have in the run, and what each of them came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.views.book import Book
from dashboard.views.planlog import PlanLogEntry
from storage.tables.rows import StoredLook
from storage.vocabulary.looks import form_words
from storage.vocabulary.records import PlanVersion

#: Characters of the name of a plan that is no version.
_LONGEST: Final = 32


class LoggedPlan(NamedTuple):
    """A plan. place: among those of the log, from 0; versions: of the run that it was in force as,
    none where that is not known; kind, order: as the plan says them; words: for a plan of a part of
    a unit, which is no version by itself; alike: shortened, they are those of another plan, too."""

    digest: str
    place: int
    versions: tuple[int, ...]
    kind: str
    order: tuple[str, ...]
    words: str = ""
    alike: bool = False

    @property
    def name(self) -> str:
        """'plan 3', after the version it was first in force as; 'plan b → a', shortened, of a plan
        that is no version; four digits where nothing else is known or tells it from others."""
        if self.versions:
            return f"plan {self.versions[0]}"
        if self.words.startswith("no "):
            return self.words
        return f"plan {(not self.alike and _shortened(self.words)) or self.digest[:4]}"

    @property
    def text(self) -> str:
        """'a → b → c'."""
        return self.words or " → ".join(self.order) or self.kind

    @property
    def label(self) -> str:
        """'plan 3: a → b'; the text alone where the name says nothing else."""
        return self.words if self.words and not self.alike else f"{self.name}: {self.text}"


def _shortened(words: str) -> str:
    return f"{words[: _LONGEST - 1]}…" if len(words) > _LONGEST else words


class PlanShare(NamedTuple):
    """What a plan came to. n_looks: that chose it; n_switches: to it; n_tuples: that ran under it
    between looks, share: of those of all, [0, 1]. predicted, measured: cost a tuple over them, None
    where none ran. batch: of the look that chose it last."""

    plan: LoggedPlan
    n_looks: int
    n_switches: int
    n_tuples: int
    share: float
    predicted: float | None
    measured: float | None
    batch: int


def name_plans(
    looks: Sequence[StoredLook], versions: Sequence[PlanVersion], book: Book
) -> dict[str, LoggedPlan]:
    """The plans of a log by digest, in the order they were in force. looks: of one log; versions:
    of the unit, oldest first."""
    if looks and looks[-1].subject:
        return _name_parts(looks)
    decided = {version.decision: version for version in versions}
    own: dict[str, list[PlanVersion]] = {}
    for look in looks:
        before = [version for version in versions if version.batch <= look.batch]
        _meet(own, look.record["plan"], before[-1] if before else None)
        _meet(own, look.record["chosen"], decided.get(look.seq))
    return {
        digest: LoggedPlan(
            digest,
            place,
            tuple(version.version for version in known),
            known[0].kind if known else "",
            tuple(book.name(entity) for entity in known[0].order) if known else (),
        )
        for place, (digest, known) in enumerate(own.items())
    }


def _name_parts(looks: Sequence[StoredLook]) -> dict[str, LoggedPlan]:
    """Plans that say themselves what they are."""
    forms = {digest: form for look in looks for digest, form in look.forms.items()}
    ran = dict.fromkeys(look.record[name] for look in looks for name in ("plan", "chosen"))
    words = {digest: form_words(forms[digest]) for digest in ran}
    often = Counter(map(_shortened, words.values()))
    return {
        digest: LoggedPlan(
            digest=digest,
            place=place,
            versions=(),
            kind=forms[digest][0],
            order=tuple(forms[digest][1]),
            words=words[digest],
            alike=often[_shortened(words[digest])] > 1,
        )
        for place, digest in enumerate(ran)
    }


def _meet(own: dict[str, list[PlanVersion]], digest: str, version: PlanVersion | None) -> None:
    """A plan of the log is, or may be, a version of the run."""
    known = own.setdefault(digest, [])
    if version is not None and version not in known:
        known.append(version)


def plan_shares(
    entries: Sequence[PlanLogEntry], plans: Mapping[str, LoggedPlan]
) -> list[PlanShare]:
    """A row for each plan that a look chose, the most used first."""
    total = sum(entry.n_tuples for entry in entries)
    rows = []
    for digest, plan in plans.items():
        own = [entry for entry in entries if entry.plan == digest]
        if not own:
            continue
        n = sum(entry.n_tuples for entry in own)
        predicted = sum(entry.predicted * entry.n_tuples for entry in own)
        measured = sum((entry.measured or 0.0) * entry.n_tuples for entry in own)
        rows.append(
            PlanShare(
                plan,
                len(own),
                sum(entry.switched for entry in own),
                n,
                n / total if total else 0.0,
                predicted / n if n else None,
                measured / n if n else None,
                own[-1].batch,
            )
        )
    return sorted(rows, key=lambda row: (-row.share, row.plan.place))
