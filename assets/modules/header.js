/* The header: mode, run, plan version and age, staleness, counter, theme, share, help. */
import { callApi } from "./api.js";
import { hearTime } from "./clock.js";
import { announce, byId, el, emit, on, setAttr, setText, toast } from "./core.js";
import { age } from "./format.js";
import { addressOf } from "./home.js";
import { currentMode, go, known, layOutAgain, moment, refresh, running } from "./moment.js";
import { awaitedBatch, paintedBatch } from "./painted.js";
import { pointsOf } from "./points.js";
import { ageOf, newerOf } from "./signs.js";
import { ALIVE, standing } from "./standing.js";
import { timeOf, unpacked } from "./times.js";

const MODES = { live: "LIVE", frozen: "FROZEN", replay: "REPLAY" };
/* A run whose engine gives no sign of life is looked at as one that lives, but nothing comes. */
const DEAD = "NEWEST";
const SAID = { live: "Live.", frozen: "Frozen. Nothing moves until you resume.", replay: "Replay of the past." };
const ASK_MS = 5000;
const TOAST_GAP_MS = 5000;
let shell = null;
let said = null;
let lastToast = -TOAST_GAP_MS;
let silent = 0;

export const currentShell = () => shell;

/* What the server knows of the run: see dashboard/views/shell.py. */
export function receive(data) {
  if (!data) return "";
  const before = shell;
  shell = { ...data, ...unpacked(data.history) };
  const run = data.run || {};
  const same = before && before.run && before.run.id === run.id;
  const fresh = !same || known.now === null || data.now >= known.now;
  known.run = run.id || null;
  known.state = run.state || null;
  hearTime(known.run, data.told_at);
  beat = newerOf(same ? beat : null, run.heartbeat_at);
  backlog = run.backlog ?? null;
  if (before && !before.run && data.run) layOutAgain();
  if (fresh && !(same && known.now !== null && currentMode() === "live")) Object.assign(known, { now: data.now, time: data.time });
  if (same && currentMode() === "live") announcePlan(before.plans, data);
  drawHeader();
  emit("shell", shell);
  return run.id || "";
}

/* "Plan 7 — dep_delay before origin · why?", at most one toast in five seconds, then a count. */
function announcePlan(before, { plans, change }) {
  const newest = plans[plans.length - 1];
  const last = newest && before.filter((plan) => plan.unit === newest.unit).pop();
  if (!newest || !last || newest.version <= last.version) return;
  if (performance.now() - lastToast < TOAST_GAP_MS) {
    silent += 1;
    return;
  }
  const more = silent ? ` (and ${silent} more since)` : "";
  silent = 0;
  lastToast = performance.now();
  const link = { text: "why?", path: "/decisions", at: newest.batch, unit: newest.unit };
  const name = `${newest.of ? newest.of + ": " : ""}Plan ${newest.version}`;
  toast(`${name} — ${change}${more}`, link, "switch");
  announce(`${name}: ${change}`);
}

/** The plan in force at a batch, or null. */
export function planAt(batch) {
  const plans = (shell && shell.plans) || [];
  let found = null;
  for (const plan of plans) if (batch === null || plan.batch <= batch) found = plan;
  return found;
}

export function drawHeader() {
  const mode = currentMode();
  const page = byId("pw-shell");
  if (!page || !shell) return;
  setAttr(page, "data-mode", mode);
  setAttr(byId("pw-mode"), "data-mode", shell.run ? mode : "none");
  setAttr(page, "data-past", moment.at !== null && known.now !== null && moment.at < known.now ? "1" : "0");
  drawAge();
  drawState();
  drawRuns();
  drawSince(mode);
  drawNav();
  if (said !== mode && shell.run) {
    if (said !== null) announce(SAID[mode]);
    said = mode;
  }
}

/* The word of the mode, beside how the run stands. */
function drawMode() {
  const mode = currentMode();
  const word = mode === "live" && stands.word === "stopped" ? DEAD : MODES[mode];
  setText("pw-mode-word", shell.run ? word : "NO RUN");
  document.title = [pageTitle(), shell.run && shell.run.id, shell.run && word, "Planwatch"].filter(Boolean).join(" · ");
}

const pageTitle = () => {
  const link = document.querySelector(`.pw-nav-link[data-pw-path="${CSS.escape(moment.path)}"] .pw-nav-label`);
  return link ? link.textContent : "";
};

function drawState() {
  drawMode();
  const node = byId("pw-run-state");
  setText(node, stands.word);
  setAttr(node, "data-state", stands.word);
  setAttr(byId("pw-shell"), "data-standing", stands.word);
  const run = shell.run || {};
  const stream = setText("pw-stream", run.id ? `${run.workload} / ${run.stream}` : "");
  if (stream) setAttr(stream, "title", stream.textContent);
}

