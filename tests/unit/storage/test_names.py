"""What may be a name, and the folders that bear it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest

from storage.vocabulary.names import in_folder, name_problem

JAPANESE = "各駅停車の遅延が五分を超えた列車の一覧を平日の朝夕に限り駅ごとに"


@pytest.mark.parametrize("name", ["late", "9 lives", "späť", "-q", "50 %?", "a.b", JAPANESE])
def test_printable_text_is_a_name_and_its_folder_tells_it(name: str) -> None:
    assert name_problem(name) is None
    if name != JAPANESE:
        assert unquote(in_folder(name)) == name


@pytest.mark.parametrize(
    "name", ["", " ", "..", ". .", "a/b", "a\\b", "a\0b", "a\nb", "\u200b", "x" * 101]
)
def test_other_text_is_none(name: str) -> None:
    assert name_problem(name) is not None


@pytest.mark.parametrize("name", [JAPANESE, "🚆" * 100, "%" * 100, "x" * 30 + "é" * 70])
def test_a_long_name_has_a_folder_of_its_own(tmp_path: Path, name: str) -> None:
    folders = {in_folder(name), in_folder(f"{name[:-1]}!"), in_folder(f"!{name[1:]}")}
    assert len(folders) == 3
    for folder in folders:
        (tmp_path / f"query={folder}").mkdir()
        assert "\N{REPLACEMENT CHARACTER}" not in unquote(folder)
    assert name.startswith(unquote(in_folder(name)).rpartition("-")[0])
