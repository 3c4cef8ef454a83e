/* Tap: while somebody looks at an edge live, the engine is asked for what passes it, and asked again as
   long as somebody looks, so that it ends by itself; and the row that is followed, at its batch. */
import { apiError, callApi } from "./api.js";
import { setText } from "./core.js";
import { setProps } from "./dash.js";
import { currentMode, go, known } from "./moment.js";

const LOOK_MS = 1000;
const ANSWER_MS = 3000; // what is refused is known by then
const FIRST = 60; // batches
const MOST = 600;
const PATIENCE = 3; // batches without a sample before it is asked for anew: the engine may have begun anew

let asked = null; // {entity, run, batch, batches}

const isSame = (last, { entity, run }) => Boolean(last) && last.entity === entity && last.run === run;

/** Whether it is time to ask: for another edge, when half of what was asked for has passed, or when there
    is none of it. last: what was asked for; now: {entity, run, batch, none}. */
export function isDue(last, now) {
  return !isSame(last, now) || now.batch - last.batch >= (now.none ? PATIENCE : last.batches / 2);
}

/** Batches to ask for: each time twice as many. */
export const batchesFor = (last, now) => (isSame(last, now) && !now.none ? Math.min(MOST, 2 * last.batches) : FIRST);

function say(text) {
  const line = document.querySelector("[data-tap] [role=status]");
  if (line) setText(line, `Not tapped: ${text}`);
}

async function look() {
  const panel = document.querySelector("[data-tap]");
  if (!panel || document.hidden || currentMode() !== "live" || known.now === null) return;
  const now = { entity: panel.dataset.tap, run: known.run, batch: known.now, none: panel.dataset.tapNone === "true" };
  if (!isDue(asked, now)) return;
  asked = { ...now, batches: batchesFor(asked, now) };
  const path = `/runs/${encodeURIComponent(now.run)}`;
  const answer = await callApi("POST", `${path}/taps`, { entity: now.entity, batches: asked.batches });
  if (answer.ok) window.setTimeout(() => refusal(`${path}/commands/${answer.body.id}`), ANSWER_MS);
  else say(apiError(answer));
}

async function refusal(path) {
  const { body } = await callApi("GET", path);
  if (body.state === "refused") say(body.answer);
}

window.setInterval(look, LOOK_MS);

/* A row is followed at its batch: a page that is live stays there. */
document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button[data-tap-row]");
  if (!button) return;
  const { tapRow, tapOf, tapNode } = button.dataset;
  const isOn = button.getAttribute("aria-pressed") === "true";
  if (currentMode() === "live") go({ at: Number(tapOf), frozen: true });
  setProps("pw-tap-followed", { data: isOn ? null : { node: tapNode, batch: Number(tapOf), row: Number(tapRow) } });
});
