"""The files of the run's streams: read, waiting, refused and why."""

from __future__ import annotations

from typing import Final, NamedTuple

from dashboard.base.context import Context
from dashboard.components.formats import show
from dashboard.components.kinds import tone_of
from dashboard.components.rows import CellData, RowTable, TableColumn, known
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.views.files import FileLine, file_lines, rejected_words
from storage.reader import Reader
from storage.vocabulary.files import FILES

#: Misfits looked through for reasons: all on record.
_MISFITS: Final = 200
#: What is counted -> its word.
_WORDS: Final = {"read": "begun", "waiting": "waiting", "refused": "refused"}
_COLUMNS: Final = (
    TableColumn("Stream"),
    TableColumn("File"),
    TableColumn("State"),
    TableColumn("Tuples", "int", "", "taken, misfits included"),
    TableColumn("Misfits", "int"),
    TableColumn("Why"),
)


class FilesShown(NamedTuple):
    """The files at the moment. counts: files in all, by what became of them."""

    lines: list[FileLine]
    counts: dict[str, int]


def build(reader: Reader, context: Context, scope: PanelScope) -> FilesShown | None:
    """The files of all streams as of the moment."""
    run, at = context.run_id, context.batch
    keys = [key for key in reader.matrix_keys(run) if key.kind == FILES]
    stored = [reader.matrix(run, key.name, at, key.unit_id) for key in keys]
    lines = file_lines([m for m in stored if m is not None], reader.misfits(run, _MISFITS, at))
    values = reader.values(run, at).values()
    counts = {what: round(sum(own.get(f"files_{what}") or 0 for own in values)) for what in _WORDS}
    return FilesShown(lines, counts) if lines else None


def draw(shown: FilesShown, sheet: Sheet) -> Drawing:
    """A row a file, those with misfits first; over it how many there are, and what was rejected."""
    rows = [_row(line) for line in shown.lines]
    counts = ", ".join(f"{show(n, 'int')} {_WORDS[what]}" for what, n in shown.counts.items())
    words = f"Files since the engine started: {counts}"
    rejected = rejected_words(shown.lines)
    return Drawing(RowTable(words, _COLUMNS, rows), note=rejected)


def _row(line: FileLine) -> list[CellData]:
    return [
        line.stream,
        {"text": line.name, "title": line.file},
        {"badges": [[line.state, tone_of(line.state)]], "sort": line.state},
        known(line.tuples, "not begun"),
        known(line.misfits, "not begun"),
        line.why,
    ]


PANEL: Final = Panel(
    name="files",
    page="/",
    title="Files",
    sql=records.matrices(FILES),
    twin=False,
    build=build,
    draw=draw,
    applies=has_matrix(FILES),
    news=("run", "misfits"),
    beats=True,
)
