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

/* Where the band falls in a column, how thick it is before and after, and the way there. */
function fallOf({ x, w, y, most }, [before, after]) {
  const [a, b] = [thick(before, most) / 2, thick(after, most) / 2];
  const [from, to] = [x + FALL * w, x + LANDED * w];
  const middle = (from + to) / 2;
  const down = (way) => `C${middle},${y + way * a} ${middle},${y + way * b} ${to},${y + way * b}`;
  const up = `C${middle},${y + b} ${middle},${y + a} ${from},${y + a}`;
  return { x, end: x + w, y, a, b, from, to, down, up };
}

/** Outline of the band of one lane.
    @param {{x: number, w: number, y: number, most: number}[]} columns
    @param {[number, number][]} alive */
export function bandPath(columns, alive) {
  const falls = columns.map((column, place) => fallOf(column, alive[place]));
  const [first, last] = [falls[0], falls[falls.length - 1]];
  const over = falls.map(({ from, down, end }) => `H${from} ${down(-1)} H${end}`);
  const under = falls.map(({ to, up, x }) => `H${to} ${up} H${x}`).reverse();
  return `M${first.x},${first.y - first.a} ${over.join(" ")} V${last.y + last.b} ${under.join(" ")} Z`;
}

/** What a card bites out of the band, above and below; '' where nearly nothing.
    @param {{x: number, w: number, y: number, most: number}} column
    @param {[number, number]} shares */
export function bitePath(column, shares) {
  const { y, a, b, from, down } = fallOf(column, shares);
  const bite = (way) => `M${from},${y + way * a} ${down(way)} V${y + way * a} Z`;
  return a - b < 0.5 ? "" : `${bite(-1)} ${bite(1)}`;
}

/* Class and colour of a card's column: its heat, or what it is. */
function toneOf(node, facts, heat, top) {
  const card = facts.cards[node.id];
  const step = card ? heatStep(heat.of(card), top) : null;
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
