"""CSV files as tuples: RFC 4180, record by record, in the file's order; nothing is guessed.

Records whose quotes and number of fields are right are found by one regular expression, block by
block, and split by Arrow; every other record is a misfit by itself. A quote that is never closed
costs its own line, not the rest of the file. Time grows with the size of the file, whatever it
holds: a pattern is tried at places where a line or a field begins, and nowhere twice.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from backend.model.schema import Attribute, Schema, folded
from backend.workloads.blocks import Blocks, Content
from backend.workloads.contract import (
    MisfitError,
    Missed,
    interleaved,
    no_value,
    settled,
    shortened,
)
from backend.workloads.text_values import read_texts, valid_texts

#: Read at once.
BLOCK_BYTES: Final = 4 << 20
#: A line ends within so many bytes, or what follows is not read; and so does a record of several
#: lines, or its first line is a misfit.
LONGEST_RECORD_BYTES: Final = 16 << 20
#: Options that mean here what they mean to Spark's reader.
OPTIONS: Final = frozenset(
    {"header", "sep", "delimiter", "quote", "escape", "nullvalue", "encoding", "charset"}
)
NOT_UTF8: Final = "is not UTF-8"
BAD_QUOTES: Final = "a quote is not closed, or is where none is allowed"
_EOL: Final = rb"(?:\r\n|\n|\r)"
_LINE: Final = re.compile(rb"([^\r\n]*+)" + _EOL)
_BREAK: Final = re.compile(rb"[\r\n]")
_BLANK: Final = re.compile(_EOL + rb"*+")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """How a file is written. quote: '' where none is. null: text that is NULL where it stands
    without quotes."""

    has_header: bool = False
    separator: str = ","
    quote: str = '"'
    null: str = ""
    encoding: str = "utf-8"

    @classmethod
    def of(cls, options: Mapping[str, str]) -> CsvLayout | None:
        """What the options of a source say; None for files that are written in another way."""
        settings = {key.lower(): value for key, value in options.items()}
        separator = settings.get("sep", settings.get("delimiter", ",")).replace("\\t", "\t")
        quote = settings.get("quote", '"')
        marks = {separator, *quote}
        is_known = settings.get("escape", quote) == quote and len(separator) == 1 >= len(quote)
        if not is_known or len(marks) != 1 + len(quote) or not all(_is_mark(m) for m in marks):
            return None
        encoding = settings.get("encoding", settings.get("charset", "utf-8")).lower()
        encoding = "utf-8" if encoding == "utf8" else encoding
        is_titled = settings.get("header", "").lower() == "true"
        return cls(is_titled, separator, quote, settings.get("nullvalue", ""), encoding)


def _is_mark(character: str) -> bool:
    return character.isascii() and character not in "\r\n"


def read_csv(
    path: Path,
    schema: Schema,
    layout: CsvLayout,
    path_values: Mapping[str, str | None],
    content: Content | None = None,
) -> Iterator[pa.Table]:
    """The tuples of a file, as tables of ``told_schema``. path_values: what the path says, by
    attribute; content: comes to know the bytes. Raises MisfitError for a header that lacks an
    attribute; OSError and ArrowInvalid."""
    with Blocks(path, layout.encoding, content) as stream:
        data = _first_block(stream)
        own = [a for a in schema.attributes if a.name not in path_values]
        columns = {attribute.name: place for place, attribute in enumerate(own)}
        n_fields, n_lines = len(own), 0
        if layout.has_header:
            header, size = _header(data, layout)
            if header is None:
                return
            columns, n_fields = _columns(header, own), len(header)
            path_values = {a.name: None for a in own if a.name not in columns} | {**path_values}
            n_lines, data = _n_lines(data[:size]), data[size:]
        records = _Records(schema, layout, columns, n_fields, path_values)
        is_over = False
        while True:
            split = records.split(data, is_over)
            yield records.table(split)
            n_lines, data = n_lines + _n_lines(data[: split.size]), data[split.size :]
            if split.is_too_long:
                raise MisfitError(_too_long(n_lines + 1))
            if is_over:
                return
            chunk = stream.read(BLOCK_BYTES)  # what came before was told: the file may break off
            is_over = not chunk
            data += chunk
            if is_over and data and not data.endswith((b"\n", b"\r")):
                data += b"\n"


def header_of(path: Path, layout: CsvLayout) -> list[str] | None:
    """The fields of a file's first record; None when it has none. Raises MisfitError, OSError,
    ArrowInvalid."""
    with Blocks(path, layout.encoding) as stream:
        return _header(_first_block(stream), layout)[0]


def _first_block(stream: Blocks) -> bytes:
    """At least the first line, without a mark of the byte order."""
    data: bytes = stream.read(BLOCK_BYTES)
    chunk = data
    while chunk and len(data) < LONGEST_RECORD_BYTES and not _BREAK.search(chunk):
        chunk = stream.read(BLOCK_BYTES)
        data += chunk
    return data.removeprefix(_BOM)


def _header(data: bytes, layout: CsvLayout) -> tuple[list[str] | None, int]:
    """The fields of the first record, and the bytes to its end."""
    start = _end(_BLANK.match(data))
    if start == len(data):
        return None, start
    if len(data) >= LONGEST_RECORD_BYTES and not _BREAK.search(data, start):
        raise MisfitError(_too_long(_n_lines(data) + 1))
    match = re.compile(_record(layout, b"*+")).match(data + b"\n", start)
    if match is None:
        raise MisfitError(f"its header is no record: {BAD_QUOTES}")
    return [name.strip() for name in _fields(match[0], layout)], min(match.end(), len(data))


def _fields(record: bytes, layout: CsvLayout) -> list[str]:
    """The fields of a record whose quotes are right."""
    separator, quote = re.escape(layout.separator.encode()), layout.quote
    ends = re.compile(rb"(%b)(?:%b|%b)" % (_field(layout), separator, _EOL))
    texts = [_text(match[1]) for match in ends.finditer(record)]
    if not quote:
        return texts
    return [t[1:-1].replace(quote * 2, quote) if t.startswith(quote) else t for t in texts]


def _columns(header: Sequence[str], attributes: Sequence[Attribute]) -> dict[str, int]:
    """Attribute -> place in a record, of those there are; at least one. Raises MisfitError."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(header):
        places.setdefault(folded(name), []).append(place)
    is_there = [folded(attribute.name) in places for attribute in attributes]
    columns = {}
    for attribute in attributes:
        at = places.get(folded(attribute.name), [])
        if attribute.optional and not at and any(is_there):
            continue
        if len(at) != 1:
            problem = "has more than one column" if at else "has no column"
            reads = shortened(", ".join(header))
            raise MisfitError(f"its header {problem} {attribute.name!r}; it reads {reads}")
        columns[attribute.name] = at[0]
    return columns


