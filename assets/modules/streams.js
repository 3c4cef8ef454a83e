/* Buttons of streams: pause, resume and remove are turns of the stream's knob `intake`, so that the
   audit log has them. Removing asks first; all of them can be taken back. */
import { confirmed } from "./confirm.js";
import { toast } from "./core.js";
import { send } from "./knob_turns.js";
import { refresh, runKnown } from "./moment.js";

const WORDS = { on: "Resume", paused: "Pause", removed: "Remove" };

async function turn({ stream, intakeOf: scope, intake: value, intakeWas: before }, of = runKnown()) {
  const run = await of;
  const words = `${WORDS[value]} ${stream}`;
  const question = `Remove the stream ${stream}? The run no longer waits for it, and no query may read it; it can be resumed.`;
  if (value === "removed" && !(await confirmed(question, words))) return;
  const undo = { text: "undo", act: () => turn({ stream, intakeOf: scope, intake: before, intakeWas: value }, run) };
  toast(`${words}: requested`, undo);
  const { phase, text } = await send(run, { name: "intake", scope }, value, `${words}, by its button`);
  toast(`${words}: ${text}`, undefined, phase === "applied" ? "ok" : "error");
  refresh(true);
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button[data-intake]");
  if (button && !button.disabled) turn({ ...button.dataset });
});
