"""The shell: what is registered, what comes out, and every change an operator can ask for."""

from __future__ import annotations

import cmd
import json
import re
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any, Final, TextIO

from dashboard.console.client import ApiClient, Unanswered
from storage.exchange.liveness import LIVE_STATES
from storage.vocabulary.records import INTAKE, SIGN, TAU

#: ``under SYSTEM CQL``
_UNDER: Final = re.compile(r"under\s+(\w+)\s+(.*)", re.DOTALL | re.IGNORECASE)

#: A change is answered at a batch boundary; how long to wait for it.
ANSWER_S: Final = 15.0
POLL_S: Final = 0.2
SHOWN: Final = 20


class CommandShell(cmd.Cmd):
    """One command a line; 'help' lists them. out: where answers are printed."""

    intro = "Planwatch. 'help' lists the commands, 'quit' leaves."

    def __init__(self, client: ApiClient, run: str = "", out: TextIO | None = None) -> None:
        super().__init__(stdout=out or sys.stdout)
        self._client, self._run = client, run
        self.n_failed = 0

    @property
    def prompt(self) -> str:  # type: ignore[override]  # cmd has an attribute
        """The run that is talked about."""
        return f"{self._run or 'newest run'}> "

    def onecmd(self, line: str) -> bool:
        """Do one command; what is refused is said, and counted."""
        try:
            return bool(super().onecmd(line))
        except Unanswered as refusal:
            self.n_failed += 1
            self._say(str(refusal))
        except KeyboardInterrupt:
            self._say("")
        return False

    def emptyline(self) -> bool:
        """Nothing is done for nothing."""
        return False

    def default(self, line: str) -> None:
        """An unknown command."""
        raise Unanswered(f"There is no command {line.split()[0]!r}; 'help' lists them.")

    # ------------------------------------------------------------------ looking

    def do_runs(self, rest: str) -> None:
        """runs: all runs, newest first"""
        rows = self._client.get("runs")
        self._table(rows, ("id", "workload", "state", "note"))

    def do_use(self, rest: str) -> None:
        """use RUN: talk about this run; without a name about the newest"""
        self._run = rest.strip()
        self._say(f"run {self._id()}")

    def do_streams(self, rest: str) -> None:
        """streams: what the run reads"""
        knobs = {
            knob["scope"]: knob["value"] for knob in self._get("knobs") if knob["name"] == INTAKE
        }
        sources = self._sources()
        shown = [
            {
                **row,
                "schema": ", ".join(" ".join(pair) for pair in row["schema"]),
                INTAKE: knobs.get(sources.get(row["name"]), ""),
            }
            for row in self._get("inputs")
        ]
        self._table(shown, ("name", "state", INTAKE, "timestamp", "schema", "note"))

    def do_queries(self, rest: str) -> None:
        """queries: what is registered, with its text"""
        rows = [{"name": q["name"], **q["properties"]} for q in self._get("queries")]
        self._table(rows, ("name", "state", "text"))

    def do_plan(self, rest: str) -> None:
        """plan: the operators of the plans in force, each with what feeds it"""
        for unit in self._get("units"):
            plans = self._get("plans", unit=unit["id"])
            if plans:
                self._say(f"{unit['title']}: plan {plans[-1]['version']}, {plans[-1]['reason']}")
                self._say("\n".join(tree(plans[-1]["graph"])))

    def do_knobs(self, rest: str) -> None:
        """knobs [WORD]: values, ranges and meaning; of queues only those with the word"""
        word = rest.strip()
        queues = {entity["id"] for entity in self._get("entities") if entity["kind"] == "queue"}
        rows = [
            {**knob, "range": ", ".join(knob["choices"]) or f"{knob['low']} .. {knob['high']}"}
            for knob in self._get("knobs")
            if (word in f"{knob['scope']}/{knob['name']}" if word else knob["scope"] not in queues)
        ]
        self._table(rows, ("scope", "name", "value", "unit", "range", "help"))

    def do_results(self, rest: str) -> None:
        """results [QUERY]: the newest results"""
        for row in self._get("results", query=rest.strip() or None)[-SHOWN:]:
            self._say(result_line(row))

    def do_watch(self, rest: str) -> None:
        """watch [QUERY]: results as they come, until Ctrl-C"""
        run, query, seen = self._id(), rest.strip(), -1
        lives = True
        while lives:
            lives = self._client.get("runs", run)["state"] in LIVE_STATES
            rows = self._client.get("runs", run, "results", query=query or None)
            for row in rows:
                if row["batch"] > seen:
                    self._say(result_line(row))
            seen = max([seen, *(row["batch"] for row in rows)])
            if lives:
                time.sleep(POLL_S * 5)

    def do_events(self, rest: str) -> None:
        """events: what happened last"""
        self._table(self._get("events")[-SHOWN:], ("batch", "kind", "title", "detail"))

    # ------------------------------------------------------------------ changing

    def do_register(self, rest: str) -> None:
        """register NAME [under SYSTEM] CQL: add a continuous query"""
        name, text = self._two(rest, "register NAME [under SYSTEM] CQL")
        asked = _UNDER.match(text)
        system, text = asked.groups() if asked else ("", text)
        self._change("POST", "queries", body={"name": name, "text": text, "system": system})

    def do_pause(self, rest: str) -> None:
        """pause QUERY or STREAM"""
        name = self._one(rest, "pause QUERY or STREAM")
        if not self._turned(name, "paused"):
            self._change("POST", "queries", name, "pause")

    def do_resume(self, rest: str) -> None:
        """resume QUERY or STREAM, a removed one, too"""
        name = self._one(rest, "resume QUERY or STREAM")
        if not self._turned(name, "on"):
            self._change("POST", "queries", name, "resume")

    def do_remove(self, rest: str) -> None:
        """remove QUERY, or STREAM that no query reads"""
        name = self._one(rest, "remove QUERY or STREAM")
        if not self._turned(name, "removed"):
            self._change("DELETE", "queries", name)

    def do_set(self, rest: str) -> None:
        """set [SCOPE/]KNOB VALUE [REASON]: turn a knob"""
        knob, words = self._two(rest, "set KNOB VALUE [REASON]")
        value, _, reason = words.partition(" ")
        scope, slash, name = knob.rpartition("/")
        body = {"knob": name, "value": _value(value), "reason": reason.strip()}
        self._change("POST", "commands", body=body | ({"scope": scope} if slash else {}))

    def do_hold(self, rest: str) -> None:
        """hold [REASON]: no further batch begins"""
        self._change("POST", "hold", reason=rest.strip() or None)

    def do_go(self, rest: str) -> None:
        """go: a held run goes on"""
        self._change("POST", "go-on")

    def do_step(self, rest: str) -> None:
        """step [decision]: one batch of a held run, or one scheduling decision"""
        self._change("POST", "step", of=rest.strip() or "batch")

    def do_speed(self, rest: str) -> None:
        """speed FACTOR: replay streams so many times as fast as their rates"""
        body = {"knob": "speed", "scope": "", "value": _value(self._one(rest, "speed FACTOR"))}
        self._change("POST", "commands", body=body)

    def do_quit(self, rest: str) -> bool:
        """quit: leave"""
        return True

    do_EOF = do_quit

    # ------------------------------------------------------------------ helpers

    def _id(self) -> str:
        if self._run:
            return self._run
        runs = self._client.get("runs")
        if not runs:
            raise Unanswered("The store has no run yet.")
        return str(runs[0]["id"])

    def _get(self, *path: str, **query: object) -> Any:
        return self._client.get("runs", self._id(), *path, **query)

    def _change(self, method: str, *path: str, body: object = None, **query: object) -> None:
        """Ask, and wait for the engine's word."""
        asked = self._client.change(method, "runs", self._id(), *path, body=body, **query)
        deadline = time.monotonic() + ANSWER_S
        while asked["state"] == "requested" and time.monotonic() < deadline:
            time.sleep(POLL_S)
            asked = self._get("commands", str(asked["id"]))
        if asked["state"] == "refused":
            raise Unanswered(f"Refused: {asked['answer']}.")
        waits = f"requested as command {asked['id']}; no batch has answered yet"
        self._say(asked["answer"] if asked["state"] == "applied" else waits)

    def _sources(self) -> dict[str, str]:
        """The entity of each stream."""
        return {
            entity["name"]: entity["id"]
            for entity in self._get("entities")
            if entity["role"] == "source"
        }

    def _turned(self, name: str, intake: str) -> bool:
        """Turn the intake of a stream, if the name is one's and no query's."""
        if name in {query["name"] for query in self._get("queries")}:
            return False
        source = self._sources().get(name)
        if source is None:
            return False
        body = {"knob": INTAKE, "scope": source, "value": intake}
        self._change("POST", "commands", body=body)
        return True

    def _one(self, rest: str, usage: str) -> str:
        try:
            words = shlex.split(rest)
        except ValueError as error:  # a quote that is not closed
            raise Unanswered(f"usage: {usage}") from error
        if len(words) != 1:
            raise Unanswered(f"usage: {usage}")
        return words[0]

    def _two(self, rest: str, usage: str) -> tuple[str, str]:
        letters = StringIO(rest)
        words = shlex.shlex(letters, posix=True)
        words.whitespace_split, words.commenters = True, ""
        try:
            first = words.get_token()
        except ValueError as error:  # a quote that is not closed
            raise Unanswered(f"usage: {usage}") from error
        second = letters.read().strip()
        if not first or not second:
            raise Unanswered(f"usage: {usage}")
        return first, second

    def _table(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
        self._say("\n".join(table(rows, columns)) if rows else "none")

    def _say(self, text: str) -> None:
        self.stdout.write(f"{text}\n")
        self.stdout.flush()


def _value(text: str) -> object:
    """A number, true, false, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """Lines of a table; the last column is as wide as it needs."""
    cells = [list(columns), *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
    return [line.rstrip() for line in lines]


def _cell(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


def result_line(row: Mapping[str, Any]) -> str:
    """A result: batch, sign and time where it has them, values, queries."""
    values = dict(row["values"])
    sign = {1: "+", -1: "−"}.get(values.pop(SIGN, 0), " ")
    tau = values.pop(TAU, None)
    shown = ", ".join(f"{name}={_cell(value)}" for name, value in values.items())
    when = "" if tau is None else f" @{tau}"
    return f"{sign} batch {row['batch']}{when}  {' '.join(row['query_ids'])}: {shown}"


def tree(graph: Mapping[str, Any]) -> list[str]:
    """The operators of a plan graph: outputs first, each above what feeds it, indented."""
    nodes = {node["id"]: node for node in graph["nodes"]}
    feeding: dict[str, list[str]] = {id: [] for id in nodes}
    for edge in graph["edges"]:
        feeding[edge["target"]].append(edge["source"])
    fed = {source for sources in feeding.values() for source in sources}
    lines: list[str] = []
    seen: set[str] = set()

    def walk(id: str, depth: int) -> None:
        again = "  (above)" if id in seen and feeding[id] else ""
        lines.append(f"{'  ' * depth}{nodes[id]['name']} [{nodes[id]['role']}]{again}")
        if id not in seen:
            seen.add(id)
            for source in feeding[id]:
                walk(source, depth + 1)

    for id in nodes:
        if id not in fed:
            walk(id, 0)
    return lines


def run_shell(
    client: ApiClient, run: str, lines: Iterable[str] | None, out: TextIO | None = None
) -> int:
    """Talk until the end; the exit status: 1 when a line of ``lines`` was refused. lines: commands
    of a script; None: ask people."""
    shell = CommandShell(client, run, out)
    if lines is None:
        shell.cmdloop()
        return 0
    for line in lines:
        if line.strip() and not line.lstrip().startswith("#") and shell.onecmd(line.strip()):
            break
    return 1 if shell.n_failed else 0
