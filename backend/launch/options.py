"""The options of run.py's verbs that start a part of the program; standard library only."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Final

from backend.launch.ports import DEFAULT_PORT
from backend.workloads.shipped import shipped_workloads

STATE: Final = Path(__file__).resolve().parents[2] / ".planwatch"
DEFAULT_STORE: Final = f"sqlite:///{STATE / 'planwatch.db'}"
#: What the engine's own command line says, too.
OURS: Final = ", ".join(shipped_workloads())
SHARED: Final = "keep runs in this folder, which all machines with Spark's workers have"
LEARN_FROM: Final = "begin a new run with the plan log of this run of the store"
ONCE: Final = "process the available input, then exit; status 3 when every tuple was kept aside"


def add_store(parser: argparse.ArgumentParser) -> None:
    """The option every verb with a store has."""
    parser.add_argument(
        "--store",
        metavar="URL",
        default=DEFAULT_STORE,
        help="file, sqlite:///FILE or postgresql://USER@HOST/NAME (default: %(default)s)",
    )


def add_server(parser: argparse.ArgumentParser) -> None:
    """Where the page is served."""
    parser.add_argument(
        "--port",
        type=port_number,
        help=f"port of the page; 0 takes any (default: {DEFAULT_PORT}, or the next free one)",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; any but this machine's own asks for the token (%(default)s)",
    )


def add_access(parser: argparse.ArgumentParser) -> None:
    """Who may do what."""
    parser.add_argument(
        "--read-only", action="store_true", help="read-only: no changes from the browser or the API"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="people open it at this host through a proxy: 'name', or 'name:port' for that port "
        "alone; may be given again",
    )
    parser.add_argument(
        "--prefix",
        default="",
        metavar="PATH",
        help="path that a proxy puts before the dashboard's own, such as /pw",
    )
    parser.add_argument(
        "--webhook", default="", metavar="URL", help="post alerts that begin to this address"
    )
    parser.add_argument(
        "--awaits-run",
        action="store_true",
        help="a run is being started beside this: until its first batch the newest recorded one "
        "plays",
    )
    parser.add_argument(
        "--allow-webhook", action="store_true", help="let the webhook be on another machine"
    )


def add_pipeline(parser: argparse.ArgumentParser) -> None:
    """What runs, and where."""
    parser.add_argument(
        "workload",
        nargs="?",
        metavar="WORKLOAD.toml",
        help=f"your streams and queries, or one of ours (default flights): {OURS}",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KNOB=VALUE",
        help="start with this value of a knob; may be given again",
    )
    parser.add_argument(
        "--master",
        metavar="URL",
        help="Spark master (default: local[2]); none: in this process, without Spark",
    )
    parser.add_argument("--shared", metavar="FOLDER", help=SHARED)
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark's, before ours; may be given again",
    )
    parser.add_argument("--learn-from", default="", metavar="RUN", help=LEARN_FROM)
    parser.add_argument("--packages", metavar="LIST", help="Maven packages for Spark, say Kafka's")


def add_extent(parser: argparse.ArgumentParser) -> None:
    """Where a pipeline begins and ends."""
    parser.add_argument("--once", action="store_true", help=ONCE)
    parser.add_argument("--fresh", action="store_true", help="start a new run; resume none")


def add_resume(parser: argparse.ArgumentParser) -> None:
    """A demo begins anew unless told otherwise."""
    parser.add_argument("--resume", action="store_true", help="resume the newest run")


def add_recording(parser: argparse.ArgumentParser) -> None:
    """A file to open."""
    parser.add_argument(
        "file", metavar="FILE", help="a store's file, or one made by 'export', compressed or not"
    )


def add_export(parser: argparse.ArgumentParser) -> None:
    """Which run goes where."""
    parser.add_argument("run", metavar="RUN", help="id of the run, or 'latest'")
    parser.add_argument(
        "file", metavar="FILE", help="the file to make; one that ends in .gz is compressed"
    )


def add_branch(parser: argparse.ArgumentParser) -> None:
    """Which run is replayed, and what is different in it."""
    parser.add_argument("run", metavar="RUN", help="id of the recorded run, or 'latest'")
    parser.add_argument(
        "--at",
        type=int,
        required=True,
        metavar="BATCH",
        help="from this batch on the knob has the other value",
    )
    parser.add_argument(
        "--set", required=True, metavar="KNOB=VALUE", help="the knob and its other value"
    )
    parser.add_argument(
        "--unit", default="", metavar="UNIT", help="whose knob, where several have one of the name"
    )
    parser.add_argument(
        "--workload", metavar="FILE", help="the run's workload file (default: as recorded)"
    )


def add_bench(parser: argparse.ArgumentParser) -> None:
    """Which comparison."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="one comparison (default: all)")
    parser.add_argument("--full", action="store_true", help="larger ones, where there are")


def add_test(parser: argparse.ArgumentParser) -> None:
    """How much is tested."""
    parser.add_argument(
        "--quick",
        action="store_true",
        help="static checks, house-keeping and what the change reaches: before each commit",
    )
    parser.add_argument("--all", action="store_true", help="the slow tests, too: hours")
    parser.add_argument(
        "--record-times",
        action="store_true",
        help="write down what each test file took, by which the next run balances its rows",
    )


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
        help="run this command and exit; repeatable",
    )


def port_number(text: str) -> int:
    """A port, 0..65535. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; allowed: 0..65535")
    return int(text)
