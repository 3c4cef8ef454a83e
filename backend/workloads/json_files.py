"""JSON files as tuples: an object a line, in the file's order. A key that is absent is NULL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from backend.model.schema import FLOAT_TYPES, Schema, folded
from backend.workloads.blocks import Blocks, Content
from backend.workloads.contract import MisfitError, fit_tuple, interleaved, no_value, told_schema
from backend.workloads.text_values import read_number, read_text

BLOCK_BYTES: Final = 1 << 20
LONGEST_LINE_BYTES: Final = 16 << 20
NOT_UTF8: Final = "the line is not UTF-8"
NO_OBJECT: Final = "the line is no JSON object"
KEY_TWICE: Final = "a key appears twice"
NO_KEY: Final = "it has none of the attributes"
#: JSON has no numbers for these; they come as strings, where they come.
_NOT_FINITE: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_BOM: Final = b"\xef\xbb\xbf"


def read_json(
    path: Path,
    schema: Schema,
    path_values: Mapping[str, str | None],
    content: Content | None = None,
) -> Iterator[pa.Table]:
    """The tuples of a file, as tables of ``told_schema``. path_values: attributes whose values
    the path says; content: comes to know the bytes. Raises MisfitError when the path says none;
    OSError, ArrowInvalid."""
    reader = _Reader(schema, path_values)
    with Blocks(path, content=content) as stream:
        rest, chunk = b"", stream.read(BLOCK_BYTES).removeprefix(_BOM)
        n_lines = 0
        while chunk:
            *lines, rest = (rest + chunk).splitlines(keepends=True)
            if rest.endswith(b"\n"):
                lines, rest = [*lines, rest], b""
            yield reader.table(lines)
            n_lines += len(lines)
            if len(rest) > LONGEST_LINE_BYTES:
                limit = f"{LONGEST_LINE_BYTES >> 20} MiB"
                raise MisfitError(f"line {n_lines + 1} is longer than {limit}")
            chunk = stream.read(BLOCK_BYTES)
        yield reader.table([rest])


class _Reader:
    """Lines of one file as tuples."""

    def __init__(self, schema: Schema, path_values: Mapping[str, str | None]) -> None:
        self._schema = schema
        self._keys = [folded(attribute.name) for attribute in schema.attributes]
        self._floats = {folded(a.name) for a in schema.attributes if a.type in FLOAT_TYPES}
        self._told = {}
        for name, text in path_values.items():
            attribute = schema.find(name)
            assert attribute is not None
            try:
                value = None if text is None else read_text(text, attribute.type)
            except ValueError:
                raise MisfitError(f"in its path, {no_value(name, attribute.type)}") from None
            self._told[folded(name)] = value

    def table(self, lines: Sequence[bytes]) -> pa.Table:
        """Lines as a table of ``told_schema``; blank ones are passed over."""
        fitting: list[list[Any]] = []
        bad: list[tuple[int, str, str]] = []
        for line in lines:
            if line.isspace() or not line:
                continue
            try:
                fitting.append(self._tuple(line))
            except MisfitError as error:
                raw = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
                bad.append((len(fitting), raw, str(error)))
        return interleaved(_fitted(self._schema, fitting), self._schema, bad)

    def _tuple(self, line: bytes) -> list[Any]:
        json_object = _object_of(line)
        values = {folded(key): value for key, value in json_object.items()}
        if len(values) < len(json_object):
            raise MisfitError(KEY_TWICE)
        if not any(key in values for key in self._keys):
            raise MisfitError(NO_KEY)
        values |= self._told
        for key in self._floats & values.keys():
            if isinstance(values[key], str) and values[key] in _NOT_FINITE:
                values[key] = float(values[key])
        return fit_tuple([_not_empty(values.get(key)) for key in self._keys], self._schema)


def _object_of(line: bytes) -> dict[str, Any]:
    try:
        text = line.decode()
        json_object = json.loads(
            text, parse_float=read_number, parse_constant=_constant, object_pairs_hook=_object
        )
    except UnicodeDecodeError:
        raise MisfitError(NOT_UTF8) from None
    except MisfitError:
        raise
    except (ValueError, RecursionError):  # no JSON; a number of thousands of digits; too deep
        raise MisfitError(NO_OBJECT) from None
    if not isinstance(json_object, dict):
        raise MisfitError(NO_OBJECT)
    return json_object


def _constant(text: str) -> Any:
    raise MisfitError(f"{text} is no JSON; a number that is none is written as a string")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    json_object = dict(pairs)
    if len(json_object) < len(pairs):
        raise MisfitError(KEY_TWICE)
    return json_object


def _not_empty(value: Any) -> Any:
    """An empty object is no NULL here, as it is in workload files."""
    return [value] if value == {} else value


def _fitted(schema: Schema, rows: Sequence[Sequence[Any]]) -> pa.Table:
    target = told_schema(schema)
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(schema.names)
    nothing = [[None] * len(rows)] * 2
    arrays = [pa.array(c, f.type) for c, f in zip([*columns, *nothing], target, strict=True)]
    return pa.Table.from_arrays(arrays, schema=target)
