/* Segments: one of a few choices, all in sight; a Dash component. */
import { h } from "./react.js";

/** @param {{id: string, label: string, value: string, choices: [string, string][], setProps: (props: object) => void}} props */
export function Segments({ id, label, value, choices, setProps }) {
  const choice = ([name, words]) =>
    h(
      "label",
      { key: name },
      h("input", { type: "radio", name: id, value: name, checked: name === value, onChange: () => setProps({ value: name }) }),
      h("span", null, words)
    );
  return h("div", { id, className: "pw-choices", role: "radiogroup", "aria-label": label }, choices.map(choice));
}
