/* Static: a tree of html elements as one Dash component; see dashboard/components/static.py. */
import { components } from "./dash.js";
import { h } from "./react.js";

export function draw(node, key) {
  if (!Array.isArray(node)) return node;
  const [tag, properties, ...children] = node;
  const type = tag.startsWith("@") ? components[tag.slice(1)] : tag;
  return h(type, { ...properties, key }, ...children.map((child, index) => draw(child, index)));
}

/** @param {{tree: unknown}} props tree: text, number, or [tag, properties, ...children] */
export const Static = (props) => draw(props.tree, "root");
