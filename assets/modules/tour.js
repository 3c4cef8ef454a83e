/* The guided demo: a box that walks through those of tour_stops.js that the run on screen has, points at
   what it speaks of and makes its turns when told. The stop is in the address (?tour=3), so a reload and a
   copied link keep it. Page down and page up (a presenter's remote) go on and back, Enter makes the turn,
   Esc leaves. */
import { callApi } from "./api.js";
import { announce, byId, el, on, setAttr, setText } from "./core.js";
import { send } from "./knob_turns.js";
import { currentMode, freeze, go, known, moment, resume } from "./moment.js";
import { STOPS } from "./tour_stops.js";

const FOLLOW_MS = 200; // how often the frame looks where its target is
const MARGIN = 6;
const POOL = "pool_bytes";
const BRING_MS = 3000;
let box = null;
let frame = null;
let pages = []; // of the run
let knobs = null; // names of those that do something in the run, null while they are not known
let harm = {}; // commands that kill the engine and resume the run: {kill, resume}, of a demo
let asked = null; // the run they were asked of
let shown = null; // number of the stop the box speaks of, from 0
let timer = null;
const before = new Map(); // knob of a run -> its value before the tour turned it
let bringUntil = 0; // until when the page is scrolled to its target, as it may still be drawn

/* Those of which the run has the page and the knob. */
const stops = () => STOPS.filter(({ own, path, needs, unless, kills }) => (!own || pages.includes(path)) && (!needs || knobs.has(needs)) && !(unless && knobs.has(unless)) && !(kills && !harm.resume));

/* Which knobs the run has, and whether something bids under its pool, asked once a run. */
async function know() {
  asked = known.run;
  const run = `/runs/${encodeURIComponent(known.run)}`;
  const answer = await callApi("GET", `${run}/knobs`);
  if (!answer.ok) return;
  const names = new Set(answer.body.map((knob) => knob.name));
  const pool = answer.body.find((knob) => knob.name === POOL);
  if (pool) {
    const bids = await callApi("GET", `${run}/market?${new URLSearchParams({ knob: POOL, scope: pool.scope, value: pool.value })}`);
    if (!bids.ok || !Object.keys(bids.body.granted).length) names.delete(POOL);
  }
  knobs = names;
  shown = null;
  draw();
}

const number = () => (/^[1-9]\d*$/.test(moment.tour || "") ? Math.min(Number(moment.tour), stops().length) - 1 : null);

/** Begin the tour, or go to one of its stops (from 0). */
export function visit(stop) {
  const { path, show = null } = stops()[stop];
  const changes = { tour: String(stop + 1), path, show };
  if (currentMode() === "frozen") Object.assign(changes, { at: null, frozen: false });
  go(changes);
}

const leave = () => go({ tour: null });

function step(way) {
  const asked = Number(new URLSearchParams(window.location.search).get("tour")) - 1; // ahead of what is shown
  const to = (asked >= 0 ? Math.min(asked, stops().length - 1) : shown) + way;
  if (to >= stops().length) leave();
  else if (to >= 0) visit(to);
}

function build() {
  const button = (id, text, act, more) => el("button", { type: "button", class: "pw-button" + (more || ""), id, onclick: act }, text);
  box = el(
    "section",
    { class: "pw-tour", id: "pw-tour", "aria-label": "Guided tour", "aria-live": "polite" },
    el("button", { type: "button", class: "pw-toast-close", id: "pw-tour-leave", "aria-label": "Leave the tour", title: "Leave (Esc)", onclick: leave }, "×"),
    el("p", { class: "pw-tour-place", id: "pw-tour-place" }),
    el("h2", { id: "pw-tour-title" }),
    el("p", { id: "pw-tour-words" }),
    el("div", { class: "pw-tour-commands", id: "pw-tour-commands" }),
    el("p", { class: "pw-tour-said", id: "pw-tour-said", role: "status" }),
    el(
      "div",
      { class: "pw-tour-buttons" },
      button("pw-tour-back", "Back", () => step(-1)),
      button("pw-tour-turn", "", act, " pw-tour-turn"),
      button("pw-tour-next", "Next", () => step(1), " pw-primary")
    )
  );
  frame = el("div", { class: "pw-tour-frame", "aria-hidden": "true", hidden: "" });
  document.body.append(frame, box);
}

function draw() {
  if (!moment.tour) return close();
  if (known.run && known.run !== asked) know();
  if (!knobs) return undefined;
  const stop = number();
  if (stop === null) return close();
  if (!box) build();
  if (shown === stop) return follow();
  shown = stop;
  bringUntil = performance.now() + BRING_MS;
  const { title, words, turn, kills, freeze: still } = stops()[stop];
  byId("pw-tour-commands").replaceChildren(...(kills ? [...(harm.kill ? [typed("kill it", harm.kill)] : []), typed("resume it", harm.resume)] : []));
  setText("pw-tour-place", `${stop + 1} of ${stops().length} · page down, page up`);
  setText("pw-tour-title", title);
  setText("pw-tour-words", words);
  setText("pw-tour-said", "");
  const label = turn ? turn.label : still;
  byId("pw-tour-turn").hidden = !label;
  setText("pw-tour-turn", label || "");
  byId("pw-tour-back").disabled = stop === 0;
  setText("pw-tour-next", stop === stops().length - 1 ? "Finish" : "Next");
  timer = timer || window.setInterval(follow, FOLLOW_MS);
  announce(`Stop ${stop + 1}: ${title}`);
  return follow();
}

