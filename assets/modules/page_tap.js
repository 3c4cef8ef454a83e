/* Tap: while somebody looks at an edge live, the engine is asked for what passes it, again and again, so
   that it ends by itself; and the row that is followed, at its batch. */
import { apiError, callApi, followCommand } from "./api.js";
import { setText } from "./core.js";
import { setProps } from "./dash.js";
import { currentMode, go, known } from "./moment.js";

const LOOK_MS = 1000;
const AGAIN_MS = 20000;
const BATCHES = { least: 60, most: 600 };

let asked = null; // {entity, run, time, batch}

/** Batches to ask for: those of two rests and more at the pace since it was asked last. */
export const batchesFor = (passed) => Math.max(BATCHES.least, Math.min(BATCHES.most, 3 * passed));

/** Whether it is time to ask for an entity of a run. now: ms by any clock. */
export const isDue = (last, entity, run, now) => !last || last.entity !== entity || last.run !== run || now - last.time >= AGAIN_MS;

function sayer(panel) {
  const line = panel.querySelector("[role=status]");
  return (text) => line && setText(line, text);
}

async function ask() {
  const panel = document.querySelector("[data-tap]");
  if (!panel || document.hidden || currentMode() !== "live" || known.now === null) return;
  const [entity, run] = [panel.dataset.tap, known.run];
  if (!isDue(asked, entity, run, performance.now())) return;
  const passed = asked && asked.run === run ? known.now - asked.batch : 0;
  asked = { entity, run, time: performance.now(), batch: known.now };
  const answer = await callApi("POST", `/runs/${encodeURIComponent(run)}/taps`, { entity, batches: batchesFor(passed) });
  if (!answer.ok) sayer(panel)(`Not tapped: ${apiError(answer)}`);
  else followCommand(run, answer.body.id, (command) => command.state === "refused" && sayer(panel)(`Not tapped: ${command.answer}`));
}

window.setInterval(ask, LOOK_MS);

/* A row is followed at its batch: a page that is live stays there. */
document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button[data-tap-row]");
  if (!button) return;
  const { tapRow, tapOf, tapNode } = button.dataset;
  const isOn = button.getAttribute("aria-pressed") === "true";
  if (currentMode() === "live") go({ at: Number(tapOf), frozen: true });
  setProps("pw-tap-followed", { data: isOn ? null : { node: tapNode, batch: Number(tapOf), row: Number(tapRow) } });
});
