"""What a live page says, against the same page opened on the batch that its numbers claim."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from playwright.sync_api import Page

from tests.web.conftest import until

ROOT: Final = Path(__file__).parents[2]
_SAMPLE: Final = Path(__file__).with_suffix(".js").read_text()
#: Of a frame: what was painted is what people saw.
_IN_A_FRAME: Final = (
    "() => new Promise((resolve) => requestAnimationFrame(() => resolve("
    f"({_SAMPLE.partition('*/')[2].strip()})())))"
)
_SETTLED: Final = (
    "document.getElementById('pw-shell').dataset.painting !== '1'"
    " && !(window.dash_stores || []).some((store) => store.getState().isLoading)"
)
_STRIP: Final = "document.getElementById('pw-strip-batch').textContent.replace(/\\D/g, '')"
#: place -> [(text, batch it claims), ...]
Numbers: TypeAlias = dict[str, list[tuple[str, int]]]


class Sample(NamedTuple):
    """A page in one instant. header: its batch; node: what is pinned."""

    header: int
    plan: str
    node: str | None
    numbers: Numbers


class Mismatch(NamedTuple):
    """A text that is another one on the page of the batch it claims."""

    place: str
    header: int
    claims: int
    said: str
    truth: str


def read(page: Page, node: str | None = None) -> Sample:
    """What the page says in this instant."""
    told = page.evaluate(_IN_A_FRAME)
    return Sample(told["header"], told["plan"], node, told["found"])


def watched(
    page: Page, n_moments: int, rng: random.Random, nodes: tuple[str | None, ...] = (None,)
) -> list[Sample]:
    """The page at random moments while it is LIVE; what is pinned changes now and then."""
    samples: list[Sample] = []
    node = None
    for moment in range(n_moments):
        if moment % 7 == 6:
            node = rng.choice(nodes)
            page.evaluate("(node) => window.planwatch.go({ node })", node)
            until(page, _SETTLED)
        page.wait_for_timeout(rng.uniform(20, 1500))  # sleeps: to a moment of no kind
        samples.append(read(page, node))
    return samples


def mismatches(samples: list[Sample], page: Page) -> list[Mismatch]:
    """What the samples say that the page of the batch does not. page: of the run, in REPLAY."""
    wanted: defaultdict[tuple[int, str | None], list[Sample]] = defaultdict(list)
    for sample in samples:
        claimed = {batch for texts in sample.numbers.values() for _, batch in texts}
        for batch in claimed:
            wanted[batch, sample.node].append(sample)
    wrong: list[Mismatch] = []
    for (batch, node), own in sorted(wanted.items(), key=lambda one: (one[0][1] or "", one[0][0])):
        truth = _replayed(page, batch, node)
        missed = [miss for sample in own for miss in _compared(sample, batch, truth)]
        while missed and (settled := _settled(page, node)) != truth:
            truth = settled
            missed = [miss for sample in own for miss in _compared(sample, batch, truth)]
        wrong += missed
    return wrong


def _replayed(page: Page, batch: int, node: str | None) -> Numbers:
    page.evaluate("([at, node]) => window.planwatch.go({ at, node })", [batch, node])
    until(page, f"{_STRIP} === '{batch}' && {_SETTLED}")
    return _settled(page, node)


def _settled(page: Page, node: str | None) -> Numbers:
    """What a page says once nothing is on its way to it; a panel that was just shown may not have
    asked for its records yet, so that a page that seems wrong is read again."""
    page.wait_for_timeout(60)  # sleeps: asked again
    until(page, _SETTLED)
    return read(page, node).numbers


def _compared(sample: Sample, batch: int, truth: Numbers) -> Iterator[Mismatch]:
    for place, texts in sample.numbers.items():
        there = [text for text, _ in truth.get(place, [])]
        for number, (text, claims) in enumerate(texts):
            if claims != batch:
                continue
            said = there[number] if number < len(there) else "(nothing)"
            if said != text:
                yield Mismatch(place, sample.header, claims, text, said)


@contextmanager
def stepping(step: Callable[[], object], period_s: float) -> Iterator[None]:
    """Batches in the background, some quickly after each other, some late."""
    stop, rng = threading.Event(), random.Random(5)

    def work() -> None:
        while not stop.wait(rng.choice((0.05, 1.0, 1.0, 3.0)) * period_s):
            step()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=30)
