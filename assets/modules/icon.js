/* Icon: a 24 x 24 line drawing in the colour of the text around it; a Dash component. */
import { h } from "./react.js";

/** @param {{path: string, size?: number}} props */
export function Icon({ path, size = 18 }) {
  const box = { width: size, height: size, viewBox: "0 0 24 24" };
  return h("svg", { ...box, className: "pw-icon", "aria-hidden": "true", focusable: "false" }, h("path", { d: path }));
}
