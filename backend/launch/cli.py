"""The pipeline's command line: ``run.py backend [WORKLOAD.toml]``."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from backend.engine.branch import asked_branch, read_record
from backend.engine.branching import BranchProcesses
from backend.engine.knobs import KNOBS
from backend.engine.run_log import RunLog
from backend.hosts.publish import check_sink
from backend.hosts.spark.session.java import JavaMissing
from backend.hosts.spark.session.remote import NO_MASTER
from backend.hosts.spark.start.places import check_places
from backend.launch.counting import Counting
from backend.launch.options import LEARN_FROM, ONCE, OURS, SHARED
from backend.model.knobs import KnobRefused
from backend.processes.watchdog import STOPPING, Watchdog
from backend.systems.contract import Refused
from backend.workloads.spec import Workload, WorkloadError, load_workload, shipped_workloads
from storage.errors import StoreError
from storage.exchange.commands import open_command_writer
from storage.reader import Reader, open_reader
from storage.reading.resume import autopilots_looks
from storage.tables.database import path_of_store
from storage.vocabulary.branches import FILE
from storage.vocabulary.records import Json, Run
from storage.writer import open_engine_writer

EXIT_FAILED, EXIT_USAGE, EXIT_ALL_ASIDE = 1, 2, 3


def parser() -> argparse.ArgumentParser:
    """The options of ``backend``."""
    options = argparse.ArgumentParser(
        prog="run.py backend", description="Run a workload on Spark and publish what happens."
    )
    options.add_argument(
        "workload",
        nargs="?",
        default="flights",
        help=f"a workload file, or a shipped workload: {OURS}",
    )
    options.add_argument("--once", action="store_true", help=ONCE)
    options.add_argument(
        "--fresh",
        action="store_true",
        help="start a new run; without it the newest run of the workload is resumed",
    )
    options.add_argument("--learn-from", default="", metavar="RUN", help=LEARN_FROM)
    options.add_argument("--master", default="local[2]", help="Spark master (default local[2])")
    options.add_argument("--shared", metavar="FOLDER", help=SHARED)
    options.add_argument("--store", default=".planwatch/planwatch.db", help="store file or URL")
    options.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KNOB=VALUE",
        help="start with this knob value; repeatable",
    )
    options.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark's, before ours; repeatable",
    )
    packages = "Maven packages Spark is to fetch, Kafka's for instance"
    options.add_argument("--packages", metavar="COORDINATES", help=packages)
    return options


def main(argv: list[str]) -> int:
    """Run the pipeline until its stream ends or it is told to stop; the exit status."""
    options = parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    logging.getLogger().addHandler(log := RunLog())
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_ours)
    try:
        workload = _workload(options.workload, options.set)
        return _execute(workload, options, log)
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
    conf = {"spark.jars.packages": packages} if packages else {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.startswith("spark."):
            raise WorkloadError("--conf", f"{setting!r} is not of the form spark.KEY=VALUE")
        conf[key] = value
    return conf


def _execute(workload: Workload, options: argparse.Namespace, log: RunLog) -> int:
    from backend.hosts.in_process import InProcessLaunch
    from backend.hosts.spark.start.launch import Launch
    from backend.hosts.spark.start.launch_settings import Begin, LaunchSettings

    shared = None if options.shared is None else Path(options.shared).expanduser().absolute()
    check_places(options.master, workload, shared)
    if workload.sink.path is not None:
        check_sink(workload.sink.path)
    folder, conf = _folder_of(options.store), _conf(options.conf, options.packages)
    runs = (shared or folder) / "runs"
    with open_engine_writer(options.store, workload.sink.durable) as writer:
        for run_id in writer.mark_interrupted():
            logging.info("run %s was killed; it is marked interrupted", run_id)
        registered = Counting("registering queries")
        begin: Begin = "fresh" if options.fresh or options.learn_from else "go on"
        asked = frozenset(setting.partition("=")[0].strip() for setting in options.set)
        branches = BranchProcesses(options.store, folder / "branch.log")
        settings = LaunchSettings(
            options.master,
            folder,
            runs,
            options.once,
            begin,
            conf,
            asked,
            registered,
            branches,
            log,
        )
        if options.learn_from:
            settings = replace(settings, learned=_learned(options.store, options.learn_from))
        make = InProcessLaunch if options.master == NO_MASTER else Launch
        launch = make(workload, writer, settings)
        with _stopped_by_signals(launch.stop, branches.stop):
            is_done = launch.execute()
            branches.wait()
        if not is_done:
            return EXIT_FAILED
        return EXIT_ALL_ASIDE if options.once and launch.all_aside else 0


def _learned(store: str, run_id: str) -> dict[str, list[Json]]:
    """Unit -> looks of a run of the store. Raises Refused where it has none."""
    with open_reader(store) as reader:
        units = [unit.id for unit in reader.units(run_id)]
        with reader.reading() as begun:
            looks = {id: autopilots_looks(begun, run_id, id) for id in units}
        known = ", ".join(run.id for run in reader.runs())
    learned = {id: list(own) for id, own in looks.items() if own}
    if not learned:
        raise Refused(
            f"--learn-from {run_id}: no autopilot of such a run took a look; the store has {known}"
        )
    return learned


@contextmanager
def _stopped_by_signals(*stops: Callable[[], None]) -> Iterator[None]:
    """Within the block a signal that asks this process to end calls them; once one came, the
    process has ended soon, whatever it is in."""
    came: list[int] = []

    def stop(number: int, frame: object) -> None:
        came.append(number)
        for end in stops:
            end()

    before = {number: signal.getsignal(number) for number in STOPPING}
    watchdog = Watchdog()
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if not came:
            watchdog.close()


def branch(options: argparse.Namespace) -> int:
    """Replay a recorded run with a knob changed; the exit status."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        with open_reader(options.store) as reader:
            return _branch(options, reader)
    except (WorkloadError, Refused, KnobRefused, StoreError) as error:
        print(f"planwatch: {error}", file=sys.stderr)
        return EXIT_USAGE