function drawRuns() {
  const slot = byId("pw-run-slot");
  if (!slot) return;
  if (!slot.firstChild) slot.append(el("select", { id: "pw-run", class: "pw-input", "aria-label": "Run" }));
  const picker = slot.firstChild;
  const stateOf = (run) => (run.id === known.run ? stands.word : run.state);
  const key = shell.runs.map((run) => run.id + stateOf(run)).join();
  if (picker.dataset.key !== key) {
    picker.dataset.key = key;
    picker.replaceChildren(...shell.runs.map((run) => el("option", { value: run.id }, `${ALIVE.includes(stateOf(run)) ? "● " : ""}${run.label}`)));
    picker.disabled = shell.runs.length === 0;
  }
  if (shell.run && picker.value !== shell.run.id) picker.value = shell.run.id;
  setAttr(picker, "title", picker.selectedOptions[0]?.textContent || "");
}

function drawPlan() {
  const plan = planAt(paintedBatch());
  setText("pw-plan", plan ? (plan.of ? `${plan.version} plans` : `Plan ${plan.version}`) : "No plan yet");
  const old = plan ? planAge(plan) : null;
  setText("pw-plan-age", old === null ? "" : `· ${age(old)} old`);
}

function planAge(plan) {
  if (currentMode() === "live") return ageOf("plan", plan.time);
  const then = timeAt(paintedBatch());
  return then === null ? null : then - plan.time;
}

/** When a batch was recorded (Unix s).
    @param {number | null} batch
    @returns {number | null} */
export const timeAt = (batch) => (shell ? timeOf(shell.times, batch) : null);

function drawSince(mode) {
  const band = byId("pw-since");
  if (!band) return;
  const here = paintedBatch();
  const behind = known.now !== null && here !== null ? Math.max(0, known.now - here) : 0;
  const shown = mode === "frozen" || (mode === "replay" && running());
  band.hidden = !shown;
  const ahead = awaitedBatch() === null ? "" : ` · loading ${awaitedBatch()} …`;
  setText("pw-since-text", `batch ${here ?? "—"} · ${behind} ${behind === 1 ? "batch" : "batches"} since${ahead}`);
}

function drawNav() {
  for (const link of document.querySelectorAll(".pw-nav-link")) {
    const path = link.dataset.pwPath;
    const here = path === moment.path;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    link.hidden = !here && !shell.pages.includes(path);
    setAttr(link, "href", addressOf(path) + window.location.search);
  }
  if (pageMarked !== moment.path) markPage();
}

/* On a phone the pages are a row that is wider than the screen: the one shown is in sight. */
let pageMarked = "";
function markPage() {
  const link = document.querySelector(".pw-nav-link[aria-current]");
  const row = link && link.closest(".pw-side");
  if (!row) return;
  pageMarked = moment.path;
  row.scrollLeft = link.offsetLeft + link.offsetWidth / 2 - row.clientWidth / 2;
}

let beat = null; // last sign of life of the engine, asked for only when its records stay away
let backlog = null; // tuples that waited at the newest batch
let asked = -ASK_MS;
let stands = { word: "", words: "", level: "quiet" };

async function askForLife(run) {
  if (performance.now() - asked < ASK_MS) return;
  asked = performance.now();
  const answer = await callApi("GET", "/runs/" + encodeURIComponent(run));
  if (!answer.ok) return;
  beat = answer.body.heartbeat_at || beat;
  if (shell.run && shell.run.id === run) shell.run.note = answer.body.note;
  if (answer.body.state !== known.state) refresh(true);
}

/** How the run shown stands: see standing.js. */
export const runStanding = () => stands;

/* Once a second and at every delta: how the run stands, and how old its newest record is. */
function drawAge() {
  const node = byId("pw-age");
  if (!node || !shell) return;
  const before = stands.word;
  const run = shell.run && { state: known.state, batch: known.now, age_s: ageOf("batch", known.time), beat_age_s: ageOf("beat", beat), backlog, period_s: shell.period_s, held: (shell.run.pace || {}).held, note: shell.run.note, over: shell.run.over };
  stands = run ? standing(run) : { word: "", words: "", level: "quiet" };
  if (run && running() && stands.word !== "running") askForLife(shell.run.id);
  setText(node, stands.words);
  setAttr(node, "title", stands.words);
  setAttr(node, "data-level", stands.level);
  if (stands.word !== before) {
    drawState();
    drawRuns();
    emit("standing");
    if (before) refresh("numbers");
  }
  drawPlan();
}

on("moment", ({ turned }) => {
  drawHeader();
  if (turned) announce(pageTitle());
});
on("painting", drawHeader);
on("delta", (delta) => {
  known.state = delta.st || known.state;
  const waiting = ((delta.v || {}).system || {}).backlog_tuples;
  if (typeof waiting === "number") backlog = waiting;
  for (const { b, t } of shell ? pointsOf(delta) : []) {
    const newest = shell.times[shell.times.length - 1];
    if (typeof t === "number" && (!newest || b > newest[0])) shell.times.push([b, t]);
  }
  if (currentMode() === "frozen" || currentMode() === "replay") drawSince(currentMode());
  drawAge();
});
window.setInterval(drawAge, 1000);

document.addEventListener("change", (event) => {
  if (event.target.id === "pw-run") go({ run: event.target.value });
});
