/* Scrubber: a slider over the batches of the run that moves the moment; a Dash component. */
import { components } from "./dash.js";
import { show } from "./format.js";
import { go } from "./moment.js";
import { h, useEffect, useRef, useState } from "./react.js";

const SETTLE_MS = 160; // a hand on the slider moves the page once it rests

function Scrubber({ id, at, now, marks }) {
  const [draft, setDraft] = useState(null);
  const timer = useRef(null);
  useEffect(() => setDraft(null), [at, now]);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  if (now === null || now === undefined || now < 1) return h("div", { id, hidden: true });
  const move = (value) => {
    setDraft(value);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => go({ at: value >= now ? null : value }, true), SETTLE_MS);
  };
  const shown = draft === null ? at : draft;
  const ticks = marks.filter((mark) => mark <= now).map((mark) => h("i", { key: mark, style: { left: `${(100 * mark) / now}%` } }));
  return h(
    "div",
    { id, className: "pw-scrub" },
    h("label", { htmlFor: `${id}-input` }, "batch ", h("b", null, show(shown, "int")), ` of ${show(now, "int")}`),
    h(
      "span",
      { className: "pw-scrub-track" },
      h("input", {
        id: `${id}-input`,
        type: "range",
        min: 0,
        max: now,
        step: 1,
        value: shown === null ? now : shown,
        "aria-valuetext": `batch ${shown}`,
        onChange: (event) => move(Number(event.target.value)),
        onKeyDown: (event) => event.stopPropagation(),
      }),
      h("span", { className: "pw-scrub-marks", "aria-hidden": true }, ticks)
    ),
    h("span", { className: "pw-scrub-word" }, "marks: new orders")
  );
}

Object.assign(components, { Scrubber });
