/* KnobCard: one knob as a draft that is applied on purpose; a Dash component.

   Props: run, knob (a Knob row: name, title, scope, kind, value, default, unit, help, low, high, scale, choices,
   version, batch), disabled (why it cannot be turned, or ''), restart (the command for another value of one
   that is fixed for a run, or ''), compact, pending. The card requests and
   never claims: it shows what was asked for, PENDING until the engine says applied at a batch, or
   refused and why. */
import { on, toast } from "./core.js";
import { runStanding } from "./header.js";
import { DraftActions } from "./knob_draft.js";
import { knobParse, knobPosition, knobProblem, knobRange, knobSlides, knobStep, knobText, knobValue } from "./knob_scale.js";
import { adopt, forget, keyOf, send, turnsOf } from "./knob_turns.js";
import { currentMode, known } from "./moment.js";
import { h, useEffect, useState } from "./react.js";

/** A knob with the turns of this tab: row (as the engine last made it), request, queue, and wanted, the
    value it has or is to have. waiting: a request the store knows of, {id, value}. */
export function useTurns(run, knob, waiting) {
  const key = keyOf(run, knob);
  const [, redraw] = useState(0);
  useEffect(() => {
    const again = () => redraw((count) => count + 1);
    const offs = [on("turns", (changed) => changed === key && again()), on("standing", again)];
    if (waiting) adopt(run, knob, waiting);
    return () => {
      for (const off of offs) off();
      forget(key);
    };
  }, [key]);
  const { request, queue, row } = turnsOf(key);
  const own = row !== null && row.version >= knob.version && currentMode() === "live";
  const open = queue.length ? queue[queue.length - 1] : request && request.phase === "pending" ? request : null;
  return { key, request, queue, row: own ? { ...knob, ...row } : knob, own, wanted: open ? open.value : own ? row.value : knob.value };
}

/* The draft: text as typed, with the version it was begun on; null follows the knob. */
function useDraft(row, wanted) {
  const [draft, setDraft] = useState(null);
  const edit = (text) => setDraft((last) => ({ text: String(text), version: last ? last.version : row.version }));
  /* What was refused is a draft again, against whatever is in force by then: nobody types it twice. */
  const restore = (text) => setDraft((last) => last || { text: String(text), version: null });
  return { text: draft ? draft.text : String(wanted), draft, edit, restore, drop: () => setDraft(null) };
}

/* The knob being turned: the request, the draft and its reason, and what can be done with them. */
function useTurn({ knob: served, run, disabled, restart, pending }) {
  const { key, request, queue, row: knob, own, wanted } = useTurns(run, served, pending);
  const { text, draft, edit, restore, drop } = useDraft(knob, wanted);
  const [reason, setReason] = useState("");
  const [hold, setHold] = useState(0);
  const problem = knobProblem(knob, text);
  const value = knobParse(knob, text);
  const changed = draft !== null && value !== wanted;
  const overtaken = changed && !own && draft.version !== null && draft.version !== knob.version; // by someone else
  const off = Boolean(disabled || restart);
  const change = (next) => {
    forget(key);
    edit(next);
  };
  const apply = () => {
    if (off || !changed || problem) return;
    const asked = send(run, knob, value, reason, overtaken ? draft.version : knob.version, hold);
    drop();
    setReason("");
    asked.then(({ phase, text: said }) => {
      if (phase === "applied") return toast(`${knob.title}: ${wanted} → ${value}, ${said}`, { text: "undo", act: () => send(run, knob, wanted, "undo") }, "ok");
      restore(text);
      setReason(reason);
    });
  };
  const label = knob.name;
  return { knob, label, request, queue, text, value, reason, problem, changed, overtaken, off, change, setReason, hold, setHold, run, apply, drop };
}

export function KnobCard(props) {
  const { disabled, restart, compact } = props;
  const turn = useTurn(props);
  const { knob } = turn;
  const onKeyDown = (event) => {
    event.stopPropagation();
    if (event.key === "Enter" && event.target.tagName === "INPUT") turn.apply();
    if (event.key === "Escape") turn.drop();
  };
  return h(
    "section",
    {
      className: "pw-knob" + (compact ? " pw-knob-compact" : "") + (turn.changed ? " pw-knob-draft" : ""),
      "data-knob": knob.name,
      "data-value": String(knob.value),
      "data-version": knob.version,
      "aria-label": `Knob ${knob.name}${knob.scope && ` of ${knob.scope}`}`,
      title: disabled || null,
      onKeyDown,
    },
    heading(turn, compact),
    !compact && h("p", { className: "pw-knob-help" }, knob.help),
    h("div", { className: "pw-knob-control" }, knobSlides(knob) && slider(turn), box(turn), h("span", { className: "pw-knob-unit" }, knob.unit)),
    !compact && foot(knob),
    restart && locked(restart),
    turn.overtaken && warning(`Changed to ${knob.value} by someone else meanwhile; applying will be refused. Esc takes the new value.`),
    turn.changed && turn.problem && warning(turn.problem),
    turn.changed && !turn.off && h(DraftActions, turn)
  );
}

