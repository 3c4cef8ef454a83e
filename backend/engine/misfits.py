"""When tuples kept aside are an event, and what is said of them where the run was started: not in
every batch, but when something new is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from backend.operators.contract import InputResult
from backend.operators.parts import MISFITS
from backend.operators.task import stream_folder
from storage.vocabulary.records import Event, Misfit

#: An error not seen for so many batches is news again.
QUIET_BATCHES: Final = 50
#: Texts remembered; errors that quote values may have any number of them.
REMEMBERED: Final = 1000
#: Reasons told of one input, and tuples shown with each.
REASONS_TOLD: Final = 5
TUPLES_SHOWN: Final = 2
LONGEST_SHOWN: Final = 120


class MisfitNews:
    """Remembers which errors were seen, and when."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def events(self, batch: int, n_misfits: int, shown: tuple[Misfit, ...]) -> tuple[Event, ...]:
        """At most one event. shown: the first of the n_misfits tuples kept aside in the batch."""
        errors = dict.fromkeys(misfit.error for misfit in shown)
        news = [text for text in errors if self._is_news(text, batch)]
        for text in errors:
            self._seen.pop(text, None)
            self._seen[text] = batch
        while len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        if not news:
            return ()
        noun = "tuple" if n_misfits == 1 else "tuples"
        return (Event("misfit", f"{n_misfits} {noun} kept aside", news[0], "warning"),)

    def _is_news(self, text: str, batch: int) -> bool:
        last = self._seen.get(text)
        return last is None or batch - last > QUIET_BATCHES


class Aside:
    """Counts what was kept aside since the start of this process, by input, and says so in lines:
    each reason when it is met first, and how many it were at the end."""

    def __init__(self) -> None:
        self._n_fitting: Counter[str] = Counter()
        self._n_aside: Counter[str] = Counter()
        self._reasons: dict[str, list[str]] = {}

    @property
    def is_everything(self) -> bool:
        """There were tuples, and none that fit."""
        return bool(self._n_aside) and not self._n_fitting.total()

    def lines(self, inputs: Mapping[str, InputResult]) -> list[str]:
        """What is to be said of a batch."""
        said: list[str] = []
        for name, input in inputs.items():
            self._n_fitting[name] += input.n_tuples
            if input.n_misfits:
                self._n_aside[name] += input.n_misfits
                said += self._new(name, input)
        return said

    def _new(self, name: str, result: InputResult) -> list[str]:
        known = self._reasons.setdefault(name, [])
        said: list[str] = []
        for reason in dict.fromkeys(misfit.error for misfit in result.misfits):
            if reason in known or len(known) >= REASONS_TOLD:
                continue
            known.append(reason)
            raws = [misfit.raw for misfit in result.misfits if misfit.error == reason]
            said += [f"stream {name}: tuples are kept aside: {reason}"]
            said += [f"    {_short(raw)}" for raw in raws[:TUPLES_SHOWN]]
        if said:
            said.append(f"stream {name}: {self._so_far(name)}")
        return said

    def summary(self, sink: str) -> list[str]:
        """What is to be said at the end. sink: the run's own part of it."""
        sentences = []
        for name in self._n_aside:
            where = f"; they are in {stream_folder(sink, name)}/{MISFITS}" if sink else ""
            sentences.append(f"stream {name}: {self._so_far(name)}{where}")
            if not self._n_fitting[name]:
                sentences.append(
                    f"stream {name}: nothing fits; does its schema say what the data are?"
                )
        return sentences

    def _so_far(self, name: str) -> str:
        aside = self._n_aside[name]
        return f"{aside} of {aside + self._n_fitting[name]} tuples were kept aside"


def _short(raw: str) -> str:
    shown = raw.encode("unicode_escape").decode() if not raw.isprintable() else raw
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[: LONGEST_SHOWN - 1]}…"
