"""What a workload says its queries are about."""

from __future__ import annotations

from pathlib import Path

from backend.workloads.spec import load_workload
from tests.unit.workloads.test_spec import CARS, refused, write


def test_what_the_queries_are_about_is_one_line(tmp_path: Path) -> None:
    assert load_workload(write(tmp_path, f'about = "Fast\\n cars"{CARS}')).about == "Fast cars"
    assert load_workload(write(tmp_path, CARS)).about == ""
    assert "about has 241 characters; 240 at most" in refused(
        tmp_path, f'about = "{"a" * 241}"{CARS}'
    )
    assert "about must be a string, not" in refused(tmp_path, f"about = 3{CARS}")
