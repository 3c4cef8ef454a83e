/* The plan graph's legend (always visible, with the colour toggle) and its tooltip. */
import { show } from "./format.js";
import { nodeSign, shortNumber } from "./graph_parts.js";
import { heats } from "./graph_values.js";
import { h } from "./react.js";

/** options: {heat, setHeat, top, filters}: the colour metric, its setter, the upper end of the scale. */
export function graphLegend({ heat, setHeat, top, filters }) {
  const choice = ([name, { label }]) =>
    h(
      "button",
      {
        key: name,
        type: "button",
        className: "pw-segment",
        "aria-pressed": heat === name ? "true" : "false",
        onClick: () => setHeat(name),
      },
      label
    );
  const ramp = [0, 1, 2, 3, 4].map((step) => h("i", { key: step, className: `pw-heat-${step}` }));
  return h(
    "div",
    { className: "pw-legend", "aria-label": "Legend", role: "group" },
    h("span", { className: "pw-legend-word" }, "Bar:"),
    h("span", { className: "pw-segments", role: "group", "aria-label": "Colour of the bars" }, Object.entries(heats).map(choice)),
    h("span", { className: "pw-ramp" }, "0 %", h("span", { className: "pw-ramp-steps" }, ramp), `${(100 * top).toPrecision(2) * 1} %`),
    filters && h("span", { className: "pw-legend-item" }, "σ in a Spark expression, ƒ in Python"),
    h("span", { className: "pw-legend-item" }, h("i", { className: "pw-legend-edge" }), "tuples still alive"),
    h("span", { className: "pw-legend-item" }, h("i", { className: "pw-legend-pill" }), "queue, filled by share of the batch")
  );
}

function rows(node, facts) {
  const system = facts.system;
  if (node.id === "op:source")
    return [
      ["arriving", show(system.tuples_per_s, "si") + " tuples/s"],
      ["in this batch", show(system.n_tuples, "int") + " tuples"],
      ["waiting", show(system.backlog_tuples, "int") + " tuples"],
    ];
  if (node.id === "op:output")
    return [
      ["matched", `${show(facts.matched, "pct")} of the batch`],
      ["in this batch", show(system.n_matched, "int") + " tuples"],
      ["in total", show(system.matched_total, "int") + " tuples"],
    ];
  const card = facts.cards[node.id] || {};
  const filter = [
    ["cost", `${card.cost === null ? "—" : shortNumber(card.cost ?? 0)} µs per tuple`],
    ["runs in", node.kind === "filter" ? "the Arrow operator" : "a Spark expression"],
  ];
  return [
    ["drop probability", show(card.drop, "f3")],
    ["reached by", `${show(card.reached, "int")} of ${show(card.n, "int")} tuples`],
    ["dropped here", `${show(card.drops, "pct")} of the batch`],
    ["still alive after", `${show(card.survival, "pct")} of the batch`],
    [node.kind === "asc" ? "share of visits" : "share of the cost", show(card.visits, "pct")],
    ...(node.kind === "asc" ? [] : filter),
  ];
}

/** What a card says in full. Purely visual: the same is in the card's label and the table. */
export function graphTip(node, { place, facts, width, batch }) {
  const left = Math.min(Math.max(0, place.x), Math.max(0, width - 276));
  const lines = rows(node, facts).map(([name, value]) => h("tr", { key: name }, h("th", null, name), h("td", null, value)));
  return h(
    "div",
    { className: "pw-tip", style: { left, top: place.y + place.h + 8 }, "aria-hidden": "true" },
    h("b", null, `${nodeSign(node)} ${node.label}`),
    h("table", null, h("tbody", null, lines)),
    h("small", null, `as of batch ${show(batch, "int")}`)
  );
}
