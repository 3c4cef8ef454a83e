"""The workloads that come with the program; standard library only."""

from __future__ import annotations

from pathlib import Path


def shipped_workloads() -> dict[str, Path]:
    """Their files, by name."""
    return {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}
