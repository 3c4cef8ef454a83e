/* Hold, step and speed of the run shown: the buttons of the header, by requests to /api/v1. */
import { apiError, callApi, followCommand } from "./api.js";
import { announce, byId, el, on, setAttr, toast } from "./core.js";
import { currentShell, runStanding } from "./header.js";
import { known, refresh } from "./moment.js";
import { ALIVE } from "./standing.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64];

/** What the server said last: dashboard/views/pace.py; null where nothing can be asked. */
function pace() {
  const shell = currentShell();
  const run = shell && shell.run;
  if (!run || !run.pace || run.pace.locked || !ALIVE.includes(runStanding().word)) return null;
  return run.pace;
}

/* Ask, and say what became of it. */
async function ask(words, path, body) {
  const run = encodeURIComponent(known.run);
  const answer = await callApi("POST", `/runs/${run}/${path}`, body);
  if (!answer.ok) return toast(`${words}: ${apiError(answer)}`, null, "error");
  announce(`${words}: requested`);
  return followCommand(known.run, answer.body.id, (command) => {
    if (command.state === "refused") toast(`${words}: refused: ${command.answer}`, null, "error");
    else announce(command.answer);
    refresh(true);
  });
}

export function holdOrGoOn() {
  const now = pace();
  if (!now) return;
  if (now.held) ask("Resume", "go-on");
  else ask("Pause", "hold");
}

/** @param {"batch" | "decision"} of */
export function step(of) {
  const now = pace();
  if (now && now.held && now.steps.includes(of)) ask(`Step one ${of}`, `step?of=${of}`);
}

function setSpeed(speed) {
  ask(`Speed ${speed}`, "commands", { knob: "speed", scope: "", value: speed });
}

/** @param {number} factor */
export function changeSpeed(factor) {
  const now = pace();
  if (now && now.speed !== null) setSpeed(Math.min(1000, Math.max(0.01, now.speed * factor)));
}

function drawSpeed(speed) {
  const slot = byId("pw-speed-slot");
  if (!slot.firstChild) {
    const choice = el("select", { id: "pw-pace-speed", class: "pw-input", "aria-label": "Speed of replayed streams", title: "Speed of replayed streams (< >)" });
    choice.addEventListener("change", () => setSpeed(Number(choice.value)));
    slot.append(choice);
  }
  const picker = slot.firstChild;
  const choices = SPEEDS.includes(speed) ? SPEEDS : [...SPEEDS, speed].sort((a, b) => a - b);
  if (picker.dataset.key !== choices.join()) {
    picker.dataset.key = choices.join();
    picker.replaceChildren(...choices.map((one) => el("option", { value: one }, `run ${one} ×`)));
  }
  if (document.activeElement !== picker) picker.value = String(speed);
}

function draw() {
  const group = byId("pw-pace");
  if (!group) return;
  const now = pace();
  group.hidden = !now;
  if (!now) return;
  const hold = byId("pw-hold");
  setAttr(hold, "data-held", now.held ? "yes" : "no");
  setAttr(hold, "aria-label", now.held ? "Resume the run (h)" : "Pause the run (h)");
  setAttr(hold, "title", now.held ? `Paused ${now.held}. Resume the run (h)` : "Pause the run (h)");
  for (const [id, of] of [["pw-step", "batch"], ["pw-decide", "decision"]]) byId(id).hidden = !now.held || !now.steps.includes(of);
  byId("pw-speed-slot").hidden = now.speed === null;
  if (now.speed !== null) drawSpeed(now.speed);
}

on("shell", draw);
on("standing", draw);
