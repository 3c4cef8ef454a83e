/* The band of a lane as React elements: filled with the heat of the cards below, what a card drops
   bitten out of it. */
import { bandPath, bitePath, sharesOf, through } from "./graph_band.js";
import { heatOf } from "./graph_values.js";
import { h } from "./react.js";

/* Class and colour of a card's column: its heat, or what it is. */
function toneOf(node, facts, heat, top) {
  const card = facts.cards[node.id];
  const step = heatOf(card, heat, top);
  if (step !== null) return `var(--pw-heat-${step})`;
  return node.role === "output" ? "var(--pw-ok)" : "var(--pw-series)";
}

const stops = (all) => all.map(([offset, stopColor, stopOpacity], place) => h("stop", { key: place, offset, style: { stopColor, stopOpacity } }));

/* A lane's band, its colour going over from card to card. before: that of the lane above. */
function laneBand(row, columns, alive, tones, before) {
  const [x1, end] = [columns[0].x, columns[columns.length - 1].x + columns[columns.length - 1].w];
  const at = (x) => (x - x1) / (end - x1);
  const colours = columns.flatMap(({ x, w }, place) => [
    [at(x), tones[place - 1] || before, 0.6],
    [at(x + 0.4 * w), tones[place], 0.6],
  ]);
  return h(
    "g",
    { key: `lane ${row}`, "data-lane": row },
    h("linearGradient", { id: `pw-flow-${row}`, gradientUnits: "userSpaceOnUse", x1, x2: end }, stops(colours)),
    h("path", { className: "pw-flow", d: bandPath(columns, alive), fill: `url(#pw-flow-${row})` })
  );
}

function bite(place, column, shares, tone) {
  const d = bitePath(column, shares);
  return d && h("g", { key: place }, h("linearGradient", { id: `pw-bite-${place}` }, stops([[0, tone, 0.5], [1, tone, 0.04]])), h("path", { className: "pw-bite", d, fill: `url(#pw-bite-${place})` }));
}

/** The band. scene: see plan_graph.js. */
export function graphFlow({ plan, path, layout, facts, heat, top }) {
  const { columns } = layout;
  const alive = through(sharesOf(plan, path, facts));
  const tones = path.map((node) => toneOf(node, facts, heat, top));
  const lanes = [...new Set(columns.map(({ row }) => row))].map((row) => {
    const [first, end] = [columns.findIndex((one) => one.row === row), columns.findLastIndex((one) => one.row === row) + 1];
    const own = (all) => all.slice(first, end);
    return laneBand(row, own(columns), own(alive), own(tones), tones[Math.max(0, first - 1)]);
  });
  const bites = columns.map((column, place) => bite(place, column, alive[place], tones[place]));
  return h("g", { className: "pw-flows", key: plan.hash, "aria-hidden": "true" }, lanes, bites);
}