def _branch(options: argparse.Namespace, reader: Reader) -> int:
    from backend.hosts.branching import BranchLaunch
    from backend.hosts.spark.start.launch_settings import LaunchSettings

    knob, equals, value = options.set.partition("=")
    if not equals:
        raise KnobRefused(options.set, "", "written as --set KNOB=VALUE")
    record = read_record(reader, options.run)
    asked = asked_branch(record, options.at, knob.strip(), value.strip(), options.unit)
    workload = load_workload(_file_of(record.run, options.workload))
    folder, once = _folder_of(options.store), bool(record.run.settings.get("once"))
    settings = LaunchSettings(NO_MASTER, folder, folder / "runs", once)
    with (
        open_engine_writer(options.store) as writer,
        open_command_writer(options.store) as commands,
    ):
        launch = BranchLaunch(workload, writer, settings, record, asked, reader, commands)
        with _stopped_by_signals(launch.stop):
            done = launch.execute()
    ends = reader.last_batch(launch.run_id)
    until = "has no batch" if ends is None else f"ends at batch {ends}"
    of = f"its original at batch {reader.last_batch(record.run.id)}"
    print(f"Run {launch.run_id} is a {asked.words}. It {until}, {of}; compare them at")
    print(f"  /compare?run={launch.run_id}")
    return 0 if done else EXIT_FAILED


def _file_of(run: Run, asked: str | None) -> Path:
    """The workload file of a run. Raises Refused when it is not known or gone."""
    known = run.settings.get(FILE) or shipped_workloads().get(run.workload)
    if asked is None and known is None:
        raise Refused(
            f"which workload file run {run.id} was made from is not on record; name it "
            "with --workload"
        )
    path = Path(asked or str(known))
    if not path.is_file():
        raise Refused(f"the workload file of run {run.id} is gone: {path}")
    return path


def _folder_of(store: str) -> Path:
    """The folder of a file store; ``.planwatch`` for a server."""
    path = path_of_store(store)
    return Path(".planwatch").absolute() if path is None else path.parent
