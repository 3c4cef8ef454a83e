"""``run.py shell``: its options, and what it does with them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable

from dashboard.console.client import ApiClient, Unanswered
from dashboard.console.shell import run_shell


def add_shell(parser: argparse.ArgumentParser) -> None:
    """Where the dashboard is, and what to say to it."""
    parser.add_argument(
        "--url",
        default="http://127.0.0.1:8050",
        help="address of the dashboard (default: %(default)s)",
    )
    parser.add_argument(
        "--token",
        default=os.environ.get("PLANWATCH_TOKEN", ""),
        help="bearer token, where the dashboard is on another machine (default: PLANWATCH_TOKEN)",
    )
    parser.add_argument("--run", default="", help="id of a run (default: the newest)")
    parser.add_argument(
        "-c",
        "--command",
        action="append",
        metavar="LINE",
        help="do this command and leave; may be given again",
    )


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
