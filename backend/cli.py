"""The pipeline's command line: ``run.py backend [WORKLOAD.toml]``."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from pathlib import Path

from backend.counting import Counting
from backend.engine.knobs import KNOBS
from backend.hosts.publish import check_sink
from backend.hosts.spark.java import JavaMissing
from backend.hosts.spark.places import check_places
from backend.hosts.spark.remote import NO_MASTER
from backend.model.knobs import KnobRefused
from backend.options import ONCE, OURS, SHARED
from backend.systems.contract import Refused
from backend.workloads.spec import Workload, WorkloadError, load_workload, shipped_workloads
from storage.errors import StoreError
from storage.writer import open_engine_writer

EXIT_FAILED, EXIT_USAGE, EXIT_ALL_ASIDE = 1, 2, 3


def parser() -> argparse.ArgumentParser:
    """The options of ``backend``."""
    found = argparse.ArgumentParser(
        prog="run.py backend", description="Run a workload on Spark and publish what happens."
    )
    found.add_argument(
        "workload",
        nargs="?",
        default="flights",
        help=f"a workload file, or a shipped workload: {OURS}",
    )
    found.add_argument("--once", action="store_true", help=ONCE)
    found.add_argument(
        "--fresh",
        action="store_true",
        help="begin a new run; without it the newest run of the workload goes on",
    )
    found.add_argument("--master", default="local[2]", help="Spark master (default local[2])")
    found.add_argument("--shared", metavar="FOLDER", help=SHARED)
    found.add_argument("--store", default=".planwatch/planwatch.db", help="store file or URL")
    found.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KNOB=VALUE",
        help="start with this knob value; repeatable",
    )
    found.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark's, before ours; repeatable",
    )
    found.add_argument(
        "--packages",
        metavar="COORDINATES",
        help="Maven packages Spark is to fetch, Kafka's for instance",
    )
    return found


def main(argv: list[str]) -> int:
    """Run the pipeline until its stream ends or it is told to stop; the exit status."""
    options = parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_ours)
    try:
        workload = _workload(options.workload, options.set)
        return _execute(workload, options)
    except (WorkloadError, Refused, KnobRefused, StoreError) as error:
        print(f"planwatch: {error}", file=sys.stderr)
        return EXIT_USAGE
    except JavaMissing as error:
        print(f"planwatch: {error}", file=sys.stderr)
        return EXIT_FAILED


def _is_ours(record: logging.LogRecord) -> bool:
    """What py4j logs, to the root logger, too, it raises as well, and the run says it."""
    return Path(record.pathname).parent.name != "py4j"


def _workload(name: str, settings: list[str]) -> Workload:
    overrides: dict[str, object] = {}
    for setting in settings:
        knob, equals, value = setting.partition("=")
        if not equals:
            raise KnobRefused(setting, "", "written as --set KNOB=VALUE")
        overrides[knob.strip()] = value.strip()
    path = shipped_workloads().get(name, Path(name))
    return load_workload(path, overrides, KNOBS, Counting("reading queries"))


def _conf(settings: list[str], packages: str | None) -> dict[str, str]:
    """Spark settings from the command line. Raises WorkloadError for one without a value."""
    found = {"spark.jars.packages": packages} if packages else {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.startswith("spark."):
            raise WorkloadError("--conf", f"{setting!r} is not of the form spark.KEY=VALUE")
        found[key] = value
    return found


def _execute(workload: Workload, options: argparse.Namespace) -> int:
    from backend.hosts.spark.in_process import InProcessLaunch
    from backend.hosts.spark.launch import Begin, Launch, LaunchSettings

    shared = None if options.shared is None else Path(options.shared).expanduser().absolute()
    check_places(options.master, workload, shared)
    if workload.sink.path is not None:
        check_sink(workload.sink.path)
    folder, conf = _folder_of(options.store), _conf(options.conf, options.packages)
    runs = (shared or folder) / "runs"
    with open_engine_writer(options.store) as writer:
        for run_id in writer.mark_interrupted():
            logging.info("run %s was killed; it is marked interrupted", run_id)
        registered = Counting("registering queries")
        begin: Begin = "fresh" if options.fresh else "go on"
        asked = frozenset(setting.partition("=")[0].strip() for setting in options.set)
        settings = LaunchSettings(
            options.master, folder, runs, options.once, begin, conf, asked, registered
        )
        make = InProcessLaunch if options.master == NO_MASTER else Launch
        launch = make(workload, writer, settings)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
                signal.signal(number, lambda *_: launch.stop())
        if not launch.execute():
            return EXIT_FAILED
        return EXIT_ALL_ASIDE if options.once and launch.all_aside else 0


def _folder_of(store: str) -> Path:
    """The folder of a file store; ``.planwatch`` for a server."""
    if "://" in store and not store.startswith("sqlite"):
        return Path(".planwatch").absolute()
    return Path(store.removeprefix("sqlite:///")).expanduser().absolute().parent
