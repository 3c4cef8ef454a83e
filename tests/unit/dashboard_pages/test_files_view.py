"""Files of streams: what became of each, what was rejected in a sentence, misfits in groups."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.files import file_lines, grouped, rejected_words
from storage.tables.rows import StoredMatrix, StoredMisfit
from storage.vocabulary.files import COLUMNS, FILES
from storage.vocabulary.records import Matrix


def matrix(**files: tuple[int | None, int | None, int | None]) -> StoredMatrix:
    rows = tuple(f"/in/{name}.csv" for name in files)
    return StoredMatrix(
        3, 0.0, Matrix(f"{FILES}:G", FILES, rows, COLUMNS, tuple(map(list, files.values())))
    )


def misfit(id: int, place: str, error: str, raw: str = "x") -> StoredMisfit:
    return StoredMisfit(id, id, raw, error, "G", place)


def test_files_say_what_became_of_them_and_why() -> None:
    told = matrix(a=(9, 0, 0), b=(9, 4, 0), c=(1, 1, 1), d=(None, None, None))
    known = [
        misfit(3, "/in/c.csv", "this file cannot be read: no header"),
        misfit(2, "/in/b.csv, tuple 8", "v is no int"),
        misfit(1, "/in/b.csv, tuple 2", "id is no int"),
    ]
    lines = {line.name: line for line in file_lines([told], known)}
    states = {name: line.state for name, line in lines.items()}
    assert states == {"a.csv": "read", "b.csv": "misfits", "c.csv": "refused", "d.csv": "waits"}
    assert lines["b.csv"].why == "row 2: id is no int"
    assert lines["c.csv"].why == "this file cannot be read: no header"
    assert lines["d.csv"].tuples is None
    assert {line.stream for line in lines.values()} == {"G"}


def test_what_was_rejected_is_one_sentence_that_adds_up() -> None:
    words = rejected_words(
        file_lines([matrix(g4=(2000, 400, 0), x=(1, 1, 1), y=(1, 1, 1), z=(7, 0, 0))], [])
    )
    assert words == "402 rejected: 400 rows of g4.csv and 2 unreadable files"
    assert rejected_words(file_lines([matrix(z=(7, 0, 0))], [])) == ""
    many = matrix(a=(9, 5, 0), b=(9, 4, 0), c=(9, 3, 0), d=(9, 2, 0), e=(9, 1, 1), f=(9, 3, 1))
    assert rejected_words(file_lines([many], [])) == (
        "18 rejected: 5 rows of a.csv, 4 rows of b.csv, 3 rows of c.csv, "
        "4 rows of 2 other files and 2 unreadable files"
    )


MISFITS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(1, 50), st.sampled_from(["v: ", "w: "]))
)


@given(MISFITS)
def test_groups_lose_no_misfit_and_mix_no_reasons(drawn: list[tuple[str, int, str]]) -> None:
    known = [
        misfit(-n, f"/in/{file}, tuple {place}", f"{why}{place} is no int")
        for n, (file, place, why) in enumerate(drawn)
    ]
    groups = grouped(known)
    assert sum(group.n for group in groups) == len(known)
    assert len(groups) == len({(file, why) for file, _, why in drawn})
    for group in groups:
        same = [p for f, p, why in drawn if group.file == f"/in/{f}" and group.error[:3] == why]
        assert sorted(group.places) == sorted(same)