const locked = (command) => h("p", { className: "pw-knob-note pw-knob-locked" }, "Fixed for a run. For another value start a new one: ", h("code", { tabIndex: 0 }, command));

const warning = (text) => h("p", { className: "pw-knob-note pw-ink-warning" }, text);

function heading({ knob, request, queue }, compact) {
  const set = knob.version > 0 ? `set at batch ${knob.batch}` : "start value";
  return h(
    "header",
    { className: "pw-knob-head" },
    h(compact ? "h4" : "h3", null, h("span", { className: "pw-term", tabIndex: 0, "data-raw": knob.name, "data-meaning": compact ? knob.help : "" }, knob.title)),
    request
      ? answerChip(request, queue)
      : !compact && h("span", { className: "pw-knob-since", title: `version ${knob.version}` }, set)
  );
}

/** What became of a request, and what waits behind it. */
export function answerChip(request, queue) {
  const waits = request.phase === "pending" ? `, ${waitWords()}` : "";
  const then = queue.map((turn) => `, then ${turn.value}`).join("");
  return h("span", { className: `pw-chip pw-chip-${request.phase}`, "data-phase": request.phase, role: "status" }, request.text + waits + then);
}

/* What a request waits for. */
function waitWords() {
  const { word } = runStanding();
  if (word === "working") return `waits for batch ${known.now + 1} to end`;
  if (word === "stopped") return "but the engine gives no sign of life";
  return word === "starting" ? "waits for the first batch" : "takes effect at the next batch";
}

/** The slider of a knob's range with a mark on it: {label, words, mark, title, off, className}. */
export function knobSlider(knob, value, change, { label, words, mark, title, off, className = "" }) {
  const position = value === null ? 0 : knobPosition(knob, value);
  return h(
    "span",
    { className: `pw-slider ${className}`.trim() },
    h("input", {
      type: "range",
      min: 0,
      max: 1000,
      step: 5,
      value: Math.round(position),
      disabled: off,
      "aria-label": label,
      "aria-valuetext": words,
      style: { "--part": `${position / 10}%` },
      onChange: (event) => change(knobValue(knob, Number(event.target.value))),
    }),
    h("span", { className: "pw-slider-rail" }, h("i", { className: "pw-slider-default", style: { left: `${knobPosition(knob, mark) / 10}%` }, title }))
  );
}

/** A knob's number as text, with a step down and up beside it. */
export function knobNumber(knob, text, value, change, label, off) {
  const nudge = (way, sign, word) =>
    h("button", { type: "button", className: "pw-step", disabled: off, "aria-label": `${label} ${word}`, onClick: () => change(knobStep(knob, value, way)) }, sign);
  const input = { type: "text", inputMode: "decimal", className: "pw-input", value: text, disabled: off, "aria-label": label, spellCheck: false };
  return h("span", { className: "pw-number" }, nudge(-1, "−", "down"), h("input", { ...input, onChange: (event) => change(event.target.value) }), nudge(1, "+", "up"));
}

function slider({ knob, value, off, change, label }) {
  const words = `${value} ${knob.unit}`.trim();
  return knobSlider(knob, value, change, { label: `${label} slider`, words, mark: knob.default, title: `default ${knob.default}`, off });
}

function box({ knob, text, value, off, change, label }) {
  if (knob.kind === "choice")
    return h(
      "select",
      { className: "pw-input", value: text, disabled: off, "aria-label": label, onChange: (event) => change(event.target.value) },
      knob.choices.map((choice) => h("option", { key: choice, value: choice }, choice))
    );
  if (knob.kind === "bool")
    return h(
      "label",
      { className: "pw-check" },
      h("input", { type: "checkbox", checked: text === "true", disabled: off, "aria-label": label, onChange: (event) => change(event.target.checked) }),
      text === "true" ? "on" : "off"
    );
  if (knob.kind === "text") return h("input", { type: "text", className: "pw-input pw-knob-text", value: text, disabled: off, "aria-label": label, spellCheck: false, maxLength: 2000, onChange: (event) => change(event.target.value) });
  return knobNumber(knob, text, value ?? knob.value, change, label, off);
}

const foot = (knob) =>
  h(
    "p",
    { className: "pw-knob-foot" },
    h("span", null, `${knob.kind === "choice" || knob.kind === "bool" ? "one of" : knob.kind === "text" ? "" : "range"} ${knobRange(knob)}`),
    h("span", null, `default ${knob.kind === "bool" ? (knob.default ? "on" : "off") : knobText(knob.default) || "none"}`),
    knob.scale === "log" && h("span", null, "log scale")
  );