def _end(match: re.Match[bytes] | None) -> int:
    return 0 if match is None else match.end()


def _n_lines(data: bytes) -> int:
    """How many line ends there are."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def _too_long(line: int) -> str:
    return f"line {line} is longer than {LONGEST_RECORD_BYTES >> 20} MiB"


def _text(data: bytes) -> str:
    return data.rstrip(b"\r\n").decode("utf-8", "backslashreplace")


def _field(layout: CsvLayout) -> bytes:
    separator = re.escape(layout.separator.encode())
    if not layout.quote:
        return rb"[^" + separator + rb"\r\n]*+"
    quote = re.escape(layout.quote.encode())
    quoted = rb"%b(?:[^%b]++|%b%b)*+%b" % ((quote,) * 5)
    return rb"(?:%b|[^%b%b\r\n][^%b\r\n]*+|)" % (quoted, quote, separator, separator)


def _record(layout: CsvLayout, repeats: bytes) -> bytes:
    field_pattern, separator = _field(layout), re.escape(layout.separator.encode())
    return rb"(?!%b)%b(?:%b%b)%b%b" % (_EOL, field_pattern, separator, field_pattern, repeats, _EOL)


@dataclass(slots=True)
class _Split:
    """A block in records. good: spans of those that can be read; bad: after how many spans, text
    and reason. size: bytes up to the first that is not known to be whole. is_too_long: there a line
    begins that is too long to be read."""

    data: bytes
    good: list[tuple[int, int]] = field(default_factory=list)
    bad: list[tuple[int, str, str]] = field(default_factory=list)
    size: int = 0
    is_too_long: bool = False


class _Records:
    """The records of one file. columns: attribute -> place in a record of n_fields."""

    def __init__(
        self,
        schema: Schema,
        layout: CsvLayout,
        columns: Mapping[str, int],
        n_fields: int,
        path_values: Mapping[str, str | None],
    ) -> None:
        self._schema, self._columns, self._told = schema, columns, path_values
        self._n_fields, self._layout = n_fields, layout
        record_pattern = _record(layout, b"{%d}" % (n_fields - 1))
        self._one = re.compile(record_pattern)
        self._many = re.compile(rb"(?:%b|%b)*+" % (_EOL, record_pattern))
        self._separator = layout.separator.encode()
        separator = re.escape(self._separator)
        self._piece = re.compile(rb"%b(%b|%b)" % (_field(layout), separator, _EOL))

    def split(self, data: bytes, is_over: bool) -> _Split:
        """The records of a block. is_over: nothing follows it."""
        split, place, failed = _Split(data), 0, array("q")
        while place < len(data):
            end = _end(self._many.match(data, place))
            if end > place:
                split.good.append((place, end))
                place = end
                continue
            ragged = self._ragged(data, place, failed)
            if ragged is None and not is_over and len(data) - place < LONGEST_RECORD_BYTES:
                break
            end, reason = ragged or (_end(_LINE.match(data, place)), BAD_QUOTES)
            if not end:
                split.is_too_long = True
                break
            split.bad.append((len(split.good), _text(data[place:end]), reason))
            place = end
        split.size = place
        return split

    def _ragged(self, data: bytes, place: int, failed: array[int]) -> tuple[int, str] | None:
        """Where the record at a place ends, and what is wrong with its number of fields; None where
        its quotes are wrong.

        failed: places of fields from which no record ends, the next one last; they are added to.
        Who comes to one of them fails as well: lines share the field they fail in, and it is looked
        at once.
        """
        places = array("q")
        while True:
            while failed and failed[-1] < place:
                failed.pop()
            piece = None
            if not failed or failed[-1] != place:
                places.append(place)
                piece = self._piece.match(data, place)
            if piece is None:
                failed.extend(reversed(places))
                return None
            place = piece.end()
            if piece[1] != self._separator:
                n = len(places)
                return place, f"{n} field{'s' * (n != 1)} where {self._n_fields} are due"

    def table(self, split: _Split) -> pa.Table:
        """What a block holds, in its order."""
        data = split.data
        good = b"".join(data[start:end] for start, end in split.good)
        tuples = self._read(good)
        if not split.bad:
            return tuples
        sizes = [sum(1 for _ in self._one.finditer(data, *span)) for span in split.good]
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        bad = [(int(ends[n]), raw, reason) for n, raw, reason in split.bad]
        return interleaved(tuples, self._schema, bad)

    def _read(self, good: bytes) -> pa.Table:
        """Records whose quotes and number of fields are right."""
        split = self._columns_of(good)
        columns: list[pa.Array[Any]] = []
        misses: list[Missed] = []
        for attribute in self._schema.attributes:
            if attribute.name in self._told:
                value = self._told[attribute.name]
                texts: pa.Array[Any] = pa.array([value] * len(split), pa.string())
            else:
                place = f"f{self._columns[attribute.name]}"
                texts, not_utf8 = valid_texts(split.column(place).combine_chunks())
                misses.append((not_utf8, f"{attribute.name} {NOT_UTF8}"))
            column, bad = read_texts(texts, attribute.type)
            columns.append(column)
            misses.append((bad, no_value(attribute.name, attribute.type)))

        def raws(places: NDArray[np.int64]) -> list[str]:
            records = [record[0] for record in self._one.finditer(good)]
            return [_text(records[place]) for place in places]

        return settled(self._schema, columns, misses, raws)

    def _columns_of(self, good: bytes) -> pa.Table:
        """The fields that attributes are read from, as bytes; NULL where nothing is written."""
        names = [f"f{place}" for place in range(self._n_fields)]
        wanted = dict.fromkeys(names[place] for place in self._columns.values())
        target = {name: pa.binary() for name in wanted}
        if not good.strip(b"\r\n"):
            return pa.schema(target.items()).empty_table()
        quote = self._layout.quote or False
        return pyarrow.csv.read_csv(
            pa.BufferReader(good),
            pyarrow.csv.ReadOptions(
                use_threads=False, block_size=len(good) + 1, column_names=names
            ),
            pyarrow.csv.ParseOptions(
                delimiter=self._layout.separator, quote_char=quote, newlines_in_values=True
            ),
            pyarrow.csv.ConvertOptions(
                check_utf8=False,
                column_types=target,
                include_columns=list(wanted),
                null_values=list({"", self._layout.null}),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
