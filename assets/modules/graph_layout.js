/* Where the cards of a plan go: pure functions from (plan, width) to places. No DOM.

   A chain is one lane from left to right, a column for each card, below the band of tuples that are
   still alive; where the page is too narrow for it, it goes on in a second lane, from the left again.
   Any other graph is laid out in layers. */
import { edgeKey, layersOf } from "./graph_layers.js";

/** @typedef {{x: number, y: number, w: number, h: number}} Rect */
/** @typedef {{path: string, x: number, y: number, upright: boolean}} Line with the place of its labels */
/** @typedef {{source: string, target: string, queue?: string}} Edge without a queue: state that is read */
/** @typedef {{id: string, role: string}} Node */
/** @typedef {{x: number, w: number, y: number, most: number, row: number}} Column of a lane: the middle of its
    band is at y, which is at most so thick */
/** @typedef {{places: Object<string, Rect>, level?: import("./graph_layers.js").Level, drawn?: number, columns: Column[] | null, boxes: Rect[], width: number, height: number, lines: Object<string, Line>}} Layout
    level: of a graph in layers, which alone takes the width drawn; columns: of a lane, in its order; boxes: around the steps of a plan without early drop, one a lane */

const LOW = 128; // of a card
const PAD = 6;
/* A lane, from above: room for a share, the band, the place in the order, the card; then what is
   between two lanes, and the old places below the last. */
const LANE = { least: 60, most: 220, gap: 6, over: 18, band: 92, thin: 56, place: 32, card: 112, between: 26, below: 26 };

function lanes({ edges, band }, path, width) {
  const inner = width - 2 * PAD;
  const fits = Math.max(1, Math.floor(inner / LANE.least));
  const rows = Math.ceil(path.length / fits);
  const across = Math.ceil(path.length / rows);
  const slot = Math.min(LANE.most, inner / across);
  const left = PAD + (inner - across * slot) / 2;
  const most = rows > 1 ? LANE.thin : LANE.band;
  const head = LANE.over + most + LANE.place;
  const step = head + LANE.card + LANE.between;
  const columns = path.map((_, index) => {
    const row = Math.floor(index / across);
    return { x: left + (index % across) * slot, w: slot, y: row * step + LANE.over + most / 2, most, row };
  });
  const places = {};
  path.forEach(({ id }, index) => {
    const { x, row } = columns[index];
    places[id] = { x: x + LANE.gap / 2, y: row * step + head, w: slot - LANE.gap, h: LANE.card };
  });
  const boxes = band && path.length > 2 ? boxesOf(columns.slice(1, -1), head, step) : [];
  return { places, columns, boxes, lines: laneLines(edges, new Map(path.map(({ id }, index) => [id, columns[index]]))), width, height: rows * step - LANE.between + LANE.below };
}

/* Around the columns of each lane. */
function boxesOf(columns, head, step) {
  return [...new Set(columns.map(({ row }) => row))].map((row) => {
    const own = columns.filter((one) => one.row === row);
    const [first, last] = [own[0], own[own.length - 1]];
    return { x: first.x, y: row * step + head - 4, w: last.x + last.w - first.x, h: LANE.card + 8 };
  });
}

/* The band itself is the line; only where it goes on in the next lane one is drawn. */
function laneLines(edges, columns) {
  const lines = {};
  for (const edge of edges) {
    const [from, to] = [columns.get(edge.source), columns.get(edge.target)];
    const turns = from.row !== to.row;
    lines[edgeKey(edge)] = { path: turns ? carriage(from, to) : "", x: turns ? from.x + from.w - 20 : to.x, y: from.y, upright: false };
  }
  return lines;
}

/* From the end of a lane to the begin of the next, between the two. */
function carriage(from, to) {
  const [end, begin] = [from.x + from.w, to.x];
  const between = to.y - to.most / 2 - LANE.over - LANE.between / 2;
  const turn = 8;
  return (
    `M${end - 1},${from.y} h1 q${turn},0 ${turn},${turn} V${between - turn} q0,${turn} ${-turn},${turn}` +
    ` H${begin} q${-turn},0 ${-turn},${turn} V${to.y - turn} q0,${turn} ${turn},${turn}`
  );
}

