/* MuGhost: the slider of the ghost run on the Timeline page; a Dash component.

   Props: run, knob (the row of mu), value (the mu tried, null = the knob's), disabled (why it cannot
   be applied now, or ''). Trying costs nothing and is always possible; applying is a request like any
   other turn of a knob, followed until the engine answers. */
import { components } from "./dash.js";
import { answerChip, knobNumber, knobSlider, useTurns } from "./knob_card.js";
import { knobParse, knobProblem } from "./knob_scale.js";
import { send } from "./knob_turns.js";
import { go } from "./moment.js";
import { h, useEffect, useRef, useState } from "./react.js";

const REST_MS = 200;

/* The value shown while it moves; told to the server when it has come to rest. */
function useTried({ knob, value, setProps }) {
  const start = value === null || value === undefined ? (knob ? Number(knob.value) : 0) : value;
  const [text, setText] = useState(null);
  const timer = useRef(null);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const tell = (next) => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      setProps({ value: next });
      go({ show: next === null ? null : String(next) }, true);
    }, REST_MS);
  };
  const change = (next) => {
    setText(String(next));
    if (!knobProblem(knob, String(next))) tell(knobParse(knob, String(next)));
  };
  const back = () => {
    setText(null);
    tell(null);
  };
  const shown = text === null ? String(start) : text;
  const parsed = knob ? knobParse(knob, shown) : null;
  return { text: shown, mu: parsed === null ? start : parsed, change, back };
}

const LOOKS = { label: "What if μ were", className: "pw-whatif-slider" };

function Body(props) {
  const { run, disabled } = props;
  const { request, queue, row: knob } = useTurns(run, props.knob, null);
  const { text, mu, change, back } = useTried({ ...props, knob });
  const problem = knobProblem(knob, text);
  const same = mu === Number(knob.value);
  const waiting = request !== null && request.phase === "pending";
  const apply = () => send(run, knob, mu, "what-if on the Timeline", knob.version);
  const chip = request && answerChip(request, queue);
  return h(
    "div",
    { className: "pw-whatif", "data-mu": String(mu), onKeyDown: (event) => event.stopPropagation() },
    h("span", { className: "pw-whatif-mu", "aria-hidden": true }, "μ"),
    knobSlider(knob, mu, change, { ...LOOKS, words: String(mu), mark: knob.value, title: `μ in force: ${knob.value}` }),
    knobNumber(knob, text, mu, change, "ghost μ", false),
    h("button", { type: "button", className: "pw-button", disabled: same && !problem, onClick: back }, `Back to ${knob.value}`),
    h("button", { type: "button", className: "pw-button pw-primary", disabled: Boolean(disabled || problem || same || waiting), title: disabled || null, onClick: apply }, "Apply live"),
    chip,
    problem && h("span", { className: "pw-knob-note pw-ink-warning" }, problem),
    !problem && disabled && h("span", { className: "pw-knob-note" }, disabled)
  );
}

const MuGhost = (props) => (props.knob ? h("div", { id: props.id }, h(Body, { ...props, key: props.run })) : h("div", { id: props.id }));

Object.assign(components, { MuGhost });
