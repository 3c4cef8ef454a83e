"""Queries of people on PostgreSQL that are out to act: none does, whatever its spelling."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text

from dashboard.panels.common.sql import EXAMPLES
from storage.errors import StoreAway
from storage.reading import sql_server
from storage.reading.sql import SqlRefused
from storage.store import Reader, open_engine_writer, open_reader
from tests.contract import postgres
from tests.contract.store_builders import new_run, record

ACTING = {
    "ts_rewrite": "select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, ''b''::tsquery')",
    "pg_terminate_backend": (
        "select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, (select min(''b'')::tsquery from"
        " (select pg_termi'||'nate_backend(pid) t from pg_stat_activity where pid <>"
        " pg_backend_pid()) x where t)')"
    ),
    "terminate": "select pg_terminate_backend(pid) from (values (0)) as v(pid)",
    "quoted": 'select "pg_terminate_backend"(0)',
    "escaped": 'select U&"pg_terminate\\005fbackend"(0)',
    "in a filter": "select id from runs where pg_sleep(30) is null",
    "in from": "select * from pg_sleep(30)",
    "in order": "select id from runs order by pg_sleep(30)::text",
    "in lateral": "select * from runs, lateral (select pg_sleep(30)) as x",
    "in a window": "select max(id) over (order by pg_sleep(30)::text) from runs",
    "closed early": "select 1) as x, pg_sleep(30) as y, (select 2",
    "called by name": "select pg_catalog.pg_sleep(secs => 30)",
    "query_to_xml": "select query_to_xml('select * from other.secrets', true, true, '')",
    "table_to_xml": "select table_to_xml('other.secrets', true, true, '')",
    "database_to_xml": "select database_to_xml(true, true, '')",
    "schema_to_xml": "select schema_to_xml('other', true, true, '')",
    "cursor_to_xml": "select cursor_to_xml('c', 1, true, true, '')",
    "ts_stat": "select * from ts_stat('select vector from other.secrets')",
    "lo_create": "select lo_create(0)",
    "lo_from_bytea": "select lo_from_bytea(0, 'a')",
    "pg_notify": "select pg_notify('a', 'b')",
    "set_config": "select set_config('statement_timeout', '0', false)",
    "set role": "select set_config('role', 'none', false)",
    "nextval": "select nextval('commits_id_seq')",
    "advisory": "select pg_advisory_lock(1)",
    "read_file": "select pg_read_file('/etc/passwd')",
    "ls_dir": "select pg_ls_dir('.')",
    "reload": "select pg_reload_conf()",
    "txid": "select txid_current()",
    "setting": "select current_setting('data_directory')",
    "other table": "select * from other.secrets",
    "other table, joined": "select * from runs where id in (select word from other.secrets)",
    "other view": "select * from other.seen",
    "activity": "select query from pg_stat_activity",
    "passwords": "select rolpassword from pg_authid",
    "columns": "select table_name from information_schema.columns",
    "own function": "select other.twice(1)",
    "own operator": "select 1 operator(other.<+>) 2",
    "own cast": "select '1'::text::regclass",
    "xml": "select xmlparse(document '<a/>')",
    "locks": "select id from runs for update",
    "copy": "copy runs to program 'true'",
    "do": "do $$ begin perform pg_sleep(30); end $$",
}
HARMLESS = {
    "select count(*), 1.5 from runs where id like 'r%'": (1, 1.5),
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5)"
    " select sum(i), string_agg(i::text, ',' order by i) from n": (15, "1,2,3,4,5"),
    "select payload::json ->> 'a', coalesce(null, 'x') from (values ('{\"a\": 1}')) v(payload)": (
        "1",
        "x",
    ),
    "select row_number() over (partition by run_id order by id desc), id in (3, 4)"
    " from batches order by id desc limit 1": (1, True),
    "select percentile_cont(0.5) within group (order by id), max(id) filter (where id < 3)"
    " from batches": (2.0, 2),
    "select concat('a', 1), to_char(12, 'FM00'), round(2.345::numeric, 2)::text, left('abc', 2)": (
        "a1",
        "12",
        "2.35",
        "ab",
    ),
    "select extract(epoch from to_timestamp(5))::int,"
    " date_trunc('day', timestamp '2026-01-02 3:04')::text,"
    " (timestamptz '2026-01-01' + interval '1 day' > now())::text = 'maybe'": (
        5,
        "2026-01-02 00:00:00",
        False,
    ),
    "select a.id, a.id as id, 'x:y', (array[1, 2])[2], '{\"pg_sleep\": \"\\{FUNCEXPR\"}'"
    " from runs a left join batches b on b.run_id = a.id and b.id = -1": (
        "r1",
        "r1",
        "x:y",
        2,
        '{"pg_sleep": "\\{FUNCEXPR"}',
    ),
}


@pytest.fixture(scope="module")
def url(postgres_server: postgres.Server) -> str:
    url = postgres_server.database()
    with open_engine_writer(url) as writer:
        writer.begin_run(new_run())
        for number in range(5):
            writer.write_batch(record(number))
        with writer._engine.begin() as connection:
            for statement in (
                "CREATE SCHEMA IF NOT EXISTS other",
                "CREATE TABLE other.secrets AS SELECT 'word' AS word, 'a'::tsvector AS vector",
                "CREATE VIEW other.seen AS SELECT * FROM other.secrets",
                "CREATE FUNCTION other.twice(int) RETURNS int IMMUTABLE LANGUAGE sql"
                " AS 'SELECT $1 * 2'",
                "CREATE OPERATOR other.<+> (LEFTARG = int, RIGHTARG = int, FUNCTION = int4pl)",
            ):
                connection.execute(text(statement))
    return url


@pytest.fixture(scope="module")
def reader(url: str) -> Iterator[Reader]:
    with open_reader(url) as opened:
        yield opened


@pytest.mark.parametrize("name", ACTING)
def test_what_acts_or_reads_elsewhere_is_not_run(reader: Reader, name: str) -> None:
    with pytest.raises(SqlRefused, match=r"\w{3}") as refused:
        reader.ask(ACTING[name], {})
    assert "took longer" not in str(refused.value)
    assert "word" not in str(refused.value).replace("rolpassword", "").replace("passwords", "")
    assert reader.ask("select count(*) from runs", {}).rows == [(1,)]


@pytest.mark.parametrize("name", ["quoted", "in order", "other view", "own operator", "xml"])
def test_the_refusal_names_what_is_not_allowed(reader: Reader, name: str) -> None:
    named = {
        "quoted": "the function pg_terminate_backend",
        "in order": "the function pg_sleep",
        "other view": "the table seen",
        "own operator": r"the operator <\+>",
        "xml": "xmlexpr of PostgreSQL",
    }
    with pytest.raises(SqlRefused, match=f"^only SELECT is allowed here, without {named[name]}$"):
        reader.ask(ACTING[name], {})


def test_nobody_is_ended(url: str, reader: Reader) -> None:
    with open_engine_writer(url) as writer:
        writer.pending_commands("r1")
        for name in ("pg_terminate_backend", "terminate", "quoted", "escaped"):
            with pytest.raises(SqlRefused):
                reader.ask(ACTING[name], {})
        with writer.reading() as connection:
            (n,) = connection.execute(text("SELECT count(*) FROM pg_stat_activity")).one()
    assert n > 1


@pytest.mark.parametrize("asked", HARMLESS)
def test_what_reads_and_computes_is_answered(reader: Reader, asked: str) -> None:
    assert reader.ask(asked, {"run": "r1"}).rows[0] == HARMLESS[asked]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_the_page_are_answered(reader: Reader, name: str) -> None:
    reader.ask(EXAMPLES[name], {"run": "r1", "at": 3})


def test_nothing_is_left_behind(url: str, reader: Reader) -> None:
    reader.ask("select 1", {})
    with psycopg.connect(url) as connection:
        left = "SELECT count(*) FROM pg_class WHERE relname = 'planwatch_question'"
        assert connection.execute(left).fetchone() == (0,)


def test_a_superuser_is_told(reader: Reader, caplog: pytest.LogCaptureFixture) -> None:
    sql_server._warn_of_superuser.cache_clear()
    with caplog.at_level(logging.WARNING):
        reader.ask("select 1", {})
        reader.ask("select 2", {})
    assert caplog.text.count("asked as planwatch, a superuser of database postgres") == 1


def test_a_role_that_owns_the_tables_alone_is_enough(
    postgres_server: postgres.Server, caplog: pytest.LogCaptureFixture
) -> None:
    url = postgres_server.database()
    schema = url.rpartition("%3D")[2]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain LOGIN")
        connection.execute(f"ALTER SCHEMA {schema} OWNER TO plain")
    plain = url.replace("planwatch@", "plain@")
    with open_engine_writer(plain) as writer, open_reader(plain) as reader:
        writer.begin_run(new_run())
        assert reader.ask("select id from runs where id = :run", {"run": "r1"}).rows == [("r1",)]
        with pytest.raises(SqlRefused, match="the function pg_terminate_backend"):
            reader.ask(ACTING["terminate"], {})
    assert "superuser" not in caplog.text


def test_a_server_that_is_away_is_no_wrong_query(postgres_server: postgres.Server) -> None:
    url = postgres_server.database()
    with open_engine_writer(url), open_reader(url) as reader:
        for connected in ("", "again"):
            postgres_server.stop()
            try:
                with pytest.raises(StoreAway):
                    reader.ask(f"select '{connected}'", {})
            finally:
                postgres_server.start()
        assert reader.ask("select 1", {}).rows == [(1,)]
