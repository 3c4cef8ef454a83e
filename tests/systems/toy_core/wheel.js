/* TurningWheel: a wheel as it stands after so many turns; a Dash component. */
import { components } from "./dash.js";
import { show } from "./format.js";
import { h } from "./react.js";

const STANDS = ["○", "◔", "◑", "◕", "●"];

/** How a wheel stands.
    @param {number} turns */
export const wheelStands = (turns) => STANDS[turns % STANDS.length];

const TurningWheel = ({ name, turns }) =>
  h("span", { className: "pw-wheel", title: `${name}: ${show(turns, "int")}` }, wheelStands(turns));

Object.assign(components, { TurningWheel });