/* A command to type, with a button that copies it. */
function typed(what, command) {
  const copied = () => setText("pw-tour-said", `Copied: paste it into a terminal, in Planwatch's folder, to ${what}.`);
  const refused = () => setText("pw-tour-said", "The browser does not let a page copy here: select the command.");
  const copy = () => (navigator.clipboard ? navigator.clipboard.writeText(command).then(copied, refused) : refused());
  return el("p", {}, el("code", {}, command), el("button", { type: "button", class: "pw-button", "aria-label": `Copy the command to ${what}`, onclick: copy }, "Copy"));
}

function close() {
  if (!box) return;
  window.clearInterval(timer);
  box.remove();
  frame.remove();
  [box, frame, shown, timer] = [null, null, null, null];
}

/* The first thing a stop speaks of that is on the page. */
const target = () => stops()[shown].look.split(", ").map((one) => document.querySelector(one)).find((node) => node && node.checkVisibility()) || null;

/* The frame goes where its target is; the box goes to the corner that hides least of it. */
function follow() {
  const node = target();
  frame.hidden = node === null;
  if (!node) return;
  if (performance.now() < bringUntil) bring(node);
  const found = node.getBoundingClientRect();
  const place = { left: found.left - MARGIN, top: found.top - MARGIN, width: found.width + 2 * MARGIN, height: found.height + 2 * MARGIN };
  for (const [side, value] of Object.entries(place)) frame.style[side] = `${value.toFixed(0)}px`;
  setAttr(box, "data-corner", corner(found));
}

/* Below the header, which may lie over the page; what is in the header is in sight. */
function bring(node) {
  const header = document.querySelector(".pw-top");
  const lies = getComputedStyle(header).position === "fixed";
  if (lies && header.contains(node)) return;
  const { top, bottom } = node.getBoundingClientRect();
  const first = (lies ? header.offsetHeight : 0) + 2 * MARGIN;
  if (top < first || (bottom > window.innerHeight && top > first + MARGIN)) window.scrollBy(0, top - first);
}

for (const kind of ["wheel", "touchmove", "pointerdown"]) window.addEventListener(kind, () => (bringUntil = 0), { passive: true });

function corner(found) {
  const { innerWidth, innerHeight } = window;
  const { width, height } = box.getBoundingClientRect();
  const hidden = (left, top) => Math.max(0, Math.min(found.right, left + width) - Math.max(found.left, left)) * Math.max(0, Math.min(found.bottom, top + height) - Math.max(found.top, top));
  const places = { "bottom-right": [innerWidth - width, innerHeight - height], "bottom-left": [0, innerHeight - height], "top-right": [innerWidth - width, 0] };
  return Object.keys(places).reduce((best, name) => (hidden(...places[name]) < hidden(...places[best]) ? name : best));
}

/* What a stop's button does: freeze and resume, or turn a knob of the run on screen. */
function act() {
  const { turn } = stops()[shown];
  if (!turn) return currentMode() === "live" ? freeze() : resume();
  return makeTurn(turn, shown);
}

async function makeTurn(turn, stop) {
  const say = (text) => shown === stop && setText("pw-tour-said", text);
  if (currentMode() !== "live") return say("The run is not live yet; the turn waits for that. Try again in a moment.");
  const run = known.run;
  const answer = await callApi("GET", `/runs/${encodeURIComponent(run)}/knobs`);
  const knob = answer.ok && answer.body.find((row) => row.name === turn.knob);
  if (!knob) return say(`This run has no knob ${turn.knob}.`);
  const key = `${run} ${turn.knob}`;
  const value = turned(turn, knob, before.get(key));
  if (value === knob.value) return say("The page already shows it.");
  if (!turn.back && !turn.hold && !before.has(key)) before.set(key, knob.value);
  say(`${knob.value} → ${value}: requested …`);
  const done = await send(run, knob, value, "guided tour", knob.version, turn.hold);
  const back = turn.hold && done.phase === "applied" ? `, ${knob.value} again after ${turn.hold} s` : "";
  return say(`${knob.value} → ${value}: ${done.text}${back}.`);
}

function turned({ back, value, times }, knob, was) {
  if (back) return was ?? knob.default;
  if (value !== undefined) return value;
  const more = Math.min(knob.high ?? Infinity, knob.value * times);
  return knob.kind === "int" ? Math.round(more) : more;
}

const KEYS = { PageDown: () => step(1), PageUp: () => step(-1), Escape: leave, Enter: () => byId("pw-tour-turn").hidden || act() };

document.addEventListener(
  "keydown",
  (event) => {
    const busy = event.target instanceof Element && event.target.closest("input:not([type=range]), textarea, select, dialog");
    const pressed = event.key === "Enter" && event.target instanceof Element && event.target.closest("button, a, summary, [role=button], [tabindex]");
    if (shown === null || busy || (pressed && event.target !== byId("main")) || !KEYS[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    KEYS[event.key]();
  },
  true
);

document.addEventListener("click", (event) => {
  if (event.target.id !== "pw-tour-open") return;
  byId("pw-help").close();
  if (knobs && asked === known.run) visit(0);
  else go({ tour: "1", path: "/plan", show: null });
});

on("moment", draw);
on("shell", ({ pages: own = [], harm: commands = {} }) => {
  const before = knobs && stops().length;
  pages = own;
  if (harm.kill !== commands.kill) shown = null;
  harm = commands;
  if (knobs && stops().length !== before) shown = null;
  if (moment.tour) draw();
});
