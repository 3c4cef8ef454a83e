"""The moment a page shows: parsed from the URL, resolved against the store.

The moment store protocol
-------------------------
``ids.MOMENT`` holds ``{"run", "at", "node", "frozen", "show", "unit", "tables", "span",
"batch", "news"}``:

run     run id, or None = the newest running run that has a batch (else the newest that has one)
at      batch pinned in the URL, or None = now
node    pinned entity id, or None
frozen  True when the user froze a running run (then ``at`` is set)
show    what the page is narrowed to (a filter of its own), or None; left behind with the page
unit    unit of the run that the page is about, or None = the first
tables  ids of the sections looked at as tables, comma-separated, or None; left behind with the page
span    the range of batches brushed on the strip ('120-260'), the last minutes ('15m'), or None
batch   newest batch the browser knows of, or None before the first delta: what a LIVE page shows
news    grows with every structural change: plan, decision, event, knob, command, query, run state

modules/moment.js writes the store: at once on navigation and on a new plan, within seconds on other
news, and at most every five seconds while plain numbers flow in LIVE; never while FROZEN. Plain
numbers reach the screen faster by the data-live elements and charts (see
dashboard.components.tiles and .charts). A page callback has ``Input(ids.MOMENT, "data")``, or a key
made of it (dashboard.components.keys), calls :func:`of` and renders from ``(context.run_id,
context.batch)`` alone; so live is replay with the cursor pinned to now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias
from urllib.parse import parse_qs, urlencode

from dashboard.base.opening import default_run
from dashboard.base.prefix import below
from storage.exchange.liveness import LIVE_STATES
from storage.vocabulary.records import Run

Mode: TypeAlias = Literal["live", "frozen", "replay"]


class RunReader(Protocol):
    """The part of the store's reader that finding the moment needs."""

    def runs(self) -> Sequence[Run]:
        """All runs."""

    def run(self, run_id: str) -> Run | None:
        """The run, or None when the store has no such run."""

    def last_batch(self, run_id: str) -> int | None:
        """Newest recorded batch, or None before the first."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What the URL says: which run, which batch (None = now), which node, frozen or not, what the
    page is narrowed to, which unit ('' = the run's first), which sections are looked at as tables
    (their ids), and the range of batches on screen ('' = all)."""

    run: str | None = None
    at: int | None = None
    node: str | None = None
    frozen: bool = False
    show: str | None = None
    unit: str = ""
    tables: tuple[str, ...] = ()
    span: str = ""

    @classmethod
    def from_search(cls, search: str | None) -> Moment:
        """The moment of a query string such as '?run=r1&at=12'; nonsense counts as absent."""
        fields = {key: values[-1] for key, values in parse_qs((search or "").lstrip("?")).items()}
        return cls.from_store({**fields, "frozen": fields.get("frozen") == "1"})

    @classmethod
    def from_store(cls, data: Mapping[str, Any] | None) -> Moment:
        """The moment of the data of ids.MOMENT."""
        fields = data or {}
        at = _whole(fields.get("at"))
        frozen = bool(fields.get("frozen")) and at is not None
        named = [fields.get(name) or None for name in ("run", "node", "show")]
        tables = tuple(filter(None, (fields.get("tables") or "").split(",")))
        return cls(
            run=named[0],
            at=at,
            node=named[1],
            frozen=frozen,
            show=named[2],
            unit=fields.get("unit") or "",
            tables=tables,
            span=fields.get("span") or "",
        )

    def search(self, **changes: Any) -> str:
        """The query string, '?'-prefixed, with some fields changed (at=12, node=None...)."""
        moment = replace(self, **changes)
        fields: dict[str, str] = {}
        if moment.run:
            fields["run"] = moment.run
        if moment.at is not None:
            fields["at"] = str(moment.at)
        if moment.node:
            fields["node"] = moment.node
        if moment.frozen and moment.at is not None:
            fields["frozen"] = "1"
        if moment.show:
            fields["show"] = moment.show
        if moment.unit:
            fields["unit"] = moment.unit
        return "?" + urlencode(fields) if fields else ""


@dataclass(frozen=True, slots=True)
class Context:
    """A moment resolved against the store: what a page renders from.

    batch: show records of batches <= this; None while the run has none. now: newest batch.
    theme: 'light' or 'dark' that figures are drawn for, None = not told.
    """

    moment: Moment
    run: Run | None
    batch: int | None
    now: int | None
    theme: str | None = None

    @property
    def run_id(self) -> str:
        """Id of the run shown; '' when the store has no run."""
        return self.run.id if self.run else ""

    @property
    def running(self) -> bool:
        """Whether the engine of this run still works."""
        return self.run is not None and self.run.state in LIVE_STATES

    @property
    def mode(self) -> Mode:
        """'live' (running, pinned to now), 'frozen' (running, held) or 'replay' (all else)."""
        if not self.running:
            return "replay"
        if self.moment.at is None:
            return "live"
        return "frozen" if self.moment.frozen else "replay"

    @property
    def whole_until(self) -> int | None:
        """The last batch of a history that is shown whole: None = its newest; while frozen, the
        frozen moment."""
        return self.batch if self.mode == "frozen" else None

    @property
    def why_no_control(self) -> str:
        """Why knobs and queries cannot be changed at this moment; '' when they can."""
        if self.run is None:
            return "There is no run to control."
        if not self.running:
            return f"This run is {self.run.state}; its knobs are history."
        if self.mode == "frozen":
            return "Frozen: resume (space) to turn knobs."
        return "" if self.mode == "live" else "Showing the past: jump to now (.) to turn knobs."

    def href(self, path: str, **changes: Any) -> str:
        """Permalink to a page at this moment, with some moment fields changed; '' = this page."""
        kept = {} if path else {"show": self.moment.show}
        page = below(path) if path else ""
        return page + self.moment.search(**{"show": None, **kept, **changes})


def of(reader: RunReader, data: Mapping[str, Any] | None) -> Context:
    """The context of the data of ids.MOMENT. Unknown run ids give a context without a run."""
    return resolve(reader, Moment.from_store(data), _whole((data or {}).get("batch")))


def resolve(reader: RunReader, moment: Moment, newest: int | None = None) -> Context:
    """The moment with its run (the default one when unnamed) and the batch to show.

    newest: the last batch the browser knows of; a LIVE page is of that, so that nothing on it is
    newer than its header.
    """
    run = reader.run(moment.run) if moment.run else _default_run(reader)
    now = reader.last_batch(run.id) if run else None
    lives = run is not None and run.state in LIVE_STATES
    at = moment.at if moment.at is not None or not lives else newest
    batch = now if at is None or now is None else min(at, now)
    return Context(moment, run, batch, now)


def _default_run(reader: RunReader) -> Run | None:
    return default_run(reader.runs(), lambda run_id: reader.last_batch(run_id) is not None)


def _whole(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError):
        return None
    return number if number >= 0 else None
