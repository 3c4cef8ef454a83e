/* The timeline strip: cost over the whole run, events as glyphs, the cursor. The app's spine.

   Data comes with the shell (first, now, cost [[batch, visits/tuple]…], times, events); deltas
   extend it while LIVE. A frozen strip does not move. It shows the span that brush.js chooses; turns of
   knobs have a row of their own, so that nothing hides what one did oneself. */
import { brush, drawBrush } from "./brush.js";
import { SVG, announce, byId, el, on, setAttr, setText, still } from "./core.js";
import { clock, show } from "./format.js";
import { currentShell, timeAt } from "./header.js";
import { otherFuture, ringOf, tryIfNot } from "./if_not.js";
import { areaPoints, linePoints, scale } from "./paths.js";
import { robustTop } from "./times.js";
import { viewRange, wholeRange } from "./view_range.js";
import { pointsOf } from "./points.js";
import { currentMode, go, known, moment, shownBatch } from "./moment.js";
import { aim, awaitedBatch, seek } from "./painted.js";
import { pause, replayControls } from "./replay.js";

const PAD = 8; // half the thumb of the range, so that its centre is on the batch
const HEIGHT = 28;
const TURNS = ["knob", "algorithm"];
const NEAR = 12; // pixels within which events share a glyph
const REDRAW_MS = 2000; // the whole run changes slowly; the cursor follows at once
let parts = null;
let cost = [];
let range = { first: 0, last: 0 }; // the batches on screen
let width = 0; // of the track, as drawn: asking for it lays the page out
let drawn = 0;
let later = null;
const PULSE_MS = 1400; // as in d_graph_lane.css
let newest = { run: null, batch: null, at: -PULSE_MS }; // the last change of the plan, and when it came

/* A change of the plan that comes while one looks on pulses for a while. */
function notice({ run, events }) {
  const id = run && run.id;
  const batch = Math.max(-1, ...(events || []).filter((event) => event.kind === "rearrangement").map((event) => event.b));
  const came = newest.run === id && batch > newest.batch && currentMode() === "live" && !still();
  if (came || newest.run !== id) newest = { run: id, batch, at: came ? performance.now() : -PULSE_MS };
}

const pulses = (group) => performance.now() - newest.at < PULSE_MS && group.events.some((event) => event.b === newest.batch && event.kind === "rearrangement");

function build(strip) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("aria-hidden", "true");
  svg.innerHTML = '<polygon class="pw-area"></polygon><polyline class="pw-line"></polyline><polygon class="pw-ifnot-area"></polygon><polyline class="pw-ifnot-line"></polyline>';
  const cursor = el("i", { class: "pw-strip-cursor", "aria-hidden": "true" });
  const slider = el("input", { type: "range", id: "pw-scrubber", step: 1, "aria-label": "Moment in the run" });
  const gaps = el("div", { class: "pw-strip-gaps" });
  const lane = el("div", { class: "pw-strip-lane", role: "toolbar", "aria-label": "Events of the run" });
  const track = el("div", { class: "pw-strip-track" }, brush(), svg, gaps, cursor, slider, lane);
  const caption = el("span", { class: "pw-strip-caption" }, "visits / tuple");
  const highest = el("span", { class: "pw-strip-scale" });
  const batch = el("b", { id: "pw-strip-batch" });
  const time = el("span", { id: "pw-strip-time" });
  const now = el("button", { type: "button", class: "pw-button", id: "pw-now", title: "Jump to now (.)" }, "now");
  now.addEventListener("click", () => go({ at: null }));
  const label = el("div", { class: "pw-strip-label" }, caption, highest);
  const readout = el("div", { class: "pw-strip-readout" }, batch, time);
  strip.replaceChildren(replayControls(), label, track, readout, now);
  parts = { strip, svg, gaps, cursor, slider, lane, track, scale: highest, batch, time, now };
  slider.addEventListener("input", () => scrub(Number(slider.value), true));
  slider.addEventListener("change", () => scrub(Number(slider.value), false));
  slider.addEventListener("keydown", keys);
  lane.addEventListener("keydown", roam);
  new ResizeObserver(() => draw()).observe(track);
}

function scrub(batch, moving) {
  place(batch);
  pause();
  seek(batch, moving);
}

export function stepBatch(way) {
  const shown = aim();
  if (shown === null) return;
  pause();
  seek(Math.min(known.now, Math.max(wholeRange().first, shown + way)));
}

