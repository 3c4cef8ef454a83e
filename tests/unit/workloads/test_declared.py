"""Keys and k-constraints a workload file declares, and one sentence about each that is wrong."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from backend.cql.answers import scans_of
from backend.model.conditions import DeclaredConstraint
from backend.model.schema import Schema
from backend.operators.network.kinds.inputs import RelationInput, StreamInput
from backend.systems.stream.compiling import compile_queries
from backend.workloads.spec import Workload, WorkloadError, load_workload

STREAMS = '''
[streams.C]
schema = "pid int, size double, link string, seen timestamp"
source = { format = "memory", rows = [] }
key = ["PID"]
[streams.B]
schema = "pid int, hop int"
source = { format = "memory", rows = [] }
key = ["pid", "hop"]
[streams.O]
schema = "pid int"
source = { format = "memory", rows = [] }
[relations.Links]
schema = "link string, name string"
source = { format = "memory", rows = [["east", "E"]] }
key = "link"
[queries]
joined = """
Select count(*) From C [Range 600], B [Range 600], Links
Where C.pid = B.pid and C.link = Links.link"""
plain = "Select * From C Where size > 5"
above = "Select count(*) From joined, O Where O.pid > 5"
'''
RIDS = '[[constraints]]\ntype = "RIDS"\nparent = "B"\nchild = "C"\nk = 3\n'
OAC = '[[constraints]]\ntype = "OAC"\nstream = "C"\nattribute = "pid"\nk = 3\n'


def load(folder: Path, text: str) -> Workload:
    path = folder / "my.toml"
    path.write_text(text, encoding="utf-8")
    return load_workload(path)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(WorkloadError) as caught:
        load(folder, text)
    message = str(caught.value)
    assert message.startswith(str(folder / "my.toml"))
    assert "\n" not in message
    return message.removeprefix(str(folder / "my.toml"))


def test_keys_are_spelled_as_in_the_schema_and_reach_the_plan(tmp_path: Path) -> None:
    workload = load(tmp_path, STREAMS)
    keys = {stream.name: stream.schema.key for stream in workload.streams}
    assert keys == {"C": ("pid",), "B": ("pid", "hop"), "O": ()}
    assert workload.relations[0].schema.key == ("link",)
    joined = workload.queries[0]
    scans = {scan.name: scan.key for scan in scans_of(joined.plan)}
    assert scans == {"C": ("pid",), "B": ("pid", "hop"), "Links": ("link",)}
    plan = compile_queries([joined], since={"joined": 0}, tick_us=1_000_000)
    inputs = [one.work for one in pickle.loads(pickle.dumps(plan)).operators]
    read = {one.reads: one.key for one in inputs if isinstance(one, StreamInput | RelationInput)}
    assert read == {"C": ("pid",), "B": ("pid", "hop"), "Links": ("link",)}


def test_operators_are_the_same_with_and_without_keys(tmp_path: Path) -> None:
    plans = [
        compile_queries(load(tmp_path, text).queries[:1], since={"joined": 0}, tick_us=1_000_000)
        for text in (STREAMS, STREAMS.replace('key = ["PID"]\n', "").replace('key = "link"\n', ""))
    ]
    assert [one.id for one in plans[0].operators] == [one.id for one in plans[1].operators]
    assert plans[0] == plans[1]


def test_a_schema_that_names_fewer_columns_keeps_what_is_left_of_the_source(tmp_path: Path) -> None:
    text = """
