/* The band of a lane: as thick as the share of the batch's tuples that is still alive, filled with the
   heat of the card below, and what a card drops bitten out of it. */
import { edgeShare, heatStep } from "./graph_values.js";
import { sizesOf } from "./points.js";
import { h } from "./react.js";

const THIN = 2; // what little is left can still be seen
const [FALL, LANDED] = [0.28, 0.78]; // of a column: where the band begins to fall, and where it has

/** Shares of the batch's tuples on the edges of a path, [0, 1], or null where unknown. What has no
    share is told by its queue, relative to the fullest; without early drop all tuples stay to the end.
    @param {{nodes: any[], edges: any[], band?: boolean}} plan
    @param {any[]} path
    @param {any} facts */
export function sharesOf(plan, path, facts) {
  const leaving = new Map(plan.edges.map((edge) => [edge.source, edge]));
  const flow = (node) => sizesOf(facts.values[leaving.get(node.id).queue]).size ?? null;
  const most = Math.max(1, ...path.slice(0, -1).map(flow));
  const last = path[path.length - 2];
  return path.slice(0, -1).map((node) => {
    if (plan.band && node !== last) return facts.n > 0 ? 1 : null;
    const share = edgeShare(node, facts);
    if (share !== undefined) return share;
    const size = flow(node);
    return size === null ? null : size / most;
  });
}

/** Shares in front of and behind each card; unknown ones as the last that is known.
    @param {(number | null)[]} shares of the edges
    @returns {[number, number][]} */
export function through(shares) {
  let last = 1;
  const known = shares.map((share) => (last = share === null ? last : share));
  return [...known, last].map((share, place) => [place ? known[place - 1] : share, share]);
}

const thick = (share, most) => Math.max(THIN, share * most);

/** Outline of the band in a column, and of the two bites it takes out, '' without any.
    @param {{x: number, w: number, y: number, most: number}} column
    @param {[number, number]} shares */
export function flowPaths({ x, w, y, most }, [before, after]) {
  const [a, b] = [thick(before, most) / 2, thick(after, most) / 2];
  const [from, to] = [x + FALL * w, x + LANDED * w];
  const middle = (from + to) / 2;
  const fall = (way) => `C${middle},${y + way * a} ${middle},${y + way * b} ${to},${y + way * b}`;
  const rise = `C${middle},${y + b} ${middle},${y + a} ${from},${y + a}`;
  const band = `M${x},${y - a} H${from} ${fall(-1)} H${x + w} V${y + b} H${to} ${rise} H${x} Z`;
  const bite = (way) => `M${from},${y + way * a} ${fall(way)} V${y + way * a} Z`;
  return { band, bite: a - b < 0.5 ? "" : `${bite(-1)} ${bite(1)}` };
}

/* Class and colour of a card's column: its heat, or what it is. */
function toneOf(node, facts, heat, top) {
  const card = facts.cards[node.id];
  const step = card ? heatStep(heat.of(card), top) : null;
  if (step !== null) return `var(--pw-heat-${step})`;
  return node.role === "output" ? "var(--pw-ok)" : "var(--pw-series)";
}

/* From the colour of the column before to the own; and what is dropped fades away. */
const shade = (id, stops) =>
  h(
    "linearGradient",
    { key: id, id },
    stops.map(([offset, stopColor, stopOpacity]) => h("stop", { key: offset, offset, style: { stopColor, stopOpacity } }))
  );

/** The band. scene: see plan_graph.js. */
export function graphFlow({ plan, path, layout, facts, heat, top }) {
  const alive = through(sharesOf(plan, path, facts));
  const tones = path.map((node) => toneOf(node, facts, heat, top));
  const parts = path.map((node, place) => {
    const { band, bite } = flowPaths(layout.columns[place], alive[place]);
    const [before, own] = [tones[Math.max(0, place - 1)], tones[place]];
    const [flow, fade] = [`pw-flow-${place}`, `pw-fade-${place}`];
    return h(
      "g",
      { key: node.id, className: "pw-flow", "data-flow": node.id },
      shade(flow, [[0, before, 0.5], [0.45, own, 0.62], [1, own, 0.5]]),
      shade(fade, [[0, own, 0.5], [1, own, 0.04]]),
      h("path", { d: band, fill: `url(#${flow})` }),
      bite && h("path", { d: bite, fill: `url(#${fade})` })
    );
  });
  return h("g", { className: "pw-flows", key: plan.hash, "aria-hidden": "true" }, parts);
}