export function stepAdaptation(way) {
  const shown = aim();
  const batches = ((currentShell() || {}).plans || []).slice(1).map((plan) => plan.batch);
  const ahead = way < 0 ? batches.filter((b) => b < shown).pop() : batches.find((b) => b > shown);
  if (ahead === undefined) return announce(way < 0 ? "No earlier adaptation" : "No later adaptation");
  pause();
  return seek(ahead);
}

function keys(event) {
  const way = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }[event.key];
  if (!way) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.shiftKey || event.key === "ArrowUp" || event.key === "ArrowDown") stepBatch(way);
  else stepAdaptation(way);
}

/* The lane is one stop of the tab key; arrows go from glyph to glyph. */
function roam(event) {
  const marks = [...parts.lane.children];
  const index = marks.indexOf(document.activeElement);
  const to = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: marks.length - 1 }[event.key];
  if (to === undefined || !marks[to]) return;
  event.preventDefault();
  event.stopPropagation();
  for (const one of marks) one.tabIndex = -1;
  marks[to].tabIndex = 0;
  marks[to].focus();
}

const x = (batch) => {
  const room = width - 2 * PAD;
  const span = Math.max(1, range.last - range.first);
  return PAD + (room * (Math.min(range.last, Math.max(range.first, batch)) - range.first)) / span;
};

function draw() {
  if (!parts) return;
  width = parts.track.clientWidth;
  if (!width) return;
  drawn = performance.now();
  range = viewRange();
  drawBrush();
  drawCost();
  drawGaps((currentShell() || {}).gaps || []);
  drawEvents((currentShell() || {}).events || []);
  const empty = known.now === null;
  parts.slider.disabled = empty;
  parts.slider.min = range.first;
  parts.slider.max = range.last;
  place(aim());
}

/* Where the moment moves and the batches on screen are as they were. */
function drawAgain() {
  const { first, last } = viewRange();
  if (!parts || first !== range.first || last !== range.last) return draw();
  const shown = String(shownBatch());
  for (const node of parts.lane.children) {
    if (node.dataset.pwAt === shown) node.setAttribute("aria-current", "true");
    else node.removeAttribute("aria-current");
  }
  return place(aim());
}

function drawCost() {
  const points = cost.filter(([batch]) => batch >= range.first && batch <= range.last);
  const other = otherFuture().filter(([batch]) => batch >= range.first && batch <= range.last);
  const { top: most, cut } = robustTop([...points, ...other].map((point) => point[1]));
  const top = Math.max(0.001, most);
  const y = (value) => scale([0, top], [HEIGHT - 2, 3])(Math.min(top, value));
  setAttr(parts.svg, "viewBox", `0 0 ${width} ${HEIGHT}`);
  const [area, line, between, dashed] = parts.svg.children;
  line.setAttribute("points", linePoints(points, x, y));
  const beside = other.length ? points.filter(([batch]) => batch >= other[0][0] && batch <= other[other.length - 1][0]) : [];
  dashed.setAttribute("points", linePoints(other, x, y));
  between.setAttribute("points", linePoints([...other, ...beside.reverse()], x, y));
  area.setAttribute("points", areaPoints(points, x, y, HEIGHT));
  setText(parts.scale, cost.length ? `0 … ${show(top, "f2")}${cut ? ` (${cut} above)` : ""}` : "no batches yet");
}

/* A gap lies between two batches, and takes no room of its own. */
function drawGaps(gaps) {
  const shown = gaps.filter(([batch]) => batch >= range.first && batch <= range.last);
  const bands = shown.map(([batch, words]) => {
    const label = `${words} before batch ${batch}`;
    return el("i", { class: "pw-strip-gap", role: "img", style: `left:${x(batch - 0.5).toFixed(1)}px`, title: label, "aria-label": label });
  });
  parts.gaps.replaceChildren(...bands);
}

function grouped(events) {
  const groups = [];
  for (const event of events) {
    const at = x(event.b);
    const last = groups[groups.length - 1];
    if (last && at - last.x < NEAR) last.events.push(event);
    else groups.push({ x: at, events: [event] });
  }
  return groups;
}

