"""The answer of a query in a batch and shard, on its way into the sink.

What a join comes to in a batch may be a thousand times what came in, so nothing waits for the end
of the batch: ticks that are over are netted, told and written as soon as enough elements wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import FOREVER, Block, concat
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import AnswerElement, NetworkReport
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.tuning import ApproximateProfile
from backend.operators.network.expressions.arrow import (
    answer_batch,
    answer_schema,
    with_accuracy,
)
from backend.operators.network.shards.shard_reports import RECENT_ELEMENTS
from backend.operators.parts import ROWS_TOGETHER, Parts
from backend.operators.values import python_values

#: Takes the next elements of an answer: whole ticks, in order.
Give: TypeAlias = Callable[[Block], None]
#: The net changes of whole ticks.
Net: TypeAlias = Callable[[Block], Block]
#: Opens a query's part of the sink.
MakeParts: TypeAlias = Callable[[str, pa.Schema], Parts]


class Answer:
    """Nets what comes, unless it is net, and hands it on. recent: how many of the last elements are
    kept, in ``last``; n: elements; net: those with sign + less those with sign -."""

    def __init__(self, give: Give, net: Net | None, recent: int) -> None:
        self._give, self._net, self._recent = give, net, recent
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
        held = [] if self.last is None else [self.last]
        last = concat([*held, block.take(np.arange(max(0, len(block) - self._recent), len(block)))])
        self.last = last.take(slice(max(0, len(last) - self._recent), None))


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

    nets: of each of these queries what nets whole ticks, None where they are net. parts: makes a
    query's part of the sink, with columns; None: nothing is written. waits: it is written once the
    batch is over, with the accuracy of the answer then.
    """

    def __init__(
        self,
        plan: NetworkPlan,
        strings: Strings,
        nets: Mapping[str, Net | None],
        parts: MakeParts | None,
        waits: bool = False,
    ) -> None:
        self._plan, self._strings, self._make_parts = plan, strings, parts
        self._waiting: dict[str, list[pa.RecordBatch]] | None = {} if waits else None
        self._parts: dict[str, Parts] = {}
        self.answers = {
            query: Answer(partial(self._write, query), net, RECENT_ELEMENTS)
            for query, net in nets.items()
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


def accuracies(plan: NetworkPlan, report: NetworkReport) -> dict[str, float | None]:
    """Of each answer that of all it is made from in a shard, as if independent; None: not known."""
    told: dict[str, float | None] = dict.fromkeys(plan.answers, 1.0)
    readers = plan.readers()
    for id, counts in report.operators.items():
        own = counts.profile.accuracy if isinstance(counts.profile, ApproximateProfile) else 1.0
        for query in readers[id]:
            so_far = told[query]
            told[query] = None if own is None or so_far is None else so_far * own
    return told


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
