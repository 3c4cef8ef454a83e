/* AxisPair: the two statistics that the looks of a plan log are drawn on, and which log; they stand in the
   address. A Dash component. */
import { go } from "./moment.js";
import { h, useState } from "./react.js";

/** The show of an address for two statistics; see dashboard/views/planlog_space.py.
    @param {string} x
    @param {string} y
    @param {string} subject what is decided, "" by an autopilot */
export const axesOf = (x, y, subject = "") => `${x}~${y}${subject && "~"}${subject}`;

/* What is chosen for one axis and stood on the other goes there. */
const swapped = (chosen, other, before) => (chosen === other ? before : other);

function select(label, said, names, value, change) {
  const options = names.map((each) => h("option", { key: each.value, value: each.value }, each.label));
  const field = h("select", { className: "pw-input", value, "aria-label": said, onChange: (event) => change(event.target.value) }, options);
  return h("label", null, h("span", { className: "pw-dim" }, label), field);
}

function Body({ names, x, y, subject, subjects, before }) {
  const statistics = names.map((name) => ({ value: name, label: name }));
  const [pair, setPair] = useState([x, y]);
  const choose = (across, up) => {
    setPair([across, up]);
    go({ show: before + axesOf(across, up, subject) }, true);
  };
  return h(
    "div",
    { className: "pw-axis-pair" },
    subjects.length > 1 && select("Log", "What is decided", subjects, subject, (log) => go({ show: before + axesOf("", "", log) }, true)),
    select("Across", "Statistic across", statistics, pair[0], (name) => choose(name, swapped(name, pair[1], pair[0]))),
    select("Up", "Statistic up", statistics, pair[1], (name) => choose(swapped(name, pair[0], pair[1]), name))
  );
}

/** @param {{names: string[], x: string, y: string, subject: string, subjects: {value: string, label: string}[], before: string}} props
    names: the most important first; subjects: what is decided in each log; before: of the show, in front */
export const AxisPair = (props) => h(Body, { ...props, key: axesOf(props.x, props.y, props.subject) });