function drawEvents(events) {
  const shown = shownBatch();
  const focused = parts.lane.contains(document.activeElement) ? document.activeElement.dataset.pwAt : null;
  const inside = events.filter((event) => event.b >= range.first && event.b <= range.last);
  const isTurn = (event) => TURNS.includes(event.kind);
  const rows = [inside.filter((event) => !isTurn(event)), inside.filter(isTurn)];
  const groups = rows.flatMap((row, place) => grouped(row).map((group) => ({ ...group, place })));
  const marks = groups.sort((a, b) => a.x - b.x).map((group) => mark(group, shown));
  if (marks.length) (marks.find((node) => node.dataset.pwAt === focused) || marks[marks.length - 1]).tabIndex = 0;
  parts.lane.replaceChildren(...marks);
  if (focused) marks.filter((node) => node.dataset.pwAt === focused).forEach((node) => node.focus());
}

function mark(group, shown) {
  const { kinds } = currentShell(); // kind: [sign, word, rank]; the lowest rank speaks for a group
  const lead = group.events.reduce((best, event) => (kinds[event.kind][2] < kinds[best.kind][2] ? event : best));
  const [glyph, word] = kinds[lead.kind];
  const more = group.events.length - 1;
  const changes = group.events.filter((event) => event.seq !== undefined);
  const ring = changes.map(ringOf).find((share) => share !== null) ?? null;
  const pulse = pulses(group) ? `;animation-delay:${newest.at - performance.now()}ms` : "";
  const text = `Batch ${lead.b}, ${word}: ${lead.title}${more ? ` (and ${more} more nearby)` : ""}`;
  return el(
    "button",
    {
      type: "button",
      class: `pw-mark${pulse ? " pw-mark-new" : ""}${ring === null ? "" : " pw-mark-ring"}`,
      style: `left:${group.x.toFixed(1)}px${pulse}${ring === null ? "" : `;--pw-ring:${(100 * ring).toFixed(0)}%`}`,
      onclick: changes.length ? () => tryIfNot(changes[changes.length - 1], false) : null,
      tabindex: -1,
      title: text,
      "aria-label": text,
      "aria-current": lead.b === shown ? "true" : null,
      "data-kind": lead.kind,
      "data-row": group.place,
      "data-pw-at": lead.b,
    },
    glyph,
    group.place === 1 && more ? el("sub", {}, String(more + 1)) : null
  );
}

/* Put the cursor and the readout on a batch. */
function place(batch) {
  if (!parts) return;
  const shown = batch !== null && batch !== undefined;
  parts.cursor.hidden = !shown;
  if (shown) {
    parts.cursor.hidden = batch < range.first || batch > range.last;
    parts.cursor.style.left = `${x(batch).toFixed(1)}px`;
    if (document.activeElement !== parts.slider || Number(parts.slider.value) !== batch) parts.slider.value = batch;
  }
  const time = shown ? timeAt(batch) : null;
  const word = batch === awaitedBatch() ? "loading" : "batch";
  setText(parts.batch, shown ? `${word} ${show(batch, "int")}` : "");
  setText(parts.time, time === null ? "" : `${clock(time)} UTC`);
  setAttr(parts.slider, "aria-valuetext", shown ? `batch ${batch} of ${range.last}` : "no batches yet");
  parts.now.disabled = moment.at === null;
}

on("shell", (data) => {
  const strip = byId("pw-strip");
  if (!strip) return;
  if (!parts || parts.strip !== strip) build(strip);
  cost = data.cost.slice();
  notice(data);
  draw();
});

on("moment", drawAgain);
on("ifnot", draw);
on("painting", () => parts && place(aim()));

/* New batches: extend while LIVE; in REPLAY only the end of the scale grows; FROZEN stands still. */
on("delta", (delta) => {
  const mode = currentMode();
  const newest = cost.length ? cost[cost.length - 1][0] : -1;
  if (mode === "live") place(known.now); // what was read of the run may have been ahead
  if (mode === "frozen" || typeof delta.b !== "number" || delta.b <= newest) return;
  for (const { b, v } of pointsOf(delta)) {
    const visits = (v.system || {}).visits_per_tuple;
    if (b > newest && typeof visits === "number") cost.push([b, visits]);
  }
  range = viewRange();
  if (later === null) {
    later = window.setTimeout(() => {
      later = null;
      if (currentMode() !== "frozen") draw();
    }, Math.max(0, drawn + REDRAW_MS - performance.now()));
  }
});
