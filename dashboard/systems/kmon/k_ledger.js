/* KLedger: constraints with k in use, its estimate and the distances seen, on one axis; a Dash component.

   Props: run, drawing {joins, lines, knobs, separator} (see ledger.py), disabled (why knobs cannot be
   turned, or ''). */
import { components } from "./dash.js";
import { show } from "./format.js";
import { kText, placeOf, tickText, ticksOf, topOf } from "./k_axis.js";
import { NameChoice } from "./knob_choice.js";
import { go } from "./moment.js";
import { h, useState } from "./react.js";

/** @type {Object<string, [string, string]>} */
const STATES = {
  used: ["◆", "used"],
  watched: ["◇", "watched only"],
  unused: ["◌", "not used"],
  unknown: ["·", "no k yet"],
};
/** @type {Object<string, [string, (one: any, other: any) => number]>} */
const ORDERS = {
  saved: ["bytes saved", (one, other) => (other.saved_bytes || 0) - (one.saved_bytes || 0)],
  above: ["distances above k", (one, other) => (other.violations || 0) - (one.violations || 0)],
  k: ["k in use", (one, other) => (one.used ?? Infinity) - (other.used ?? Infinity) || 0],
  name: ["name", (one, other) => one.name.localeCompare(other.name)],
};
const at = (k, top) => `${placeOf(k, top).toFixed(2)}%`;
const int = (value) => show(value, "int");
const isKnown = (value) => value !== null && value !== undefined;

/* What all constraints of a join come to. */
function Held({ join }) {
  const { title, held, plain, aside, held_bytes: bytes, plain_bytes: without, results, lost, watching } = join;
  if (!isKnown(held)) return null;
  const facts = [
    aside > 0 && `${int(aside)} more aside on disk, their keys in memory`,
    isKnown(bytes) && isKnown(without) && `${show(bytes, "bytes")} in place of ${show(without, "bytes")}`,
    isKnown(results) && `${int(results)} results, ${lost ? `at most ${int(lost)} lost` : "none lost"}`,
    isKnown(watching) && `watching takes ${show(watching, "pct")} of the join's time`,
  ].filter(Boolean);
  return h(
    "header",
    { className: "pw-k-held", "data-join": join.id },
    h("h3", null, `${title ? `${title}: ` : ""}${int(held)} tuples held`, h("span", null, isKnown(plain) ? ` where a join without constraints would hold ${int(plain)}` : "")),
    h("p", null, h("span", { className: "pw-badge" }, "measured"), ` ${join.name}: ${facts.join(" · ")}`)
  );
}

/* The marks of the axis, and what is drawn on it. */
function Axis({ top }) {
  const ticks = ticksOf(top);
  const tick = (k) => h("span", { key: kText(k), style: { left: at(k, top) } }, tickText(k));
  return h("div", { className: "pw-k-axis", "aria-hidden": true }, ticks.map(tick), tick(null));
}

const LEGEND = [
  ["dot", "distance seen"],
  ["above", "above k then"],
  ["estimate", "estimate, 95\u2009% interval"],
  ["used", "k in use, ∞: nothing is let go"],
  ["kept", "noticed up to kₑ"],
  ["safe", "safe: the largest seen"],
];

