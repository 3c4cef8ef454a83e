/* Static: a tree of html elements as one Dash component; see dashboard/components/static.py. */
import { components } from "./dash.js";
import { h } from "./react.js";

/* What the live path wrote into a number is unknown to React, which compares with what it drew itself: a
   number that is drawn as of another batch is mounted anew, so that its text and its batch go together. */
const keyOf = (properties, key, of) => (properties["data-live"] ? `${key} of ${of}` : key);

export function draw(node, key, above) {
  if (!Array.isArray(node)) return node;
  const [tag, properties, ...children] = node;
  const type = tag.startsWith("@") ? components[tag.slice(1)] : tag;
  const of = properties["data-as-of"] ?? above;
  return h(type, { ...properties, key: keyOf(properties, key, of) }, ...children.map((child, index) => draw(child, index, of)));
}

/** @param {{tree: unknown}} props tree: text, number, or [tag, properties, ...children] */
export const Static = (props) => draw(props.tree, "root");
