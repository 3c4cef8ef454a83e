"""The answer of a query in a batch and shard, on its way into the sink.

What a join comes to in a batch may be a thousand times what came in, so nothing waits for the end
of the batch: ticks that are over are netted, told and written as soon as enough elements wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import FOREVER, Block, concat
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import (
    MOST_CHANGED,
    AnswerElement,
    Changed,
    NetworkReport,
)
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.tuning import ApproximateProfile
from backend.operators.network.expressions.arrow import (
    answer_batch,
    answer_schema,
    with_accuracy,
)
from backend.operators.network.shards.shard_reports import RECENT_ELEMENTS
from backend.operators.parts import ROWS_TOGETHER, Parts
from backend.operators.values import plain, python_values
from storage.vocabulary.records import Json

#: Takes the next elements of an answer: whole ticks, in order.
Give: TypeAlias = Callable[[Block], None]
#: The net changes of whole ticks.
Net: TypeAlias = Callable[[Block], Block]
#: Elements whose changes are added up at once, at least.
_TOGETHER: Final = 1024
#: Opens a query's part of the sink.
MakeParts: TypeAlias = Callable[[str, pa.Schema], Parts]


class Answer:
    """Nets what comes, unless it is net, and hands it on. recent: how many of the last elements are
    kept, in ``last``; n: elements; net: those with sign + less those with sign -; of_batch: nets
    whatever their ticks, for ``changed``, what a batch comes to, None = more than is told."""

    def __init__(
        self, give: Give, net: Net | None, recent: int, of_batch: Net | None = None
    ) -> None:
        self._give, self._net, self._recent, self._of_batch = give, net, recent, of_batch
        self.changed: list[Block] | None = None if of_batch is None else []
        self._waiting: list[Block] = []
        self._n_waiting, self._enough = 0, ROWS_TOGETHER
        self.n = self.net = 0
        self.last: Block | None = None

    def take(self, block: Block, heartbeat: int) -> None:
        """The next elements; those after them have no smaller τ than the heartbeat."""
        self._waiting.append(block)
        self._n_waiting += len(block)
        if self._n_waiting >= self._enough:
            self._hand_on(heartbeat)

    def end(self) -> None:
        """The batch is over."""
        if self._waiting:
            self._hand_on(FOREVER)

    def _hand_on(self, heartbeat: int) -> None:
        """The ticks that are over; a tick that is not waits until there is twice as much."""
        waiting, self._waiting = concat(self._waiting), []
        n_over = int(np.searchsorted(waiting.tau, heartbeat))
        for part in parts(waiting.take(slice(n_over)), ROWS_TOGETHER):
            self._told(part if self._net is None else self._net(part))
        self._n_waiting = len(waiting) - n_over
        self._enough = max(ROWS_TOGETHER, 2 * self._n_waiting)
        if self._n_waiting:
            self._waiting = [
                waiting.take(np.arange(n_over, len(waiting)))
            ]  # no view: the rest goes

    def _told(self, block: Block) -> None:
        if not len(block):
            return
        self._give(block)
        self.n += len(block)
        self.net += int(block.sign.sum())
        self._add_up(block)
        held = [] if self.last is None else [self.last]
        last = concat([*held, block.take(np.arange(max(0, len(block) - self._recent), len(block)))])
        self.last = last.take(slice(max(0, len(last) - self._recent), None))

    def _add_up(self, block: Block) -> None:
        """Tick by tick: a relation that is larger in between than is told is not told at all."""
        of_batch = self._of_batch
        if of_batch is None:
            return
        for part in parts(block, _TOGETHER):
            if self.changed is None:
                return
            net = of_batch(concat([*self.changed, part]))
            self.changed = [net] if len(net) <= MOST_CHANGED else None


def parts(block: Block, least: int) -> Iterator[Block]:
    """Whole ticks, at least so many elements together; the last part may have fewer."""
    begin, n = 0, len(block)
    while begin < n:
        end = min(begin + least, n)
        end = int(np.searchsorted(block.tau, block.tau[end - 1], side="right"))
        yield block.take(slice(begin, end))
        begin = end


class NetworkAnswers:
    """All answers that are made in a shard, and written as they come.

    nets: of each of these queries what nets whole ticks, None where they are net, and what nets
    those of a batch, None for streams. parts: makes a
    query's part of the sink, with columns; None: nothing is written. waits: it is written once the
    batch is over, with the accuracy of the answer then.
    """

    def __init__(
        self,
        plan: NetworkPlan,
        strings: Strings,
        nets: Mapping[str, tuple[Net | None, Net | None]],
        parts: MakeParts | None,
        waits: bool = False,
    ) -> None:
        self._plan, self._strings, self._make_parts = plan, strings, parts
        self._waiting: dict[str, list[pa.RecordBatch]] | None = {} if waits else None
        self._parts: dict[str, Parts] = {}
        self.answers = {
            query: Answer(partial(self._write, query), net, RECENT_ELEMENTS, of_batch)
            for query, (net, of_batch) in nets.items()
        }

    def _write(self, query: str, block: Block) -> None:
        if self._make_parts is None:
            return
        fields = answer_fields(self._plan, query)
        if query not in self._parts:
            schema = answer_schema(fields)
            schema = schema if self._waiting is None else with_accuracy(schema)
            self._parts[query] = self._make_parts(query, schema)
        elements = answer_batch(block, fields, self._strings)
        if self._waiting is None:
            self._parts[query].add(elements)
        else:
            self._waiting.setdefault(query, []).append(elements)

    def close(self, accuracy: Mapping[str, float | None]) -> dict[str, tuple[str, ...]]:
        """The batch is over: names of the part files in the staging folders, by query. accuracy: of
        answers that wait for it."""
        for answer in self.answers.values():
            answer.end()
        for query, waiting in (self._waiting or {}).items():
            for elements in waiting:
                column = pa.array([accuracy[query]] * len(elements), pa.float64())
                schema = with_accuracy(elements.schema)
                columns = [*elements.columns, column]
                self._parts[query].add(pa.RecordBatch.from_arrays(columns, schema=schema))
        return {query: parts.close() for query, parts in self._parts.items()}

    def recent(self) -> dict[str, tuple[AnswerElement, ...]]:
        """The last elements of each answer that has some."""
        return {
            query: _elements(answer.last, answer_fields(self._plan, query), self._strings)
            for query, answer in self.answers.items()
            if answer.last is not None
        }

    def changed(self) -> dict[str, Changed]:
        """Of each relation the rows that are there more often than before, or less."""
        relations = {q: a for q, a in self.answers.items() if not self._plan.answers[q].is_stream}
        return {query: self._changed(query, a.changed) for query, a in relations.items()}

    def _changed(self, query: str, blocks: Sequence[Block] | None) -> Changed:
        if not blocks:
            return None if blocks is None else ()
        net: Counter[tuple[Json, ...]] = Counter()
        rows = told_rows(blocks[0], answer_fields(self._plan, query), self._strings)
        for row, sign in zip(rows, blocks[0].sign.tolist(), strict=True):
            net[tuple(map(plain, row))] += sign
        return tuple(net.items())


def accuracies(plan: NetworkPlan, report: NetworkReport) -> dict[str, float | None]:
    """Of each answer that of all it is made from in a shard, as if independent; None: not known."""
    by_query: dict[str, float | None] = dict.fromkeys(plan.answers, 1.0)
    readers = plan.readers()
    for id, counts in report.operators.items():
        own = counts.profile.accuracy if isinstance(counts.profile, ApproximateProfile) else 1.0
        for query in readers[id]:
            so_far = by_query[query]
            by_query[query] = None if own is None or so_far is None else so_far * own
    return by_query


def answer_fields(plan: NetworkPlan, query: str) -> tuple[Attribute, ...]:
    """The columns of a query's answer."""
    return plan.operator(plan.answers[query].operator).fields


def told_rows(block: Block, fields: Sequence[Attribute], strings: Strings) -> list[tuple[Any, ...]]:
    """The columns of elements as people are told of them."""
    batch = answer_batch(block, fields, strings)
    columns = [python_values(column) for column in batch.columns[: len(fields)]]
    return list(zip(*columns, strict=True)) if columns else [()] * len(block)


def _elements(
    last: Block, fields: Sequence[Attribute], strings: Strings
) -> tuple[AnswerElement, ...]:
    """Elements of an answer as they are told."""
    names, rows = [field.name for field in fields], told_rows(last, fields, strings)
    return tuple(
        AnswerElement(dict(zip(names, row, strict=True)), tau, sign)
        for row, tau, sign in zip(rows, last.tau.tolist(), last.sign.tolist(), strict=True)
    )
