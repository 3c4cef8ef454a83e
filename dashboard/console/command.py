"""``run.py shell``: what it does with its options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from dashboard.console.client import ApiClient, Unanswered
from dashboard.console.shell import run_shell


def main(options: argparse.Namespace) -> int:
    """Talk with people, or do the commands given or piped in; the exit status."""
    client = ApiClient(options.url, options.token)
    try:
        client.get("runs")
    except Unanswered as refusal:
        print(refusal, file=sys.stderr)
        return 1
    lines: Iterable[str] | None = options.command
    if lines is None and not sys.stdin.isatty():
        lines = sys.stdin
    return run_shell(client, options.run, lines)
