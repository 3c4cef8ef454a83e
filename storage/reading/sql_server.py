"""One query of people on a store in PostgreSQL: the server says what it reads and calls, and only
what is on a list is run.

A role without rights would not do: what a query calls may take another role, and every role may
end the other sessions of its own. Nor would the text: the same function has many spellings.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from typing import Any, Final

from psycopg import Connection, sql

from storage.reading.plan_log import SpeltTable
from storage.reading.sql_process import Rows, bounded
from storage.tables.schema import METADATA

log = logging.getLogger(__name__)
_PARAMETER: Final = re.compile(r"(?<!:):(\w+)")
#: What a query is analysed as, by the server and without running it; it is rolled back.
_VIEW: Final = "planwatch_question"
_TREE: Final = f"SELECT ev_action FROM pg_rewrite WHERE ev_class = 'pg_temp.{_VIEW}'::regclass"
#: In a tree of PostgreSQL: parts, then who is called, compared by, read, and of which type. Names
#: that a query gives have a backslash before each brace and blank.
_NODE: Final = re.compile(r"(?<!\\)\{(\w+)")
_CALLED: Final = re.compile(r" :(?:\w*funcid|aggfnoid|winfnoid|tsmhandler) (\d+)")
_COMPARED: Final = re.compile(r" :(?:opno|eqop|sortop) (\d+)| :opnos \(o ([\d ]+)\)")
_READ: Final = re.compile(r" :relid (\d+)")
_TYPED: Final = re.compile(r" :\w*type(?:id)? (\d+)")
#: Parts that read and compute; those that lock, write, or take XML apart are not among them.
_PARTS: Final = """
    AGGREF ALIAS ARRAYCOERCEEXPR ARRAYEXPR BOOLEANTEST BOOLEXPR CASEEXPR CASETESTEXPR CASEWHEN
    COALESCEEXPR COERCEVIAIO COLLATEEXPR COMMONTABLEEXPR CONST CTECYCLECLAUSE CTESEARCHCLAUSE
    DISTINCTEXPR FIELDSELECT FROMEXPR FUNCEXPR GROUPINGFUNC GROUPINGSET JOINEXPR MINMAXEXPR
    NAMEDARGEXPR NULLIFEXPR NULLTEST OPEXPR PARAM QUERY RANGETBLENTRY RANGETBLFUNCTION RANGETBLREF
    RELABELTYPE ROWCOMPAREEXPR ROWEXPR RTEPERMISSIONINFO SCALARARRAYOPEXPR SETOPERATIONSTMT
    SORTGROUPCLAUSE SQLVALUEFUNCTION SUBLINK SUBSCRIPTINGREF TABLESAMPLECLAUSE TARGETENTRY VAR
    WINDOWCLAUSE WINDOWFUNC
    """
#: Functions that may be called although the same arguments may give another answer.
_ALSO: Final = """
    age array_to_json array_to_string bernoulli clock_timestamp concat concat_ws convert_from
    convert_to date date_part date_trunc extract format generate_series json_agg json_build_array
    json_build_object json_object_agg json_to_record json_to_recordset jsonb_agg jsonb_build_array
    jsonb_build_object jsonb_object_agg jsonb_to_record jsonb_to_recordset length make_timestamptz
    now overlaps quote_literal quote_nullable random row_to_json statement_timestamp system time
    timestamp timestamptz timetz timezone to_char to_date to_json to_jsonb to_number to_timestamp
    transaction_timestamp
    """
#: The first of each that is not allowed: functions act or read, unless PostgreSQL's own and bound
#: to give the same for the same; names of the catalog and XML are types that read.
_REFUSED: Final = (
    """
    SELECT 'the function ' || proname FROM pg_proc WHERE oid = ANY(%(called)s) AND NOT (
      pronamespace = 'pg_catalog'::regnamespace AND proname !~ '^xml' AND (
        provolatile = 'i' OR proname = ANY(%(also)s)
        OR oid IN (SELECT oprcode FROM pg_operator WHERE oprnamespace = pronamespace)))
    """,
    """
    SELECT 'the operator ' || oprname FROM pg_operator WHERE oid = ANY(%(compared)s)
      AND oprnamespace <> 'pg_catalog'::regnamespace
    """,
    """
    SELECT 'the table ' || relname FROM pg_class WHERE oid = ANY(%(read)s)
      AND oid <> ALL(SELECT to_regclass(name) FROM unnest(%(tables)s::text[]) AS name
                     WHERE to_regclass(name) IS NOT NULL)
      AND oid <> 'pg_temp.planwatch_question'::regclass
    """,
    """
    SELECT 'the type ' || typname FROM pg_type WHERE oid = ANY(%(typed)s)
      AND typnamespace = 'pg_catalog'::regnamespace AND typname ~ '^_?(reg|xml)'
    """,
)


class NotAllowed(Exception):
    """A query that would do more than read the store; the message names what it would use."""


def ask(
    connection: Connection[Any],
    text: str,
    given: Mapping[str, Any],
    time_s: float,
    most_rows: int,
    most_bytes: int,
    spelt: Sequence[SpeltTable] = (),
) -> Rows:
    """Columns, rows, and whether there are more; given: values of :name in the text. spelt: tables
    that are made for this query.

    Raises NotAllowed, and the errors of psycopg.
    """
    _warn_of_rights(connection)
    bare = text.strip().rstrip(";")
    values = {name: sql.Literal(value).as_string(connection) for name, value in given.items()}
    asked = _PARAMETER.sub(lambda match: values.get(match[1], match[0]), bare)
    _begin(connection, time_s, read_only=False)
    for table in spelt:
        _make(connection, table)
    if spelt:
        connection.commit()
        _begin(connection, time_s, read_only=False)
    try:
        _check(connection, asked, [table.name for table in spelt])
    finally:
        connection.rollback()
    _begin(connection, time_s, read_only=True)
    with connection.cursor() as cursor:
        rows = cursor.stream(f"SELECT * FROM (\n{asked}\n) AS asked LIMIT {most_rows + 1}")
        first = list(islice(rows, 1))
        columns = [column.name for column in cursor.description or ()]
        return bounded(columns, chain(first, rows), most_rows, most_bytes)


def _make(connection: Connection[Any], table: SpeltTable) -> None:
    """A table that goes with the connection."""
    typed = ", ".join(f'"{name}" {kind}' for name, kind in table.columns)
    connection.execute(f'CREATE TEMP TABLE "{table.name}" ({typed})')
    marks = ", ".join("%s" for _ in table.columns)
    with connection.cursor() as cursor:
        cursor.executemany(f'INSERT INTO "{table.name}" VALUES ({marks})', table.rows)


def _begin(connection: Connection[Any], time_s: float, *, read_only: bool) -> None:
    connection.rollback()
    connection.read_only = read_only
    connection.execute(f"SET LOCAL statement_timeout = {round(1000 * time_s)}")


def _check(connection: Connection[Any], asked: str, spelt: Iterable[str]) -> None:
    """Raise NotAllowed unless all that the query reads, calls and compares by is on a list."""
    view = f"CREATE TEMP VIEW {_VIEW} AS SELECT 1 FROM (\n{asked}\n) AS asked"
    connection.execute(view, prepare=True)  # then it can be nothing but one statement
    (tree,) = connection.execute(_TREE).fetchone() or ("",)
    parts = set(_NODE.findall(tree)) - set(_PARTS.split())
    if parts or not tree:
        raise NotAllowed(f"{min(parts, default='what cannot be looked at').lower()} of PostgreSQL")
    compared = (f"{operator} {operators}" for operator, operators in _COMPARED.findall(tree))
    values = {
        "called": _oids(_CALLED.findall(tree)),
        "compared": _oids(" ".join(compared).split()),
        "read": _oids(_READ.findall(tree)),
        "typed": _oids(_TYPED.findall(tree)),
        "also": _ALSO.split(),
        "tables": [*METADATA.tables, *spelt],
    }
    for statement in _REFUSED:
        refused = connection.execute(statement, values).fetchone()
        if refused is not None:
            raise NotAllowed(refused[0])


def _oids(numbers: Iterable[str]) -> list[int]:
    return sorted({int(number) for number in numbers})


def _warn_of_rights(connection: Connection[Any]) -> None:
    if connection.info.parameter_status("is_superuser") == "on":
        _warn_of_superuser(connection.info.user, connection.info.dbname)


@cache
def _warn_of_superuser(user: str, database: str) -> None:
    """Once for each role."""
    log.warning(
        "queries of the SQL page are asked as %s, a superuser of database %s; a role that owns "
        "the store's tables alone is enough, name it with --store",
        user,
        database,
    )
