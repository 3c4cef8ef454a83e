/* Play and pause: in REPLAY the cursor runs through the recorded times at 1 to 100 times the speed. */
import { spanChoice } from "./brush.js";
import { el, on, setAttr } from "./core.js";
import { currentShell } from "./header.js";
import { currentMode, go, known, shownBatch, toggleFreeze } from "./moment.js";
import { isPainting, seek } from "./painted.js";
import { batchOf, evened, timeOf } from "./times.js";

const SPEEDS = [1, 2, 5, 10, 25, 50, 100];
const STEP_MS = 250;
const GENTLE_MS = 2000; // between steps of what plays by itself: another run needs the machine to start
const LONGEST_WAIT_S = 1; // for the next batch of what plays by itself: long ones pass quickly
let timer = null;
let loops = false; // at its end it begins anew
let clock = null; // recorded time the cursor has reached
let stepped = 0; // when it did
let button = null;
let speed = null;

export function replayControls() {
  button = el("button", { type: "button", class: "pw-button pw-play", id: "pw-play" });
  button.addEventListener("click", () => playOrFreeze());
  const options = SPEEDS.map((value) => el("option", { value }, `replay ${value}×`));
  speed = el("select", { class: "pw-input pw-speed", id: "pw-speed", "aria-label": "Replay speed" }, options);
  speed.value = "10";
  draw();
  return el("div", { class: "pw-strip-controls" }, button, speed, spanChoice());
}

/** What space does: freeze or resume a running run, play or pause a replay. */
export function playOrFreeze() {
  const mode = currentMode();
  if (mode === "replay") return timer === null ? play() : pause();
  return toggleFreeze();
}

export const isPlaying = () => timer !== null;

/** Play from a batch on, at the pace of the records, again and again; place: fields of the moment. */
export function playFrom(batch, place) {
  pause();
  go({ ...place, at: batch }, true);
  start(batch);
  loops = true;
  if (speed) speed.value = "1";
}

export function pause() {
  window.clearInterval(timer);
  timer = null;
  loops = false;
  draw();
}

function play() {
  if (known.now === null) return;
  const data = currentShell();
  const ended = shownBatch() >= known.now;
  if (ended) seek(data.first);
  start(ended ? data.first : shownBatch());
}

function start(batch) {
  clock = timeOf(evened(currentShell().times), batch);
  stepped = performance.now();
  timer = window.setInterval(step, STEP_MS);
  draw();
}

/* The next step waits until the page shows the last one; the time that took counts. */
function step() {
  const data = currentShell();
  if (!data || currentMode() !== "replay") return pause();
  if (isPainting()) return undefined;
  const now = performance.now();
  if (loops && now - stepped < GENTLE_MS) return undefined;
  clock += ((now - stepped) / 1000) * Number(speed.value);
  const times = evened(data.times);
  if (loops) clock = Math.max(clock, timeOf(times, shownBatch() + 1) - LONGEST_WAIT_S);
  stepped = now;
  const next = clock >= timeOf(times, known.now) ? known.now : batchOf(times, clock);
  if (next > shownBatch()) seek(Math.min(next, known.now), true);
  if (next < known.now) return undefined;
  if (!loops) return pause();
  clock = timeOf(times, data.first);
  return seek(data.first, true);
}

function draw() {
  if (!button) return;
  const mode = currentMode();
  const playing = timer !== null;
  const looks = {
    live: ["pause", "Freeze (space)", "Freeze the page; the run goes on"],
    frozen: ["play", "Resume (space)", "Let the page follow the run again"],
    replay: playing ? ["pause", "Pause (space)", "Pause the replay; no run is touched"] : ["play", "Play (space)", "Play the replay; no run is touched"],
  };
  const [sign, label, title] = looks[mode];
  setAttr(button, "data-sign", sign);
  setAttr(button, "aria-label", label);
  setAttr(button, "title", `${title} (space)`);
  setAttr(button, "data-playing", playing ? "1" : "0");
  speed.disabled = mode !== "replay";
}

on("moment", draw);
on("shell", draw);