[streams.F]
schema = "flight int, origin string"
source = { format = "departures" }
key = ["origin", "flight"]
"""
    (flights,) = load(tmp_path, text).streams
    assert flights.schema == Schema(flights.schema.attributes, ("origin", "flight"))


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ('"pit"', ": [streams.C] key: the schema has no column 'pit'; did you mean 'pid'?"),
        ('"zz"', "no column 'zz'; it has pid, size, link and seen"),
        ('["pid", "PID"]', "[streams.C] key: 'pid' is named twice"),
        ("[]", "[streams.C] has an empty key; name attributes, or leave it out"),
        ('["pid", 3]', "[streams.C] key must be a string or a list of strings"),
        ("7", "[streams.C] key must be a string, not an integer"),
    ],
)
def test_a_key_that_is_none(tmp_path: Path, key: str, told: str) -> None:
    assert told in refused(tmp_path, STREAMS.replace('["PID"]', key))


def test_a_key_of_a_relation_that_is_none(tmp_path: Path) -> None:
    told = refused(tmp_path, STREAMS.replace('key = "link"', 'key = "links"'))
    assert told.startswith(": [relations.Links] key: the schema has no column 'links'; did you")


def test_constraints_go_to_the_queries_that_read_their_streams(tmp_path: Path) -> None:
    text = STREAMS + RIDS + OAC.replace('"OAC"', '"oac"').replace('"pid"', '"PID"')
    joined, plain, above = load(tmp_path, text).queries
    rids = DeclaredConstraint("RIDS", 3, parent="B", child="C")
    oac = DeclaredConstraint("OAC", 3, child="C", attribute="pid")
    assert joined.constraints == above.constraints == (rids, oac)
    assert plain.constraints == (oac,)


def test_a_constraint_may_name_its_query(tmp_path: Path) -> None:
    ca = OAC.replace("OAC", "CA").replace('"pid"', '"link"') + 'query = "joined"\n'
    joined, plain, above = load(tmp_path, STREAMS + ca).queries
    assert joined.constraints == (DeclaredConstraint("CA", 3, parent="C", attribute="link"),)
    assert plain.constraints == above.constraints == ()


def test_a_constraint_of_one_query_may_be_about_a_relation_that_changes(tmp_path: Path) -> None:
    rids = RIDS.replace('"B"', '"groups of C by pid"') + 'query = "joined"\n'
    joined, plain, _ = load(tmp_path, STREAMS + rids).queries
    wanted = DeclaredConstraint("RIDS", 3, parent="groups of C by pid", child="C")
    assert joined.constraints == (wanted,)
    assert plain.constraints == ()


@pytest.mark.parametrize(
    ("constraint", "told"),
    [
        (RIDS.replace('"B"', '"groups of C by pid"'), "there is no stream 'groups of C by pid'"),
        (RIDS.replace("RIDS", "RIDD"), "type 'RIDD' is unknown; did you mean 'RIDS'?"),
        (RIDS.replace("RIDS", "X"), "type 'X' is unknown; allowed: RIDS, CA, OAP or OAC"),
        (RIDS.replace('type = "RIDS"\n', ""), "has no type; write RIDS, CA, OAP or OAC"),
        (RIDS.replace('"B"', '"zz"'), "parent: there is no stream 'zz'; streams are C, B and O"),
        (RIDS.replace('"B"', '"BB"'), "parent: there is no stream 'BB'; did you mean 'B'?"),
        (RIDS.replace('"C"', '"Links"'), "'Links' is a stored relation, all of whose tuples are"),
        (RIDS.replace('child = "C"\n', ""), "has no child; RIDS needs parent, child and k"),
        (RIDS + 'attribute = "pid"\n', "has an unknown key 'attribute'; allowed: query, type,"),
        (RIDS.replace("k = 3", ""), "has no k; write the number of arrivals, 0 or more"),
        (RIDS.replace("k = 3", "k = -1"), "k = -1 is not allowed; 0 to 1099511627776 arrivals"),
        (RIDS.replace("k = 3", "k = 2.5"), "k must be a whole number of arrivals, not a float"),
        (RIDS.replace("k = 3", "k = true"), "k must be a whole number of arrivals, not true or"),
        (RIDS + RIDS.replace("3", "4"), "[[constraints]] 2 is declared already for query 'joined'"),
        (RIDS + 'query = "joint"\n', "there is no query 'joint'; did you mean 'joined'?"),
        (RIDS + 'query = "plain"\n', "query 'plain' does not read B and C"),
        (
            RIDS.replace('"B"', '"O"').replace('"C"', '"O"') + 'query = "joined"\n',
            "query 'joined' does not read O",
        ),
        (OAC.replace('attribute = "pid"\n', ""), "has no attribute; OAC is about one of C"),
        (OAC.replace('"pid"', '"pit"'), "attribute of C: the schema has no column 'pit'; did you"),
        (OAC.replace('"pid"', '"link"'), "'link' is a string column, whose order arrival does not"),
    ],
)
def test_a_constraint_that_is_none(tmp_path: Path, constraint: str, told: str) -> None:
    assert told in refused(tmp_path, STREAMS + constraint)


def test_constraints_are_tables(tmp_path: Path) -> None:
    message = refused(tmp_path, "constraints = 3\n" + STREAMS)
    assert 'constraints must be tables [[constraints]], as in type = "RIDS"' in message


def test_a_constraint_about_no_query_is_refused(tmp_path: Path) -> None:
    constraint = OAC.replace('"C"', '"O"')
    text = STREAMS.replace('above = "Select count(*) From joined, O Where O.pid > 5"\n', "")
    assert "[[constraints]] 1 is about no query: none reads O" in refused(
        tmp_path, text + constraint
    )
