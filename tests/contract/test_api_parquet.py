"""Tables that a page shows, as Parquet files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from werkzeug.test import TestResponse

from dashboard.api.parquet import MOST_COLUMNS, MOST_ROWS
from dashboard.api.routes import document
from dashboard.web.app import LONGEST_BODY_BYTES
from tests.contract.schema_check import problems
from tests.unit.dashboard_server.site import Site, open_site

PATH = "/api/v1/parquet"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("parquet")) as opened:
        yield opened


def ask(site: Site, **body: Any) -> TestResponse:
    """The answer to a browser without any token: nothing is changed."""
    return site.browser().post(PATH, json=body)


def table_of(answer: TestResponse) -> pa.Table:
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "application/vnd.apache.parquet"
    return pq.read_table(io.BytesIO(answer.data))


def test_columns_have_the_type_of_their_cells(site: Site) -> None:
    asked = {
        "columns": ["name", "n", "share", "mixed"],
        "rows": [["a", 1, 0.5, 3], ["é", None, 2, "–"], [None, -7, None, None]],
        "caption": "Constructs",
    }
    schema = document()["components"]["schemas"]
    assert list(problems(asked, schema["ParquetRequest"], schema)) == []
    table = table_of(ask(site, **asked))
    assert table.to_pydict() == {
        "name": ["a", "é", None],
        "n": [1, None, -7],
        "share": [0.5, 2.0, None],
        "mixed": ["3", "–", None],
    }
    assert table.schema.types == [pa.string(), pa.int64(), pa.float64(), pa.string()]
    assert table.schema.metadata[b"caption"] == b"Constructs"


def test_headings_that_repeat_get_numbers(site: Site) -> None:
    columns = ["n", "n_3", "n", "n", "n_2"]
    table = table_of(ask(site, columns=columns, rows=[[1, 2, 3, 4, 5]]))
    assert table.column_names == ["n", "n_3", "n_2", "n_4", "n_2_2"]
    assert table.to_pylist() == [{"n": 1, "n_3": 2, "n_2": 3, "n_4": 4, "n_2_2": 5}]


def test_a_table_without_rows_keeps_its_headings(site: Site) -> None:
    table = table_of(ask(site, columns=["a", "b"], rows=[]))
    assert (table.column_names, table.num_rows) == (["a", "b"], 0)


@pytest.mark.parametrize(
    ("columns", "rows", "words"),
    [
        (["a", "b"], [[1, 2], [1]], "rows: row 1 has 1 cells; allowed are 2."),
        (["a"], [[1], 2], "rows: row 1 is no list of cells."),
        (["a"], [[True]], "rows: cell 0 of row 0 is of another type; allowed are text, numbers"),
        (["a"], [[{}]], "rows: cell 0 of row 0 is of another type; allowed are text, numbers"),
        ([1], [[1]], "columns: heading 0 is no text."),
        ([], [], f"columns: 0 columns; allowed are 1 to {MOST_COLUMNS}."),
        (["a"] * (MOST_COLUMNS + 1), [], f"allowed are 1 to {MOST_COLUMNS}."),
        (["a"], [[1]] * (MOST_ROWS + 1), f"allowed are at most {MOST_ROWS}."),
        ("a", [], "The field columns has the wrong type."),
    ],
)
def test_what_is_no_table_is_refused(site: Site, columns: Any, rows: Any, words: str) -> None:
    answer = ask(site, columns=columns, rows=rows)
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"]) == (422, "bad_field")
    assert words in error["message"]


def test_a_body_that_is_too_large_is_refused(site: Site) -> None:
    answer = ask(site, columns=["a"], rows=[["x" * LONGEST_BODY_BYTES]])
    assert answer.status_code == 413
    assert "413" in document()["paths"][PATH]["post"]["responses"]
    assert answer.get_json()["error"]["code"] == "request_entity_too_large"