/** The nodes of a graph that is one path, in its order; null when it is none.
    @template {Node} N
    @param {{nodes: N[], edges: Edge[]}} plan
    @returns {N[] | null} */
export function pathOf({ nodes, edges }) {
  const next = new Map(edges.map((edge) => [edge.source, edge.target]));
  const targets = new Set(next.values());
  if (edges.length !== nodes.length - 1 || targets.size !== edges.length) return null;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const path = [];
  for (let at = nodes.find((node) => !targets.has(node.id)); at; at = byId.get(next.get(at.id))) path.push(at);
  return path.length === nodes.length ? path : null;
}

/** Places of all nodes.
    @param {{nodes: Node[], edges: Edge[], band?: boolean}} plan
    @param {number} width
    @param {any} dagre needed unless the plan is a path
    @param {import("./graph_layers.js").Level} level of what is no path
    @returns {Layout} */
export function layoutPlan(plan, width, dagre, level = "tree") {
  const wide = Math.max(width, LOW + 2 * PAD);
  const path = pathOf(plan);
  if (path) return lanes(plan, path, wide);
  if (!plan.nodes.length || !dagre) return { places: {}, columns: null, boxes: [], lines: {}, width, height: 0 };
  return layersOf(plan, wide, dagre, level);
}

/** The line from one rectangle to the next: {path, x, y} with the middle for its labels. */
export function edgeLine(from, to) {
  const a = { x: from.x + from.w / 2, y: from.y + from.h / 2 };
  const b = { x: to.x + to.w / 2, y: to.y + to.h / 2 };
  const across = Math.abs(b.x - a.x) >= (from.w + to.w) / 2;
  const tip = 7;
  if (across) {
    const way = Math.sign(b.x - a.x);
    const start = { x: a.x + (way * from.w) / 2, y: a.y };
    const end = { x: b.x - way * (to.w / 2 + tip), y: b.y };
    const bend = (end.x - start.x) / 2;
    const curve = `C${start.x + bend},${start.y} ${end.x - bend},${end.y}`;
    return line(start, end, curve, false);
  }
  const way = Math.sign(b.y - a.y) || 1;
  const start = { x: a.x, y: a.y + (way * from.h) / 2 };
  const end = { x: b.x, y: b.y - way * (to.h / 2 + tip) };
  const bend = (end.y - start.y) / 2;
  return line(start, end, `C${start.x},${start.y + bend} ${end.x},${end.y - bend}`, true);
}

function line(start, end, curve, upright) {
  const straight = start.x === end.x || start.y === end.y;
  const path = `M${start.x},${start.y} ${straight ? "L" : curve + " "}${end.x},${end.y}`;
  return { path, x: (start.x + end.x) / 2, y: (start.y + end.y) / 2, upright };
}

const NEAR_PX = 8; // has not moved

/** What moved from one plan to the next. In a lane those that went furthest: where one card goes to the
    front, all it overtakes move by a place, which is no news.
    @param {{plan: any, layout: any}} before
    @param {{plan: any, layout: any}} after */
export function movedSince(before, after) {
  const now = new Map(after.plan.nodes.map((node) => [node.id, node]));
  const inLanes = before.layout.columns && after.layout.columns;
  const found = before.plan.nodes
    .filter(({ id, position }) => before.layout.places[id] && (position || !inLanes))
    .map(({ id, name, position }) => {
      const [from, to, next] = [before.layout.places[id], after.layout.places[id], now.get(id)];
      const far = inLanes ? Math.abs((next ? next.position : 0) - position) : to ? Math.hypot(to.x - from.x, to.y - from.y) : Infinity;
      return { id, name, position, from, to, far };
    })
    .filter(({ far }) => far >= (inLanes ? 1 : NEAR_PX));
  return inLanes && found.some(({ far }) => far > 1) ? found.filter(({ far }) => far > 1) : found;
}
