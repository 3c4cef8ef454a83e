"""Registering functions, loading a workload's module, the built-in ones."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from backend.cql import parse_query
from backend.cql.errors import CqlError
from backend.model.schema import Schema
from backend.workloads import library
from backend.workloads.functions import (
    FunctionError,
    PrefixTable,
    ValueTable,
    filter_function,
)
from backend.workloads.loading import built_in, load_functions

MODULE = """
from backend.workloads.functions import PrefixTable, filter_function
from backend.workloads.library import matches
from backend.workloads.loading import built_in, load_functions

@filter_function("a int, Known table")
def Odd(a, known):
    '''Whether a is odd.'''
    return a % 2 == 1

homes = PrefixTable(["10.0.0.0/8"])
"""


def test_a_module_registers_functions_and_tables(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    found = load_functions(["mine.py"], tmp_path / "w.toml")
    odd = found.find("odd")
    assert odd is not None
    assert odd.signature == "Odd(a int, Known table)"
    assert odd.help == "Whether a is odd."
    assert odd.call(3, None)
    assert found.find_table("HOMES") == "homes"
    assert found.find("matches") is not None
    assert "matches" in built_in().functions


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no file"),
        ("def broken(:", "cannot be imported: SyntaxError"),
        ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        (MODULE.replace("Odd", "Lookup"), "registers 'lookup', which is registered already"),
        (MODULE.replace("a int,", "a integr,"), "has unknown type 'integr'; allowed: any, bigint"),
        (MODULE.replace("a int,", "int,"), "parameter 'int' of Odd; expected 'name type'"),
        (
            'from backend.workloads.functions import *\nt = PrefixTable(["10.0.0.1/8"])',
            "IPv4 prefix",
        ),
    ],
)
def test_a_module_that_cannot_be_loaded_is_refused(
    tmp_path: Path, text: str | None, said: str
) -> None:
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    with pytest.raises(FunctionError, match=said.replace("(", r"\(")):
        load_functions(["mine.py"], tmp_path / "w.toml")


def test_an_unknown_module_name() -> None:
    with pytest.raises(FunctionError, match="no_such_module cannot be imported"):
        load_functions(["no_such_module"], Path("w.toml"))


def test_a_function_may_have_no_parameters_and_another_name() -> None:
    @filter_function("", name="never")
    def function() -> bool:
        return False

    assert not function()


def test_prefixes() -> None:
    table = PrefixTable(["10.1.0.0/16", "192.168.7.0/24", "8.8.8.8/32"])
    inside = ["10.1.200.3", "192.168.7.255", "8.8.8.8"]
    outside = ["10.2.0.1", "192.168.8.0", "8.8.8.9", "0.0.0.0"]
    assert all(library.lookup(a, table) for a in inside)
    assert not any(library.lookup(a, table) for a in outside)
    assert PrefixTable(["0.0.0.0/0"]).covers("255.255.255.255")
    for text in ("10.1.2", "10.1.2.256", "a.b.c.d", "10.1.2.3.4", "-1.0.0.0"):
        with pytest.raises(ValueError, match=r"IPv4 address|invalid literal"):
            table.covers(text)


def test_text() -> None:
    assert library.matches("an attack 0xa9f8 here", r"0xa\w+8\b")
    assert not library.matches("harmless", "0xa")
    assert library.matches("Fünf €", "^f.nf .$|^(?i)FÜNF .$")
    assert not library.matches("a\n", "a$")
    assert library.contains("abc", "bc")
    assert ValueTable({1: 2}).get(3) is None


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){25}$", "^(a*)*$"])
def test_no_pattern_holds_a_run(pattern: str) -> None:
    """Each takes a backtracking engine longer than anyone waits."""
    begin = time.process_time()
    assert not library.matches("a" * 4_500 + "!", pattern)
    assert library.matches("a" * 4_500, pattern)
    assert time.process_time() - begin < 10


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", "(?=a)b", "(?<!a)b", "x{1001}", "(?>a)", "(x{100}){100}", "é" * 200_000]
)
def test_a_pattern_that_linear_time_does_not_do_is_refused(pattern: str) -> None:
    streams, known = {"S": Schema.parse("a string, b string")}, built_in()
    with pytest.raises(CqlError, match="no back references and no look-around") as caught:
        parse_query("q", f"Select *\nFrom S Where matches(a, '{pattern}')", streams, known)
    assert (caught.value.line, caught.value.column) == (2, 25)
    assert len(caught.value.message) < 400
    with pytest.raises(ValueError, match="no back references and no look-around"):
        library.matches("of data", pattern)  # the tuple is kept aside


@pytest.mark.parametrize(
    ("call", "message"),
    [("slow(a, 1e18, 0.5)", "at most 10000 micro"), ("probe(b, 2000000000)", "at most 10000 pro")],
)
def test_calls_end_soon(call: str, message: str) -> None:
    streams, known = {"S": Schema.parse("a string, b bigint")}, built_in()
    with pytest.raises(CqlError, match=message):
        parse_query("q", f"Select * From S Where {call}", streams, known)
    for us in (1e18, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="at most 10000 microseconds"):
            library.slow("of data", us, 0.5)


@pytest.mark.parametrize("pattern", ["(", "a**", "x{2,1}", "[z-a]"])
def test_a_pattern_that_is_none_is_refused_with_its_place(pattern: str) -> None:
    streams, known = {"S": Schema.parse("a string, b string")}, built_in()
    with pytest.raises(CqlError) as caught:
        parse_query("q", f"Select * From S Where matches(a, '{pattern}')", streams, known)
    assert caught.value.column == 34
    assert f"{pattern!r} is no regular expression" in caught.value.message
    parse_query("q", "Select * From S Where matches(a, '[a-z]+') or matches(a, b)", streams, known)


def test_distances_on_the_sphere() -> None:
    jfk, lax = (40.6413, -73.7781), (33.9416, -118.4085)
    assert library.great_circle_km(*jfk, *lax) == pytest.approx(3975, abs=5)
    assert library.great_circle_km(0, 179.5, 0, -179.5) == pytest.approx(111.2, abs=0.1)
    lat, lon = np.array([jfk[0], lax[0]]), np.array([jfk[1], lax[1]])
    assert library.within_km(lat, lon, *jfk, 100.0).tolist() == [True, False]


def test_probes_take_longer_and_say_the_same() -> None:
    keys = np.array([0, 9_999, 10_000, 19_999], dtype=np.int64)
    for probes in (1, 10, 100):
        assert library.probe(keys, probes).tolist() == [True, True, False, False]


def test_slow_keeps_a_share_by_value() -> None:
    kept = sum(library.slow(value, 0.0, 0.25) for value in range(4000))
    assert kept == pytest.approx(1000, abs=100)
    assert library.slow("x", 0.0, 0.5) == library.slow("x", 5.0, 0.5)
