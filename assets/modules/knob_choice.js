/* Knobs whose value is a list of names: what is always to be used, or never. */
import { useTurns } from "./knob_card.js";
import { chosen } from "./knob_names.js";
import { send } from "./knob_turns.js";
import { h } from "./react.js";

/** A button that puts a thing into the value of a knob, or takes it out. own: its names, the first is
    written; called: for screen readers; pressed: it is in the value that is in force. */
export function NameChoice({ knob: served, word, own, called, pressed, separator, run, disabled }) {
  const { request, row: knob, wanted } = useTurns(run, served, null);
  const open = request !== null && request.phase === "pending";
  const turn = () => send(run, knob, chosen(wanted, own, separator), `${word.toLowerCase()} ${own[0]}`, knob.version);
  return h("button", { type: "button", className: "pw-button pw-name-choice", "aria-pressed": pressed, "aria-label": `${word} ${called}`, disabled: Boolean(disabled) || open, title: disabled || null, onClick: turn }, word);
}
