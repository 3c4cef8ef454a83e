#!/usr/bin/env python3
"""Planwatch: continuous queries whose plans adapt, and a page that shows when and why.

Needs Python >= 3.11 and nothing else: the first start makes the environment, later ones use it.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - older ones must still read as far as this sentence
    import shutil

    newer = [f"python3.{m}" for m in (13, 12, 11, 14) if shutil.which(f"python3.{m}")]
    step = f"Type '{newer[0]} run.py'." if newer else "Install one, then start again."
    version = ".".join(str(number) for number in sys.version_info[:2])
    sys.stderr.write(f"Planwatch needs Python 3.11 or newer, this is {version}. {step}\n")
    raise SystemExit(1)
if sys.platform == "win32":
    sys.stderr.write("Planwatch runs on Linux and macOS. Type 'wsl --install', start it there.\n")
    raise SystemExit(1)

import argparse
import errno
import os
import queue
import subprocess
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from backend.hosts.spark.session.archive import prepare as prepare_classes
from backend.hosts.spark.session.archive import prepare_beside as prepare_classes_beside
from backend.hosts.spark.session.java import JavaMissing
from backend.launch.environment import DEV, RUN, Environment, SetupFailed
from backend.launch.options import (
    DEFAULT_STORE,
    STATE,
    add_access,
    add_bench,
    add_branch,
    add_export,
    add_extent,
    add_pipeline,
    add_recording,
    add_resume,
    add_server,
    add_shell,
    add_store,
    add_test,
)
from backend.launch.ports import PortRefused, choose_port
from backend.processes.children import Happenings, hold_lifeline, signals_into
from backend.workloads.shipped import shipped_workloads
from bench.experiments.options import add_experiment

if TYPE_CHECKING:
    from backend.launch.doctor import Diagnosis

ROOT: Final = Path(__file__).resolve().parent
#: Set while entering the environment; seen again outside of it, entering did not work.
ENTERING: Final = "PLANWATCH_ENTERING"
#: Use the packages of the running Python (a container's, say) instead of an own environment.
NO_ENVIRONMENT: Final = "PLANWATCH_NO_ENVIRONMENT"

#: Plays until the first batch of a demo is there; its folder says how it was made.
RECORDINGS: Final = ROOT / "storage" / "recordings"
RECORDING: Final = RECORDINGS / "flights.planwatch.gz"

#: Verbs that wait for Java's classes to be prepared; those that have it done beside their work.
AFTER_CLASSES: Final = frozenset({"bench"})
BESIDE_CLASSES: Final = frozenset({"demo", "tour", "backend"})

VERBS: Final = {
    "demo": "run a workload and show it (this is what 'run.py' alone does)",
    "tour": "a guided demo in the page, with live turns, on a run it starts itself",
    "serve": "the dashboard alone, on a store that may still be growing",
    "backend": "the queries alone: Spark and the store; the way onto a cluster, too",
    "replay": "open a recorded run, read-only; needs neither Java nor Spark",
    "branch": "replay a run with a knob changed from a batch on, to compare the two; without Spark",
    "bench": "measure against the peers, all in one run",
    "experiment": "run a paper's experiments again and write a report",
    "export": "copy one run to a file",
    "shell": "talk to a dashboard in words: register, watch results, turn knobs",
    "doctor": "say what is here, what is missing and what to type",
    "test": "install what the checks need and run them all; with arguments: pytest with these",
}


def build_parser() -> argparse.ArgumentParser:
    """The command line, whole, so that --help needs nothing installed."""
    parser = argparse.ArgumentParser(
        prog="run.py",
        description="Watch the plans of continuous queries adapt, and turn their thresholds.",
        epilog="'run.py VERB --help' lists the options of a verb.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, text in VERBS.items():
        verb = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        for add in OPTIONS[name]:
            add(verb)
    return parser


OPTIONS: Final[dict[str, tuple[Callable[[argparse.ArgumentParser], None], ...]]] = {
    "demo": (add_pipeline, add_resume, add_store, add_server),
    "tour": (add_store, add_server),
    "serve": (add_store, add_server, add_access),
    "backend": (add_pipeline, add_extent, add_store),
    "replay": (add_recording, add_server),
    "branch": (add_branch, add_store),
    "bench": (add_bench,),
    "experiment": (add_experiment,),
    "export": (add_export, add_store),
    "shell": (add_shell,),
    "doctor": (add_store, add_server),
    "test": (add_test,),
}


def read_command_line(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """(options, pytest's arguments). 'demo' is what is meant when no verb is named."""
    words = list(arguments)
    named = words[:1]
    if not named or (named[0] not in VERBS and named[0] not in ("-h", "--help")):
        if named and not named[0].startswith("-") and not named[0].endswith(".toml"):
            build_parser().error(f"no verb '{named[0]}'; the verbs are {', '.join(VERBS)}")
        words.insert(0, "demo")
    parser = build_parser()
    if words[0] != "test":
        return parser.parse_args(words), []
    return parser.parse_known_args(words)


def pipeline_arguments(options: argparse.Namespace) -> list[str]:
    """The command line of the backend."""
    words = [options.workload] if options.workload else []
    words += ["--store", options.store]
    for setting in options.set:
        words += ["--set", setting]
    for setting in options.conf:
        words += ["--conf", setting]
    if options.packages:
        words += ["--packages", options.packages]
    if options.learn_from:
        words += ["--learn-from", options.learn_from]
    if options.master:
        words += ["--master", options.master]
    if options.shared:
        words += ["--shared", options.shared]
    is_fresh = options.fresh if "fresh" in options else not options.resume
    words += ["--fresh"] if is_fresh else []
    return words + (["--once"] if getattr(options, "once", False) else [])


def server_arguments(options: argparse.Namespace, port: int) -> list[str]:
    """The command line of the dashboard."""
    words = ["--store", options.store, "--host", options.host, "--port", str(port)]
    for name in getattr(options, "allow_host", []):
        words += ["--allow-host", name]
    if getattr(options, "prefix", ""):
        words += ["--prefix", options.prefix]
    if getattr(options, "webhook", ""):
        words += ["--webhook", options.webhook]
    flags = ("allow_webhook", "awaits_run", "read_only")
    return words + [f"--{f.replace('_', '-')}" for f in flags if getattr(options, f, False)]


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says, in the environment beside this file; the exit status."""
    options, rest = read_command_line(arguments)
    is_child = hold_lifeline()
    try:
        if options.verb != "doctor" or Environment(ROOT).is_ready(RUN):
            enter_environment((RUN, DEV) if options.verb == "test" else (RUN,), arguments)
        if not os.environ.get(NO_ENVIRONMENT):
            if options.verb in AFTER_CLASSES:
                prepare_classes(ROOT)
            elif options.verb in BESIDE_CLASSES and not is_child and needs_java(options):
                prepare_classes_beside(ROOT)
        return ACTIONS[options.verb](options, rest)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        known = explain(error)
        if known is None:
            raise
        sentence, status = known
        print(sentence, file=sys.stderr, flush=True)
        return status


def needs_java(options: argparse.Namespace) -> bool:
    """Whether a run that is asked for is one of Spark's."""
    return getattr(options, "master", None) != "none"


def enter_environment(names: Sequence[str], arguments: Sequence[str]) -> None:
    """Return once this process runs in the environment, which is made when it is missing.

    Raises SetupFailed.
    """
    if os.environ.get(NO_ENVIRONMENT):
        return
    environment = Environment(ROOT)
    environment.ensure(*names)
    entering = os.environ.pop(ENTERING, None)
    if environment.is_current:
        return
    if entering is not None:
        raise SetupFailed(f"{environment.python} does not start. Delete .venv, then start again.")
    command = [str(environment.python), str(ROOT / "run.py"), *arguments]
    os.execve(command[0], command, {**os.environ, ENTERING: "1"})


def explain(error: Exception) -> tuple[str, int] | None:
    """The sentence for a failure people meet, and the exit status; None for a defect of ours."""
    if isinstance(error, (SetupFailed, JavaMissing)):
        return str(error), 1
    if isinstance(error, PortRefused):
        return str(error), 2
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full ({error}). Free some space, then start again.", 1
    store_errors = sys.modules.get("storage.errors")
    if store_errors is not None and isinstance(error, store_errors.StoreError):
        sentence = str(error).rstrip(".") + "."
        return sentence[:1].upper() + sentence[1:], 2
    return None


def demo(options: argparse.Namespace, rest: list[str]) -> int:
    """Dashboard and backend side by side until Ctrl-C; the page stays up when the stream ends."""
    from backend.launch.supervisor import Supervisor

    begin_store(options)
    options.awaits_run = True
    happenings: Happenings = queue.SimpleQueue()
    with signals_into(happenings):
        status = None
        while status is None:
            port = choose_port(options.host, options.port)
            page = [sys.executable, str(ROOT / "run.py"), "serve", *server_arguments(options, port)]
            engine = [sys.executable, str(ROOT / "run.py"), "backend", *pipeline_arguments(options)]
            opens = getattr(options, "opens", "plan")
            supervisor = Supervisor(page, engine, STATE, options.host, port, opens=opens)
            status = supervisor.run(happenings)
        return status


def tour(options: argparse.Namespace, rest: list[str]) -> int:
    """The demo of the drifting stream, four times as fast, opened at the tour's first stop."""
    words = ["demo", "drift", "--store", options.store, "--set", "rate=4000"]
    shown = build_parser().parse_args(words)
    shown.host, shown.port, shown.opens = options.host, options.port, "plan?tour=1"
    return demo(shown, rest)


def begin_store(options: argparse.Namespace) -> None:
    """A new store begins with a recorded run of the workload, or of the flights, which plays until
    the first batch is there; of a workload of one's own it would tell nothing."""
    from storage.exchange.recordings import READS_XZ, lay_recording

    if options.workload is None or options.workload in shipped_workloads():
        own = RECORDINGS / f"{options.workload}.planwatch.xz"
        lay_recording(own if READS_XZ and own.exists() else RECORDING, options.store)


def serve(options: argparse.Namespace, rest: list[str]) -> int:
    """The dashboard in this process."""
    from dashboard.web.cli import main as run_dashboard

    port = choose_port(options.host, options.port)
    return run_dashboard(server_arguments(options, port))


def replay(options: argparse.Namespace, rest: list[str]) -> int:
    """The dashboard on a recording that nothing may change."""
    from dashboard.web.cli import main as run_dashboard
    from storage.exchange.recordings import unpacked

    port = choose_port(options.host, options.port)
    with unpacked(Path(options.file)) as store:
        options.store = str(store)
        return run_dashboard([*server_arguments(options, port), "--replay"])


def backend(options: argparse.Namespace, rest: list[str]) -> int:
    """The pipeline in this process."""
    from backend.launch.cli import main as run_backend

    return run_backend(pipeline_arguments(options))


def branch(options: argparse.Namespace, rest: list[str]) -> int:
    """A recorded run again, with a knob changed from a batch on, at the lowest priority."""
    from backend.launch.cli import branch as run_branch

    os.nice(19)
    return run_branch(options)


def bench(options: argparse.Namespace, rest: list[str]) -> int:
    """The comparisons, in a process whose Spark settings are its own."""
    words = [*([options.name] if options.name else []), *["--full"] * options.full]
    return subprocess.run([sys.executable, "-m", "bench", *words], cwd=ROOT, check=False).returncode


def experiment(options: argparse.Namespace, rest: list[str]) -> int:
    """A paper's figures again."""
    from bench.experiments import amri, asc, cals, filters, joins, kmon, scheduling

    chosen = {
        "amri": amri.main,
        "asc": asc.main,
        "cals": cals.main,
        "filters": filters.main,
        "joins": joins.main,
        "kmon": kmon.main,
        "scheduling": scheduling.main,
    }
    return chosen[options.name](options, STATE)


def export(options: argparse.Namespace, rest: list[str]) -> int:
    """One run into a file of its own."""
    from storage.store import UnknownRun, open_reader

    with open_reader(options.store) as reader:
        started = {run.started_at: run.id for run in reader.runs()}
        if options.run == "latest" and not started:
            raise UnknownRun(f"{options.store} has no run yet; start one first")
        run_id = started[max(started)] if options.run == "latest" else options.run
        reader.export_run(run_id, options.file)
    print(f"Run {run_id} is in {options.file}; 'run.py replay {options.file}' opens it.")
    return 0


def shell(options: argparse.Namespace, rest: list[str]) -> int:
    """A client in words."""
    from dashboard.console.command import main as run_client

    return run_client(options)


def doctor(options: argparse.Namespace, rest: list[str]) -> int:
    """What is here and what is missing."""
    from backend.launch.doctor import examine

    can_open = all(find_spec(package) for package in ("sqlalchemy", "psycopg"))
    store = [look_at_store(options.store)] if can_open else []
    return examine(Environment(ROOT), options.host, options.port, store)


def look_at_store(url: str) -> "Diagnosis":
    """Whether the store can be opened, and what it holds."""
    from backend.launch.doctor import Diagnosis
    from storage.store import StoreError, StoreMissing, open_reader

    try:
        with open_reader(url) as reader:
            return Diagnosis("store", "ok", f"{url}, {len(reader.runs())} runs")
    except StoreMissing as error:
        return Diagnosis("store", "note" if url == DEFAULT_STORE else "missing", str(error))
    except StoreError as error:
        return Diagnosis("store", "missing", str(error))


def test(options: argparse.Namespace, rest: list[str]) -> int:
    """All checks, or pytest alone."""
    from tests.gate import run_gate

    return run_gate(ROOT, options, rest)


ACTIONS: Final[dict[str, Callable[[argparse.Namespace, list[str]], int]]] = {
    "demo": demo,
    "tour": tour,
    "serve": serve,
    "backend": backend,
    "replay": replay,
    "branch": branch,
    "bench": bench,
    "experiment": experiment,
    "export": export,
    "shell": shell,
    "doctor": doctor,
    "test": test,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
