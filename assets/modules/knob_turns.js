/* Turns of knobs made in this tab. Those of one knob are sent one after the other: the next waits for
   the engine's answer to the last and is asked against the version that answer made, so that one's own
   turns are never in each other's way, whatever page is on screen. */
import { apiError, callApi, followCommand } from "./api.js";
import { announce, emit } from "./core.js";
import { refresh } from "./moment.js";

const WAITING = "pending";
/** @type {Map<string, any>} key -> {request, queue, row} */
const turns = new Map();
/** @type {Map<string, Promise<any>>} key -> the last request of a knob on its way to the store */
const posted = new Map();
const NONE = { request: null, queue: [], row: null };

export const keyOf = (run, { name, scope }) => `${run}|${scope || ""}|${name}`;

/** What was turned: request {phase: pending | applied | refused, value, text} or null; queue: turns that
    wait for it; row: the knob as the engine made it by the last of them, or null. */
export const turnsOf = (key) => turns.get(key) || NONE;

function put(key, changes) {
  turns.set(key, { ...turnsOf(key), ...changes });
  emit("turns", key);
}

const isOpen = ({ request }) => request !== null && request.phase === "pending";

/** Ask the engine for a value. version: of the knob as it was seen. hold: seconds after which the engine
    takes it back unless it is kept, 0 = it stands. Answers, once that is known, with what became of it:
    {phase, value, text}. */
export function send(run, { name, scope }, value, reason, version, hold = 0) {
  const key = keyOf(run, { name, scope });
  return new Promise((done) => {
    const turn = { run, name, scope, value, reason, version, hold, done };
    if (isOpen(turnsOf(key))) put(key, { queue: [...turnsOf(key).queue, turn] });
    else ask(key, turn);
  });
}

/** Ask for several values, {run, knob, scope, value, version}, in this order: one may only do once
    another is in force. Answers with what became of each. */
export async function sendAll(turns, reason) {
  const done = [];
  for (const { run, knob, scope, value, version } of turns) {
    done.push(send(run, { name: knob, scope }, value, reason, version));
    await posted.get(keyOf(run, { name: knob, scope }));
  }
  return Promise.all(done);
}

/** Follow a request of this knob that waits in the store, {id, value}, unless one is followed already. */
export function adopt(run, { name, scope }, { id, value }) {
  const key = keyOf(run, { name, scope });
  if (isOpen(turnsOf(key))) return;
  put(key, { request: { phase: "pending", value, text: WAITING } });
  follow(key, { run, name, scope, value, done: () => undefined }, id);
}

/** Forget the last answer; what is still open stays. */
export function forget(key) {
  if (turns.has(key) && !isOpen(turnsOf(key))) put(key, { request: null });
}

async function ask(key, turn) {
  const { run, name, scope, value, reason, version, hold } = turn;
  put(key, { request: { phase: "pending", value, text: WAITING } });
  const body = { knob: name, scope, value, reason, expected_version: version, unless_kept_s: hold || undefined };
  const request = callApi("POST", `/runs/${encodeURIComponent(run)}/commands`, body);
  posted.set(key, request);
  const answer = await request;
  if (!answer.ok) return close(key, turn, "refused", "refused: " + apiError(answer));
  refresh(true);
  return follow(key, turn, answer.body.id);
}

function follow(key, turn, id) {
  followCommand(turn.run, id, async (command) => {
    if (command.state !== "applied") return close(key, turn, "refused", `refused: ${command.answer}`);
    return close(key, turn, "applied", `applied at batch ${command.applied_batch}`, await readRow(turn));
  });
}

/* The knob as it is now: the page gets it with its next drawing only. */
async function readRow({ run, name, scope }) {
  const answer = await callApi("GET", `/runs/${encodeURIComponent(run)}/knobs`);
  const rows = answer.ok ? answer.body : [];
  return rows.find((row) => row.name === name && row.scope === scope) || null;
}

function close(key, turn, phase, text, row) {
  const { queue, row: before } = turnsOf(key);
  const request = { phase, value: turn.value, text };
  put(key, { request, row: row || before, queue: [] });
  announce(`${turn.name} ${text}`);
  turn.done(request);
  if (!queue.length) return;
  if (phase !== "applied") drop(key, queue, "the turn before it was refused");
  else if (!row || row.value !== turn.value) drop(key, queue, `it is ${row ? row.value : "unknown"} now`);
  else {
    const [next, ...rest] = queue;
    put(key, { queue: rest });
    ask(key, { ...next, version: row.version });
  }
}

/* What waited was meant to follow a value that is not there. */
function drop(key, queue, why) {
  const { value } = queue[queue.length - 1];
  const request = { phase: "refused", value, text: `refused: ${value} was not requested, ${why}` };
  put(key, { request });
  for (const turn of queue) turn.done(request);
}