const legend = () => h("ul", { className: "pw-k-legend" }, LEGEND.map(([name, words]) => h("li", { key: name }, h("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, sample(name)), words)));

function sample(name) {
  if (name === "dot") return h("circle", { className: "pw-k-dot", cx: 8, cy: 8, r: 2.5 });
  if (name === "above") return cross(8, 8);
  if (name === "estimate") return [h("rect", { key: 0, className: "pw-k-interval", x: 1, y: 5, width: 14, height: 6 }), h("line", { key: 1, className: "pw-k-estimate", x1: 8, x2: 8, y1: 3, y2: 13 })];
  if (name === "safe") return h("path", { className: "pw-k-safe", d: "M8 4l5 9h-10z" });
  return h("line", { className: `pw-k-${name}`, x1: 8, x2: 8, y1: 1, y2: 15 });
}

/* A distance above k: red, and a cross. */
const cross = (x, y, key) => h("svg", { key, x, y, className: "pw-k-above", overflow: "visible" }, h("path", { d: "M-3.2 -3.2L3.2 3.2M3.2 -3.2L-3.2 3.2" }));

const STRIP = { height: 56, dots: 4, spread: 26, bar: 40, thick: 8 };

/** Marks of a k: a line from top to bottom. */
const upright = (name, k, top) => h("line", { key: name, className: `pw-k-${name}`, x1: at(k, top), x2: at(k, top), y1: 0, y2: STRIP.height });

function Strip({ line, top }) {
  const { dots, state, used, kept, estimate, low, high, safe } = line;
  const dot = ([distance, above], place) => {
    const y = STRIP.dots + ((place * 11) % STRIP.spread);
    return above ? cross(at(distance, top), y, place) : h("circle", { key: place, className: "pw-k-dot", cx: at(distance, top), cy: y, r: 2 });
  };
  const interval = isKnown(low) && isKnown(high) && h("rect", { key: "interval", className: "pw-k-interval", x: at(low, top), y: STRIP.bar, width: `${Math.max(0.4, placeOf(high, top) - placeOf(low, top)).toFixed(2)}%`, height: STRIP.thick });
  const mid = isKnown(estimate) && h("line", { key: "estimate", className: "pw-k-estimate", x1: at(estimate, top), x2: at(estimate, top), y1: STRIP.bar - 3, y2: STRIP.bar + STRIP.thick + 3 });
  const safest = isKnown(safe) && h("svg", { key: "safe", x: at(safe, top), y: STRIP.bar + STRIP.thick / 2, overflow: "visible" }, h("path", { className: "pw-k-safe", d: "M0 -5l5 9h-10z" }));
  return h(
    "svg",
    { className: "pw-k-strip", height: STRIP.height, role: "img", "aria-label": stripWords(line) },
    h("line", { className: "pw-k-base", x1: 0, x2: at(top, top), y1: STRIP.bar + STRIP.thick / 2, y2: STRIP.bar + STRIP.thick / 2 }),
    h("line", { className: "pw-k-base pw-k-gap", x1: at(top, top), x2: at(null, top), y1: STRIP.bar + STRIP.thick / 2, y2: STRIP.bar + STRIP.thick / 2 }),
    interval,
    mid,
    dots.map(dot),
    isKnown(kept) && upright("kept", kept, top),
    safest,
    upright(state === "used" ? "used" : "used pw-k-idle", used, top),
    used === null && h("text", { key: "endless", className: "pw-k-endless", x: at(null, top), y: 14, dx: -4, textAnchor: "end" }, "∞")
  );
}

function stripWords({ dots, used, kept, estimate, low, high, safe }) {
  const above = dots.filter((one) => one[1]).length;
  const parts = [
    `k in use ${kText(used)}`,
    isKnown(estimate) ? `estimate ${kText(estimate)}${isKnown(low) ? `, ${kText(low)} to ${kText(high)}` : ""}` : "no estimate yet",
    isKnown(kept) && `noticed up to ${kText(kept)}`,
    isKnown(safe) && `safe from ${kText(safe)}`,
    `${dots.length} distances drawn, ${above} above the k of their time`,
  ];
  return parts.filter(Boolean).join("; ");
}

function estimateText({ estimate, low, high, n }) {
  if (!isKnown(estimate)) return "no estimate yet";
  const interval = isKnown(low) && isKnown(high) && low < high ? ` (${kText(low)}\u00a0…\u00a0${kText(high)})` : "";
  return `estimate\u00a0${kText(estimate)}${interval}${isKnown(n) ? `, n\u00a0=\u00a0${kText(n)}` : ""}`;
}

function lossText({ lost, returned, violations }) {
  const parts = [isKnown(lost) && (lost ? `at most ${int(lost)} lost` : "none lost"), isKnown(returned) && returned > 0 && `${int(returned)} came back`];
  const told = parts.filter(Boolean).join(", ") || "loss not known";
  return [told, violations ? `${int(violations)} above k in the batch` : "none above k in the batch"];
}

/* Words of a number, the larger first. */
const told = (className, big, small) => h("span", { className: `pw-k-told ${className}` }, h("b", null, big), h("span", null, small));

function Row({ line, top, ledger, run, disabled }) {
  const { id, name, short, words, state, choice, declared, used, safe, saved_bytes: bytes, saved_tuples: tuples } = line;
  const [sign, word] = STATES[state] || ["·", "state not known"];
  const common = { own: [name, short], called: name, separator: ledger.separator, run, disabled };
  const { pin, forbid } = ledger.knobs;
  const [loss, above] = lossText(line);
  return h(
    "li",
    { className: `pw-k pw-k-is-${state || "unknown"}`, "data-constraint": name, "data-id": id, "data-state": state, "data-used": kText(used) },
    h("span", { className: "pw-k-sign", "aria-hidden": true }, sign),
    h("span", { className: "pw-k-name" }, h("b", null, name), h("span", null, words)),
    told("pw-k-k", `k = ${kText(used)}`, [choice || word, isKnown(declared) && `declared ${kText(declared)}`, estimateText(line)].filter(Boolean).join(" · ")),
    h(Strip, { line, top }),
    told("pw-k-saves", bytes ? `saves ${show(bytes, "bytes")}` : "saves nothing", tuples ? `${int(tuples)} tuples` : ""),
    told(`pw-k-loses${line.lost ? " pw-k-lossy" : ""}`, loss, above + (isKnown(safe) ? ` · safe from ${kText(safe)}` : "")),
    h(
      "span",
      { className: "pw-k-acts" },
      pin && h(NameChoice, { ...common, knob: pin, word: "Pin", pressed: choice === "pinned" }),
      forbid && h(NameChoice, { ...common, knob: forbid, word: "Forbid", pressed: choice === "forbidden" }),
      h("button", { type: "button", className: "pw-button pw-name-choice", "aria-label": `What if ${name} had another k`, onClick: () => tryOther(name) }, "What if")
    )
  );
}

/* The constraint in the panel below. */
function tryOther(name) {
  go({ show: name }, true);
  const panel = document.getElementById("pw-k-whatif");
  if (panel) panel.scrollIntoView({ block: "nearest" });
}

function KLedger({ id, run, drawing: ledger, disabled }) {
  const [order, setOrder] = useState("saved");
  if (!ledger) return h("div", { id });
  const numbers = ledger.lines.flatMap((one) => [one.used, one.kept, one.high, one.estimate, one.safe, ...one.dots.map(([distance]) => distance)]);
  const top = topOf(numbers);
  const lines = [...ledger.lines].sort(ORDERS[order][1]);
  const choice = ([name, [words]]) => h("option", { key: name, value: name }, words);
  return h(
    "div",
    { id, className: "pw-ks-ledger" },
    ledger.joins.map((join) => h(Held, { key: join.id, join })),
    h(
      "div",
      { className: "pw-k-head" },
      h("label", null, "Sort by ", h("select", { className: "pw-input", value: order, onChange: (event) => setOrder(event.target.value) }, Object.entries(ORDERS).map(choice))),
      legend(),
      h(Axis, { top })
    ),
    h("ul", { className: "pw-k-rows", "aria-label": "Constraints" }, lines.map((line) => h(Row, { key: line.id, line, top, ledger, run, disabled })))
  );
}

Object.assign(components, { KLedger });
