/* What stands below a drafted turn: what the record says it would do, why, for how long, apply. And the
   buttons of the audit log that keep a turn or go back. */
import { apiError, callApi, followCommand, keepName, ownName } from "./api.js";
import { toast } from "./core.js";
import { send, sendAll } from "./knob_turns.js";
import { refresh, runKnown } from "./moment.js";
import { h, useEffect, useState } from "./react.js";

const REST_MS = 250;
const HOLDS = [
  [0, "and keep it"],
  [60, "try for 1 min, then revert"],
  [300, "try for 5 min, then revert"],
  [1800, "try for 30 min, then revert"],
];

/* What the newest recorded evaluations would have become, once the draft is at rest. */
function usePreview(run, knob, value) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    setFound(null);
    if (value === null) return undefined;
    let over = false;
    const timer = window.setTimeout(async () => {
      const given = new URLSearchParams({ knob: knob.name, value: JSON.stringify(value), scope: knob.scope });
      if (!knob.scope) given.delete("scope");
      const answer = await callApi("GET", `/runs/${encodeURIComponent(run)}/preview?${given}`);
      if (!over && answer.ok) setFound(answer.body);
    }, REST_MS);
    return () => {
      over = true;
      window.clearTimeout(timer);
    };
  }, [run, knob.name, knob.scope, value]);
  return found;
}

const TONES = { ok: " pw-ink-ok", warning: " pw-ink-warning" };

export function DraftActions({ knob, run, reason, setReason, hold, setHold, apply, drop, problem, value }) {
  const found = usePreview(run, knob, problem ? null : value);
  const words = found && (found.replayed ? `on the record: ${found.words} (estimated)` : found.words);
  const holds = HOLDS.map(([seconds, text]) => h("option", { key: seconds, value: seconds }, text));
  return h(
    "div",
    { className: "pw-knob-actions" },
    !problem && h("p", { className: `pw-knob-preview${(found && TONES[found.tone]) || ""}`, role: "status" }, words || "Checking recorded decisions …"),
    h("input", {
      type: "text",
      className: "pw-input pw-knob-reason",
      placeholder: "why? (kept in the audit log)",
      "aria-label": `Reason for changing ${knob.name}`,
      maxLength: 200,
      value: reason,
      onChange: (event) => setReason(event.target.value),
    }),
    h("input", { type: "text", className: "pw-input pw-knob-name", placeholder: "your name", "aria-label": "Your name, for the audit log", title: "Kept in this browser, and in the audit log with what you turn", maxLength: 40, defaultValue: ownName(), onChange: (event) => keepName(event.target.value) }),
    h("select", { className: "pw-input", value: hold, "aria-label": `How long ${knob.name} holds`, onChange: (event) => setHold(Number(event.target.value)) }, holds),
    h("button", { type: "button", className: "pw-button pw-primary", disabled: Boolean(problem), onClick: apply }, `Apply ${value ?? ""}`),
    h("button", { type: "button", className: "pw-button", onClick: drop }, "Discard")
  );
}

/* data-pw-revert = JSON {run, knob, scope, value, version, command}. */
async function revert({ run, knob, scope, value, version, command }) {
  toast(`Revert of ${knob} to ${value} requested`);
  const done = await send(run, { name: knob, scope }, value, `revert of #${command}`, version);
  toast(`${knob} = ${value} ${done.text}`, null, done.phase === "applied" ? "ok" : "error");
}

/* data-pw-keep = the number of a turn that holds for a while. */
async function keep(number) {
  const run = await runKnown();
  const answer = await callApi("POST", `/runs/${encodeURIComponent(run)}/commands/${number}/keep`);
  if (!answer.ok) return toast(`Refused: ${apiError(answer)}`, null, "error");
  refresh(true);
  followCommand(run, answer.body.id, (command) => {
    const done = command.state === "applied";
    toast(done ? `Change #${number} kept` : `Not kept: ${command.answer}`, null, done ? "ok" : "error");
  });
}

/* data-pw-preset = JSON [{run, knob, scope, value, version}, ...]: all turns of a set of values. */
async function take(name, turns) {
  toast(`${name}: ${turns.length} turns requested`);
  const done = await sendAll(turns, name);
  const refused = done.filter((one) => one.phase !== "applied");
  toast(refused.length ? `${name}: ${refused.length} of ${done.length} refused: ${refused[0].text}` : `${name}: all applied`, null, refused.length ? "error" : "ok");
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-pw-revert], [data-pw-keep], [data-pw-preset]");
  if (!button || button.disabled) return;
  const { pwRevert, pwKeep, pwPreset, pwName } = button.dataset;
  if (pwRevert) revert(JSON.parse(pwRevert));
  else if (pwKeep) keep(Number(pwKeep));
  else take(pwName, JSON.parse(pwPreset));
});
