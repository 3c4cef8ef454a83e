"""The bit budget of states: bits in force and by partition, and what is asked; records to rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.views.book import Book
from storage.tables.rows import StoredMatrix
from storage.vocabulary.records import Knob

STATE: Final = "stem"
INDEX: Final = "bit index"
#: Kinds of matrices.
PATTERNS: Final = "access patterns"
PARTITIONS: Final = "bits by partition"

Values = Mapping[str, Mapping[str, float | None]]


class PartitionBits(NamedTuple):
    """A partition. bits: by attribute; migrating: it is still to take on the bits in force."""

    number: str
    bits: tuple[int, ...]
    tuples: int
    migrating: bool


class PatternLine(NamedTuple):
    """An access pattern. share: of the requests; reported: by the last assessment, None = it was
    not; predicted: share that the routes in force lead to. compared, matched: tuples a request;
    buckets: visited a request."""

    pattern: str
    requests: float | None
    share: float | None
    reported: float | None
    predicted: float | None
    compared: float | None
    matched: float | None
    buckets: float | None


class StateBits(NamedTuple):
    """A state. eddy: its operator; input: its name there, by which it is pinned; attributes: by
    which it is joined; bits: in force, by attribute, for partitions that begin; budget: bits it may
    spend, None = not known. partitions: oldest first; patterns: those asked for most first, as of
    batch ``asked``; values: its numbers and those of its index."""

    id: str
    name: str
    eddy: str
    input: str
    attributes: tuple[str, ...]
    bits: tuple[int, ...]
    budget: int | None
    partitions: tuple[PartitionBits, ...]
    patterns: tuple[PatternLine, ...]
    asked: int | None
    values: Mapping[str, float | None]

    @property
    def spent(self) -> int:
        """Bits in force."""
        return sum(self.bits)

    @property
    def migrating(self) -> int:
        """Partitions that are still to take on the bits in force."""
        return sum(partition.migrating for partition in self.partitions)


def build_states(
    book: Book,
    values: Values,
    partitions: Sequence[StoredMatrix],
    patterns: Sequence[StoredMatrix],
    knobs: Mapping[str, Knob],
) -> list[StateBits]:
    """The states of eddies with partitions on record, by eddy and port."""
    held, asked = (_by_state(matrices) for matrices in (partitions, patterns))
    indexes = {_place(entity.properties): entity.id for entity in book.of(INDEX)}
    states = []
    for state in sorted(book.of(STATE), key=lambda entity: _place(entity.properties)):
        if state.id not in held:
            continue
        index = indexes.get(_place(state.properties), "")
        matrix, what = held[state.id].matrix, asked.get(state.id)
        bits = tuple(map(int, matrix.row_stats.get("next", ())))
        states.append(
            StateBits(
                state.id,
                state.name,
                book.name(str(state.properties.get("node", ""))),
                str(state.properties.get("input", state.name)),
                tuple(matrix.columns),
                bits,
                _budget(knobs, bits),
                _partitions(held[state.id]),
                () if what is None else _patterns(what),
                None if what is None else what.batch,
                {**values.get(state.id, {}), **values.get(index, {})},
            )
        )
    return states


def _place(facts: Mapping[str, object]) -> tuple[str, int]:
    return str(facts.get("node", "")), int(str(facts.get("port", 0)))


def _by_state(matrices: Sequence[StoredMatrix]) -> dict[str, StoredMatrix]:
    return {
        str(state): stored
        for stored in matrices
        for state in stored.matrix.row_stats.get("state", ())
    }


def _budget(knobs: Mapping[str, Knob], bits: Sequence[int]) -> int | None:
    knob = knobs.get("index_bits")
    return None if knob is None else max(int(knob.value), sum(bits))


def _partitions(stored: StoredMatrix) -> tuple[PartitionBits, ...]:
    matrix = stored.matrix
    facts = matrix.row_stats
    rows = zip(matrix.rows, matrix.values, facts["tuples"], facts["migrating"], strict=True)
    return tuple(
        PartitionBits(number, tuple(int(n or 0) for n in bits), int(tuples), bool(moves))
        for number, bits, tuples, moves in rows
    )


def _patterns(stored: StoredMatrix) -> tuple[PatternLine, ...]:
    lines = []
    for pattern, row in zip(stored.matrix.rows, stored.matrix.values, strict=True):
        own = dict(zip(stored.matrix.columns, row, strict=True))
        lines.append(PatternLine(pattern, *(own.get(name) for name in PatternLine._fields[1:])))
    return tuple(sorted(lines, key=lambda line: (-(line.requests or 0.0), line.pattern)))
