/* CompareForm and BranchForm: what to compare goes into the address; Dash components.

   CompareForm: runs [[id, words], ...], a and b [run, first, last] as compared, align. BranchForm: the
   knobs of a unit (rows as of KnobCard), the names of those whose rule can be decided again (estimated), the
   knob and value tried, pair (the show of the address before the branch), at (the batch it leaves the record
   at), run (the record), asks (an engine can be asked to run the branch) and line (what does it from a
   terminal, setting standing for the knob and its value). */
import { apiError, callApi, followCommand } from "./api.js";
import { announce, toast } from "./core.js";
import { shellWord } from "./format.js";
import { knobNumber, knobSlider } from "./knob_card.js";
import { knobParse, knobProblem, knobRange, knobSlides, knobText } from "./knob_scale.js";
import { go } from "./moment.js";
import { h, useState } from "./react.js";

/** The show of an address for two stretches [run, first, last]; see dashboard/views/compare.py.
    @param {string[]} a
    @param {string[]} b
    @param {string} align */
export const pairOf = (a, b, align) => [a.join(","), b.join(","), align].join("~");

const digits = (text) => text.replace(/\D/g, "");

function side(name, [run, first, last], runs, change) {
  const options = runs.map(([id, words]) => h("option", { key: id, value: id }, words));
  const number = (value, label, hint, next) =>
    h("input", { type: "text", inputMode: "numeric", className: "pw-input", value, placeholder: hint, "aria-label": label, onChange: (event) => change(next(digits(event.target.value))) });
  return h(
    "fieldset",
    null,
    h("legend", null, name),
    h("select", { className: "pw-input", value: run, "aria-label": `Run of ${name}`, onChange: (event) => change([event.target.value, "0", ""]) }, options),
    number(first, `First batch of ${name}`, "from", (text) => [run, text, last]),
    number(last, `Last batch of ${name}`, "newest", (text) => [run, first, text])
  );
}

function Body({ runs, a, b, align }) {
  const [left, setLeft] = useState(a);
  const [right, setRight] = useState(b);
  const submit = (event) => {
    event.preventDefault();
    go({ show: pairOf(left, right, align) });
  };
  return h(
    "form",
    { className: "pw-compare-form", onSubmit: submit, onKeyDown: (event) => event.stopPropagation() },
    side("A", left, runs, setLeft),
    side("B", right, runs, setRight),
    h("button", { type: "submit", className: "pw-button pw-primary" }, "Compare")
  );
}

export const CompareForm = (props) => h(Body, { ...props, key: pairOf(props.a, props.b, "") });

const YES_NO = ["true", "false"];

function field(knob, text, change) {
  const looks = { className: "pw-input", value: text, "aria-label": "Value in the branch", onChange: (event) => change(event.target.value) };
  if (knob.kind === "text") return h("input", { type: "text", ...looks });
  if (knob.kind === "choice" || knob.kind === "bool") {
    const choices = knob.kind === "bool" ? YES_NO : knob.choices;
    return h("select", looks, choices.map((choice) => h("option", { key: choice, value: choice }, choice)));
  }
  const value = knobParse(knob, text);
  const sliding = { label: "Value in the branch, slider", words: text, mark: knob.value, title: `in force: ${knob.value}` };
  return h("span", { className: "pw-branch-value" }, knobSlides(knob) && knobSlider(knob, value, (next) => change(String(next)), sliding), knobNumber(knob, text, value, (next) => change(String(next)), "Value in the branch", false));
}

async function runBranch(run, at, knob, text) {
  const words = `Branch at batch ${at} with ${knob.title} = ${text}`;
  const answer = await callApi("POST", `/runs/${encodeURIComponent(run)}/branches`, { at, knob: knob.name, scope: knob.scope, value: knobParse(knob, text) });
  if (!answer.ok) return toast(`${words}: ${apiError(answer)}`, null, "error");
  announce(`${words}: requested`);
  return followCommand(answer.body.run_id, answer.body.id, (command) => {
    if (command.state === "refused") toast(`${words}: refused: ${command.answer}`, null, "error");
    else toast(`${words} is begun; it shows up in the list of runs`);
  });
}

function really({ run, at, line, setting, asks }, knob, text, isMain) {
  if (asks) {
    const title = "Replay the recorded tuples in a run of its own, beside what runs";
    return h("button", { type: "button", className: isMain ? "pw-button pw-primary" : "pw-button", title, onClick: () => runBranch(run, at, knob, text) }, "Run this branch");
  }
  const typed = line.replace(`--set=${setting}`, () => shellWord(`--set=${knob.name}=${text}`));
  return h("code", { className: "pw-branch-line", tabIndex: 0, title: "No engine is at work here: type this to run the branch" }, typed);
}

const options = (knobs) => knobs.map((one) => h("option", { key: one.name, value: one.name }, one.title));

/* The knobs, those that are estimated at once in front. */
function choices(knobs, estimated) {
  const [soon, others] = [knobs.filter((one) => estimated.includes(one.name)), knobs.filter((one) => !estimated.includes(one.name))];
  if (!soon.length || !others.length) return options(knobs);
  return [h("optgroup", { key: "soon", label: "estimated at once" }, options(soon)), h("optgroup", { key: "others", label: "by a replay" }, options(others))];
}

function Branch({ knobs, estimated, knob: name, value, pair, at, ...rest }) {
  const [tried, setTried] = useState({ name, text: String(value) });
  const knob = knobs.find((one) => one.name === tried.name) || knobs[0];
  const problem = knobProblem(knob, tried.text);
  const soon = estimated.includes(knob.name);
  const submit = (event) => {
    event.preventDefault();
    if (soon && !problem) go({ show: `${pair}~${knob.name}=${tried.text}` });
  };
  const pick = (next) => setTried({ name: next, text: String(knobs.find((one) => one.name === next).value) });
  return h(
    "form",
    { className: "pw-compare-form pw-branch", onSubmit: submit, onKeyDown: (event) => event.stopPropagation() },
    h("span", null, `From batch ${at} on, with`),
    h("select", { className: "pw-input", value: knob.name, "aria-label": "Knob of the branch", onChange: (event) => pick(event.target.value) }, choices(knobs, estimated)),
    field(knob, tried.text, (text) => setTried({ ...tried, text })),
    soon && h("button", { type: "submit", className: "pw-button pw-primary", disabled: Boolean(problem) }, "Branch from here"),
    !problem && really({ at, ...rest }, knob, tried.text, !soon),
    problem && h("span", { className: "pw-knob-note pw-ink-warning", role: "alert" }, problem),
    h("small", { className: "pw-branch-help pw-dim" }, h("code", null, knob.name), `, in force ${knobText(knob.value)}, allowed ${knobRange(knob)} ${knob.unit}`.trimEnd(), `: ${knob.help}`)
  );
}

export const BranchForm = (props) => h(Branch, { ...props, key: `${props.knob}=${props.value}` });
