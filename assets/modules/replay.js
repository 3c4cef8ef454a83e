/* Play and pause: in REPLAY the cursor runs through the recorded times at 1 to 100 times the speed. */
import { spanChoice } from "./brush.js";
import { el, on, setAttr } from "./core.js";
import { currentShell, timeAt } from "./header.js";
import { currentMode, go, known, shownBatch, toggleFreeze } from "./moment.js";
import { isPainting } from "./painted.js";
import { batchOf } from "./times.js";

const REPLAY_SPEEDS = [1, 2, 5, 10, 25, 50, 100];
const STEP_MS = 250;
let timer = null;
let clockTime = null; // recorded time the cursor has reached
let stepped = 0; // when it did
let button = null;
let speed = null;

export function replayControls() {
  button = el("button", { type: "button", class: "pw-button pw-play", id: "pw-play" });
  button.addEventListener("click", () => playOrFreeze());
  const options = REPLAY_SPEEDS.map((value) => el("option", { value }, `${value}×`));
  speed = el("select", { class: "pw-input pw-speed", id: "pw-speed", "aria-label": "Replay speed" }, options);
  speed.value = "10";
  drawReplay();
  return el("div", { class: "pw-strip-controls" }, button, speed, spanChoice());
}

/** What space does: freeze or resume a running run, play or pause a replay. */
export function playOrFreeze() {
  const mode = currentMode();
  if (mode === "replay") return timer === null ? play() : pause();
  return toggleFreeze();
}

export function pause() {
  window.clearInterval(timer);
  timer = null;
  drawReplay();
}

function play() {
  if (known.now === null) return;
  const data = currentShell();
  const ended = shownBatch() >= known.now;
  if (ended) go({ at: data.first });
  clockTime = timeAt(ended ? data.first : shownBatch());
  stepped = performance.now();
  timer = window.setInterval(stepReplay, STEP_MS);
  drawReplay();
}

/* The next step waits until the page shows the last one; the time that took counts. */
function stepReplay() {
  const data = currentShell();
  if (!data || currentMode() !== "replay") return pause();
  if (isPainting()) return undefined;
  const now = performance.now();
  clockTime += ((now - stepped) / 1000) * Number(speed.value);
  stepped = now;
  const next = clockTime >= timeAt(known.now) ? known.now : batchOf(data.times, clockTime);
  if (next > shownBatch()) go({ at: Math.min(next, known.now) }, true);
  return next >= known.now ? pause() : undefined;
}

function drawReplay() {
  if (!button) return;
  const mode = currentMode();
  const playing = timer !== null;
  const looks = {
    live: ["pause", "Freeze (space)"],
    frozen: ["play", "Resume (space)"],
    replay: playing ? ["pause", "Pause (space)"] : ["play", "Play (space)"],
  };
  const [sign, label] = looks[mode];
  setAttr(button, "data-sign", sign);
  setAttr(button, "aria-label", label);
  setAttr(button, "title", label);
  setAttr(button, "data-playing", playing ? "1" : "0");
  speed.disabled = mode !== "replay";
}

on("moment", drawReplay);
on("shell", drawReplay);
