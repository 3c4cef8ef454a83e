"""Expensive filters, ready to be asked about many tuples at once. No pyspark here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.conditions import Fixed, FunctionPredicate, Reference, WindowMember
from backend.model.filters import DROPPED, PASSED, Filter
from backend.model.functions import Function, Functions
from backend.workloads.relations import SlidingRelation, WindowIndex

#: The filter raised an exception for the tuple.
ERROR: Final = 2
ARRIVAL: Final = "_arrival"
#: Error texts are cut to so many characters.
_TEXT: Final = 500

Rows = NDArray[np.intp]


@dataclass
class Verdicts:
    """values: int8[k], PASSED, DROPPED or ERROR by tuple; errors: place among them -> text."""

    values: NDArray[np.int8]
    errors: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Raised:
    """A tuple of a call that failed as a whole, to be asked about again by itself."""

    evaluator: CallEvaluator
    values: tuple[Any, ...]

    def again(self) -> Any:
        return self.evaluator.one(self.values)


class Evaluator(Protocol):
    """One filter. prepare: called with the tuples to be asked about next, before it is timed."""

    def prepare(self, batch: pa.RecordBatch) -> None: ...

    def evaluate(self, batch: pa.RecordBatch, rows: Rows) -> Verdicts: ...


@dataclass
class CallEvaluator:
    """A registered function. arguments: attribute names, or None where ``fixed`` has the value.

    Tuples with NULL in an attribute are dropped unasked: the answer is unknown.
    """

    function: Callable[..., Any]
    whole_columns: bool
    arguments: tuple[str | None, ...]
    fixed: tuple[Any, ...]
    negated: bool

    def prepare(self, batch: pa.RecordBatch) -> None:
        """Nothing."""

    def evaluate(self, batch: pa.RecordBatch, rows: Rows) -> Verdicts:
        columns = {a: batch.column(a).take(rows) for a in self.arguments if a is not None}
        known = np.ones(len(rows), dtype=np.bool_)
        for column in columns.values():
            if column.null_count:
                known &= np.array(column.is_valid(), dtype=np.bool_)
        verdicts = Verdicts(np.full(len(rows), DROPPED, dtype=np.int8))
        places = np.flatnonzero(known)
        if len(places) < len(rows):
            columns = {a: column.filter(pa.array(known)) for a, column in columns.items()}
        if len(places):
            self._ask(columns, places, verdicts)
        return verdicts

    def _ask(self, columns: Mapping[str, pa.Array[Any]], places: Rows, verdicts: Verdicts) -> None:
        """Fill in the verdicts of the tuples at ``places``, whose values the columns hold."""
        n = len(places)
        try:
            answers = self.answers(columns, n)
        except Exception:
            answers = (_Raised(self, values) for values in self._tuples(columns, n))
        if isinstance(answers, np.ndarray):
            verdicts.values[places] = np.where(answers != self.negated, PASSED, DROPPED)
            return
        for place, answer in zip(places.tolist(), answers, strict=True):
            self._settle(place, answer, verdicts)

    def answers(
        self, columns: Mapping[str, pa.Array[Any]], n: int
    ) -> NDArray[np.bool_] | Iterable[Any]:
        """bool[n]; or the answers one by one, when some is neither true nor false. Raises what the
        function does. columns: values of n tuples by name of the argument, none of them NULL."""
        if self.whole_columns:
            given = self._given({a: column.to_numpy(False) for a, column in columns.items()})
            whole = np.asarray(self.function(*given))
            if whole.shape != (n,):
                raise TypeError(f"it returned an array of shape {whole.shape}, expected ({n},)")
            return whole if whole.dtype == np.bool_ else whole.tolist()
        answers = [self.function(*values) for values in self._tuples(columns, n)]
        asked = np.array(answers)
        return asked if asked.dtype == np.bool_ and asked.shape == (n,) else answers

    def _settle(self, place: int, answer: Any, verdicts: Verdicts) -> None:
        try:
            returned = answer.again() if isinstance(answer, _Raised) else answer
            if returned is not None and not isinstance(returned, bool | np.bool_):
                raise TypeError(f"it returned {returned!r}; expected True, False or None")
        except Exception as error:
            text = f"{type(error).__name__}: {error}"[:_TEXT]
            verdicts.values[place], verdicts.errors[place] = ERROR, text
            return
        if returned is not None:
            verdicts.values[place] = PASSED if returned != self.negated else DROPPED

    def one(self, values: tuple[Any, ...]) -> Any:
        """The answer for one tuple. Raises what the function does."""
        if not self.whole_columns:
            return self.function(*values)
        named = zip(self.arguments, values, strict=True)
        whole = np.asarray(self.function(*(v if a is None else np.array([v]) for a, v in named)))
        return whole[0] if whole.shape == (1,) else whole

    def _tuples(self, columns: Mapping[str, pa.Array[Any]], n: int) -> Iterator[tuple[Any, ...]]:
        if not columns:
            return iter([self.fixed] * n)
        lists = {a: column.to_pylist() for a, column in columns.items()}
        pairs = zip(self.arguments, self.fixed, strict=True)
        return zip(*(repeat(v) if a is None else lists[a] for a, v in pairs), strict=False)

    def _given(self, arrays: Mapping[str, Any]) -> tuple[Any, ...]:
        pairs = zip(self.arguments, self.fixed, strict=True)
        return tuple(v if a is None else arrays[a] for a, v in pairs)


@dataclass
class WindowEvaluator:
    """Membership in a sliding window of another stream, by arrival number."""

    relation: SlidingRelation
    attribute: str
    negated: bool
    index: WindowIndex | None = None
    covered: tuple[int, int] = (0, -1)

    def prepare(self, batch: pa.RecordBatch) -> None:
        """Index the part of the other stream this batch can look into, unless that is indexed."""
        arrivals = np.array(batch.column(ARRIVAL), dtype=np.int64)
        if not len(arrivals):
            return
        first, last = int(arrivals.min()), int(arrivals.max())
        if self.index is None or first < self.covered[0] or last > self.covered[1]:
            self.index, self.covered = self.relation.over(first, last), (first, last)

    def evaluate(self, batch: pa.RecordBatch, rows: Rows) -> Verdicts:
        assert self.index is not None
        values = batch.column(self.attribute).take(rows).to_pylist()
        arrivals = np.array(batch.column(ARRIVAL), dtype=np.int64)[rows]
        inside = self.index.contains_all(values, arrivals)
        known = np.array([value is not None for value in values], dtype=np.bool_)
        passes = known & (inside != self.negated)
        return Verdicts(np.where(passes, PASSED, DROPPED).astype(np.int8))


def make_evaluator(
    filter_: Filter, functions: Functions, relations: Mapping[WindowMember, SlidingRelation]
) -> Evaluator:
    """The evaluator of a filter that is not native. Raises KeyError for what is not registered."""
    condition = filter_.condition
    if isinstance(condition, WindowMember):
        relation = relations[condition]
        return WindowEvaluator(relation, condition.attribute, condition.negated)
    assert isinstance(condition, FunctionPredicate)
    function: Function = functions.functions[condition.function]
    named: list[str | None] = []
    fixed: list[Any] = []
    for argument in condition.arguments:
        named.append(argument.attribute if isinstance(argument, Reference) else None)
        if isinstance(argument, Reference):
            fixed.append(None)
        elif isinstance(argument, Fixed):
            fixed.append(argument.value)
        else:
            fixed.append(functions.tables[argument.table])
    return CallEvaluator(
        function.call, function.whole_columns, tuple(named), tuple(fixed), condition.negated
    )
