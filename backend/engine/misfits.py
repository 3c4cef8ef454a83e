"""When tuples kept aside, or missed by some queries, are an event, and what is said of them where
the run was started: not in every batch, but when something new is wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from backend.operators.contract import BatchResult, InputResult, KeptAside
from backend.operators.parts import MISFITS
from backend.operators.task import stream_folder
from backend.workloads.file_counts import file_of
from storage.vocabulary.kinds import EventKind
from storage.vocabulary.records import Event

#: An error not seen for so many batches is news again.
QUIET_BATCHES: Final = 50
#: Texts remembered; errors that quote values may have any number of them.
REMEMBERED: Final = 1000
#: Reasons told of one input, and tuples shown with each.
REASONS_TOLD: Final = 5
TUPLES_SHOWN: Final = 2
LONGEST_SHOWN: Final = 120
#: Reasons that differ by these alone are one.
_DIGITS: Final = re.compile(r"\d+")
#: What became of tuples that not all queries could take.
KEPT_ASIDE: Final = "kept aside"
MISSED: Final = "missed by some queries, taken by others"


class MisfitNews:
    """Remembers which errors were seen, and when."""

    def __init__(self) -> None:
        self._aside, self._missed = _SeenErrors("misfit", KEPT_ASIDE), _SeenErrors("missed", MISSED)

    def events(self, result: BatchResult) -> list[Event]:
        """At most one of tuples kept aside in the batch, and one of those missed by queries."""
        inputs, batch = result.inputs.values(), result.batch_id
        n_missed = sum(input.n_missed for input in inputs)
        missed = [aside for input in inputs for aside in input.missed]
        misfits = [_with_file(input, aside) for input in inputs for aside in input.misfits]
        aside = self._aside.events(batch, result.n_misfits, misfits)
        return aside + self._missed.events(batch, n_missed, missed)


def _with_file(input: InputResult, misfit: KeptAside) -> KeptAside:
    """The misfit, its error naming the file it stands in."""
    places = {} if input.files is None else input.files.places
    place = places.get((misfit.raw, misfit.error))
    if place is None:
        return misfit
    return replace(misfit, error=f"{Path(file_of(place)).name}: {misfit.error}")


class _SeenErrors:
    """The errors seen with tuples that something became of. kind: of the events that tell it."""

    def __init__(self, kind: EventKind, became: str) -> None:
        self._kind, self._became = kind, became
        self._seen: dict[str, int] = {}

    def events(self, batch: int, n: int, shown: Iterable[KeptAside]) -> list[Event]:
        """At most one event. shown: the first of the n tuples of the batch."""
        errors = dict.fromkeys(aside.error for aside in shown)
        news = [text for text in errors if self._is_news(text, batch)]
        for text in errors:
            self._seen.pop(text, None)
            self._seen[text] = batch
        while len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        if not news:
            return []
        noun = "tuple" if n == 1 else "tuples"
        forms: dict[str, str] = {}
        for text in news:
            forms.setdefault(_DIGITS.sub("#", text), text)
        reasons = [*forms.values()]
        more = len(reasons) - REASONS_TOLD
        tail = [f"{more} more reason{'s' * (more > 1)}"] if more > 0 else []
        detail = "; ".join([*reasons[:REASONS_TOLD], *tail])
        return [Event(self._kind, f"{n} {noun} {self._became}", detail, "warning")]

    def _is_news(self, text: str, batch: int) -> bool:
        last = self._seen.get(text)
        return last is None or batch - last > QUIET_BATCHES


class Aside:
    """Counts what was kept aside, or missed by some queries, since the start of this process, by
    input, and says so in lines: each reason when it is met first, and how many it were at the
    end."""

    def __init__(self) -> None:
        self._n_read: Counter[str] = Counter()
        self._aside, self._missed = (
            _SaidByInput(KEPT_ASIDE, self._n_read),
            _SaidByInput(MISSED, self._n_read),
        )

    @property
    def is_everything(self) -> bool:
        """There were tuples, and all of them were kept aside."""
        return self._aside.n.total() == self._n_read.total() > 0

    def lines(self, inputs: Mapping[str, InputResult]) -> list[str]:
        """What is to be said of a batch."""
        lines: list[str] = []
        for name, input in inputs.items():
            self._n_read[name] += input.n_tuples + input.n_misfits
            lines += self._aside.new(name, input.n_misfits, input.misfits)
            lines += self._missed.new(name, input.n_missed, input.missed)
        return lines

    def summary(self, sink: str) -> list[str]:
        """What is to be said at the end. sink: the run's own part of it."""
        sentences = []
        for name, n in self._aside.n.items():
            where = f"; they are in {stream_folder(sink, name)}/{MISFITS}" if sink else ""
            sentences.append(f"{self._aside.so_far(name)}{where}")
            if n == self._n_read[name]:
                sentences.append(
                    f"stream {name}: nothing fits; does its schema say what the data are?"
                )
        return sentences + [self._missed.so_far(name) for name in self._missed.n]


class _SaidByInput:
    """Tuples that something became of, by input. n_read: by input, all that were read so far."""

    def __init__(self, became: str, n_read: Mapping[str, int]) -> None:
        self._became, self._n_read = became, n_read
        self.n: Counter[str] = Counter()
        self._reasons: dict[str, list[str]] = {}

    def new(self, name: str, n: int, shown: Sequence[KeptAside]) -> list[str]:
        """Count n tuples; what is to be said of them. shown: the first of those."""
        if not n:
            return []
        self.n[name] += n
        known = self._reasons.setdefault(name, [])
        lines: list[str] = []
        for reason in dict.fromkeys(aside.error for aside in shown):
            if reason in known or len(known) >= REASONS_TOLD:
                continue
            known.append(reason)
            raws = [aside.raw for aside in shown if aside.error == reason]
            lines += [f"stream {name}: tuples are {self._became}: {reason}"]
            lines += [f"    {_short(raw)}" for raw in raws[:TUPLES_SHOWN]]
        if lines:
            lines.append(self.so_far(name))
        return lines

    def so_far(self, name: str) -> str:
        """How many of how many it were."""
        return f"stream {name}: {self.n[name]} of {self._n_read[name]} tuples were {self._became}"


def _short(raw: str) -> str:
    shown = raw.encode("unicode_escape").decode() if not raw.isprintable() else raw
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[: LONGEST_SHOWN - 1]}…"
