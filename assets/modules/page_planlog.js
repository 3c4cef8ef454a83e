/* AxisPair: the two statistics that the looks of a plan log are drawn on; they stand in the address. A
   Dash component. */
import { go } from "./moment.js";
import { h, useState } from "./react.js";

/** The show of an address for two statistics; see dashboard/views/planlog_space.py.
    @param {string} x
    @param {string} y */
export const axesOf = (x, y) => `${x}~${y}`;

/* What is chosen for one axis and stood on the other goes there. */
const swapped = (chosen, other, before) => (chosen === other ? before : other);

function select(label, names, value, change) {
  const options = names.map((name) => h("option", { key: name, value: name }, name));
  const field = h("select", { className: "pw-input", value, "aria-label": `Statistic ${label.toLowerCase()}`, onChange: (event) => change(event.target.value) }, options);
  return h("label", null, h("span", { className: "pw-dim" }, label), field);
}

function Body({ names, x, y }) {
  const [pair, setPair] = useState([x, y]);
  const choose = (across, up) => {
    setPair([across, up]);
    go({ show: axesOf(across, up) }, true);
  };
  return h(
    "div",
    { className: "pw-axis-pair" },
    select("Across", names, pair[0], (name) => choose(name, swapped(name, pair[1], pair[0]))),
    select("Up", names, pair[1], (name) => choose(swapped(name, pair[0], pair[1]), name))
  );
}

/** @param {{names: string[], x: string, y: string}} props names: the most important first */
export const AxisPair = (props) => h(Body, { ...props, key: axesOf(props.x, props.y) });
