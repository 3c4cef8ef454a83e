/* Where the cards of a plan go: pure functions from (plan, width) to places. No DOM.

   A chain folds into rows read like a snake, so every edge is short; rows hold about the same
   number of cards. A plan without early drop is a band: its constructs all look at every tuple.
   Any other graph is laid out in layers by dagre, from left to right, or downwards where that
   would be too wide. */

/** @typedef {{x: number, y: number, w: number, h: number}} Rect */
/** @typedef {{path: string, x: number, y: number, upright: boolean}} Line with the place of its labels */
/** @typedef {{source: string, target: string, queue?: string}} Edge without a queue: state that is read */
/** @typedef {{id: string, role: string}} Node */
/** @typedef {{places: Object<string, Rect>, band: Rect | null, width: number, height: number, lines: Object<string, Line>}} Layout */

const CARD = { low: 128, high: 164, height: 88, state: 58, store: 76 };
const GAP = { low: 54, high: 96, row: 40, band: 14 };
const PAD = 6;
const BAND_TOP = 34;

function fold(count, width) {
  const fits = Math.max(1, Math.floor((width - 2 * PAD + GAP.low) / (CARD.low + GAP.low)));
  const rows = Math.ceil(count / fits);
  return { rows, columns: Math.ceil(count / rows) };
}

function chain(nodes, width) {
  const { rows, columns } = fold(nodes.length, width);
  const inner = width - 2 * PAD;
  const gaps = Math.max(1, columns - 1);
  const card = Math.max(CARD.low, Math.min(CARD.high, (inner - gaps * GAP.low) / columns));
  const gap = columns > 1 ? Math.max(GAP.low, Math.min(GAP.high, (inner - columns * card) / gaps)) : 0;
  const used = columns * card + (columns - 1) * gap;
  const left = PAD + Math.max(0, (inner - used) / 2);
  const places = {};
  nodes.forEach((node, index) => {
    const row = Math.floor(index / columns);
    const step = index % columns;
    const column = row % 2 === 0 ? step : columns - 1 - step;
    places[node.id] = {
      x: left + column * (card + gap),
      y: PAD + 12 + row * (CARD.height + GAP.row),
      w: card,
      h: CARD.height,
    };
  });
  return { places, band: null, lines: {}, width, height: 2 * PAD + 12 + rows * CARD.height + (rows - 1) * GAP.row };
}

function band(nodes, width) {
  const first = nodes[0];
  const last = nodes[nodes.length - 1];
  const inside = nodes.slice(1, -1);
  const room = width - 2 * (PAD + CARD.low + GAP.low);
  const columns = Math.max(1, Math.min(inside.length, Math.floor(room / (CARD.low + GAP.band))));
  const rows = Math.max(1, Math.ceil(inside.length / columns));
  const card = Math.min(CARD.high, (room - GAP.band) / columns - GAP.band);
  const box = { x: PAD + CARD.low + GAP.low, y: PAD, w: room, h: BAND_TOP + rows * (CARD.height + GAP.band) + 2 };
  const places = {};
  inside.forEach((node, index) => {
    places[node.id] = {
      x: box.x + GAP.band + (index % columns) * (card + GAP.band),
      y: box.y + BAND_TOP + Math.floor(index / columns) * (CARD.height + GAP.band),
      w: card,
      h: CARD.height,
    };
  });
  const middle = box.y + (box.h - CARD.height) / 2;
  places[first.id] = { x: PAD, y: middle, w: CARD.low, h: CARD.height };
  places[last.id] = { x: width - PAD - CARD.low, y: middle, w: CARD.low, h: CARD.height };
  return { places, band: box, lines: {}, width, height: box.h + 2 * PAD };
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

/** What tells two edges between the same nodes apart.
    @param {Edge} edge */
export const edgeKey = ({ source, target, queue }) => `${source}>${target}>${queue || ""}`;

/** Places of all nodes.
    @param {{nodes: Node[], edges: Edge[], band?: boolean}} plan
    @param {number} width
    @param {any} dagre needed unless the plan is a path
    @returns {Layout} */
export function layoutPlan(plan, width, dagre) {
  const wide = Math.max(width, CARD.low + 2 * PAD);
  const path = pathOf(plan);
  if (path) return plan.band && path.length > 2 && wide > 5 * CARD.low ? band(path, wide) : chain(path, wide);
  if (!plan.nodes.length || !dagre) return { places: {}, band: null, lines: {}, width, height: 0 };
  const readers = ownStates(plan);
  let best = null;
  for (const [way, card] of LAYERED) {
    const blocks = blocksOf(plan, readers, way, card);
    const graph = ranked(plan, readers, blocks, way, dagre);
    if (!best || graph.graph().width < best.graph.graph().width) best = { graph, blocks };
    if (graph.graph().width <= wide) break;
  }
  return layered(plan, readers, best, wide);
}

/* Ways and widths of cards, the best first; the first that fits is taken. */
const LAYERED = [
  ["LR", 156],
  ["LR", CARD.low],
  ["TB", 156],
  ["TB", CARD.low],
];
const PILL = { LR: { width: 54, height: 40 }, TB: { width: 96, height: 26 } };
const SHORT = 8; // how much shorter than an edge to an output the others are kept
const SPACE = { LR: { nodesep: 24, edgesep: 14, ranksep: 16 }, TB: { nodesep: 20, edgesep: 14, ranksep: 32 } };
const STATE = { width: 132, gap: 14, row: 8 };
const TIP = 7; // the arrow's head

export const isState = (role) => role === "synopsis" || role === "store";

/* State that one operator alone uses -> that operator: it is placed beside it, also when it is a
   stub and looks into a store. */
function ownStates({ nodes, edges }) {
  const found = new Map();
  const states = new Set(nodes.filter(({ role }) => isState(role)).map(({ id }) => id));
  const stores = new Set(nodes.filter(({ role }) => role === "store").map(({ id }) => id));
  for (const { id, role } of nodes) {
    const ends = edges.filter((edge) => edge.source === id || (edge.target === id && !stores.has(edge.source)));
    if (!isState(role) || ends.length !== 1 || ends[0].queue) continue;
    const other = ends[0].source === id ? ends[0].target : ends[0].source;
    if (!states.has(other)) found.set(id, other);
  }
  return found;
}

/* Whether an edge joins a card to state that is placed beside it. */
const isTie = (edge, readers) => readers.get(edge.source) === edge.target || readers.get(edge.target) === edge.source;

/* What is placed as one: a card with the state of its own, to its right where the graph runs
   downwards, else below it. Node -> {w, h, parts: {id: rectangle within}}. */
function blocksOf({ nodes }, readers, way, card) {
  const blocks = {};
  for (const { id, role } of nodes) {
    if (readers.has(id)) continue;
    const own = nodes.filter((node) => readers.get(node.id) === id).map((node) => node.id);
    const parts = { [id]: { x: 0, y: 0, w: card, h: isState(role) ? CARD[role === "store" ? "store" : "state"] : CARD.height } };
    own.forEach((state, row) => {
      const below = row * (CARD.state + STATE.row);
      const place = way === "LR" ? { x: 8, y: CARD.height + STATE.gap + below, w: card - 16 } : { x: card + STATE.gap, y: below, w: STATE.width };
      parts[state] = { ...place, h: CARD.state };
    });
    const ends = Object.values(parts);
    blocks[id] = { parts, w: Math.max(...ends.map((one) => one.x + one.w)), h: Math.max(...ends.map((one) => one.y + one.h)) };
  }
  return blocks;
}

function ranked({ edges }, readers, blocks, way, dagre) {
  const graph = new dagre.Graph({ multigraph: true });
  graph.setGraph({ rankdir: way, marginx: PAD, marginy: PAD, ...SPACE[way] });
  for (const [id, { w, h }] of Object.entries(blocks)) graph.setNode(id, { width: w, height: h });
  const feeding = new Set(edges.map((edge) => edge.source));
  for (const edge of edges) {
    if (isTie(edge, readers)) continue;
    // short branches begin beside long ones: what is left over of their length leads to the output
    const weight = feeding.has(edge.target) ? SHORT : 1;
    graph.setEdge(edge.source, readers.get(edge.target) || edge.target, { weight, ...(edge.queue ? { ...PILL[way], labelpos: "c" } : {}) }, edgeKey(edge));
  }
  dagre.layout(graph);
  return graph;
}

/* In the middle of the width, or as wide as it must be. */
function layered({ edges }, readers, { graph, blocks }, wide) {
  const { rankdir, width, height } = graph.graph();
  const left = Math.max(0, (wide - width) / 2);
  const places = {};
  for (const [block, { parts, w, h }] of Object.entries(blocks)) {
    const { x, y } = graph.node(block);
    for (const [id, part] of Object.entries(parts)) places[id] = { ...part, x: left + x - w / 2 + part.x, y: y - h / 2 + part.y };
  }
  const lines = {};
  const routes = [];
  for (const edge of edges) {
    if (isTie(edge, readers)) {
      lines[edgeKey(edge)] = tie(places[edge.source], places[edge.target]);
      continue;
    }
    const { points, x } = graph.edge(edge.source, readers.get(edge.target) || edge.target, edgeKey(edge));
    const bends = points.slice(1, -1).map((point) => ({ x: left + point.x, y: point.y }));
    const label = bends.find((point) => point.x === left + x) || bends[0];
    routes.push({ edge, bends, label });
  }
  return { places, band: null, lines: { ...lines, ...linesOf(routes, places, rankdir) }, width: Math.max(wide, width), height };
}

/* From a card to the state beside or below it. */
function tie(from, to) {
  const [card, state] = from.h >= to.h ? [from, to] : [to, from];
  const beside = state.x >= card.x + card.w;
  const start = beside ? { x: card.x + card.w, y: Math.min(state.y + state.h / 2, card.y + card.h - 12) } : { x: card.x + 4, y: card.y + card.h };
  const end = { x: state.x, y: state.y + state.h / 2 };
  const path = beside ? `M${start.x},${start.y} L${end.x},${end.y}` : `M${start.x},${start.y} V${end.y} H${end.x}`;
  return { path, x: (start.x + end.x) / 2, y: (start.y + end.y) / 2, upright: !beside };
}

/* Lines through the points dagre left free for them. They end at a side of the cards, those that
   meet there side by side, in the order they come from. */
function linesOf(routes, places, way) {
  const across = way === "LR" ? "y" : "x";
  const ends = { source: sides(routes, "source", across), target: sides(routes, "target", across) };
  const lines = {};
  for (const route of routes) {
    const { edge, bends, label } = route;
    const start = port(places[edge.source], way, 1, ends.source.get(route));
    const end = port(places[edge.target], way, -1, ends.target.get(route), edge.queue ? TIP : 0);
    lines[edgeKey(edge)] = { path: smooth([start, ...bends, end], way), ...label, upright: way === "TB" };
  }
  return lines;
}

/* Route -> its place among those that end at the same node, as a number around 0. */
function sides(routes, end, across) {
  const groups = new Map();
  for (const route of routes) groups.set(route.edge[end], [...(groups.get(route.edge[end]) || []), route]);
  const found = new Map();
  const from = ({ bends }) => bends[end === "source" ? 0 : bends.length - 1][across];
  for (const group of groups.values()) {
    group.sort((a, b) => from(a) - from(b));
    group.forEach((route, place) => found.set(route, place - (group.length - 1) / 2));
  }
  return found;
}

function port(card, way, direction, place, gap = 0) {
  const middle = { x: card.x + card.w / 2, y: card.y + card.h / 2 };
  if (way === "LR") return { x: middle.x + direction * (card.w / 2 + gap), y: middle.y + 16 * place };
  return { x: middle.x + 26 * place, y: middle.y + direction * (card.h / 2 + gap) };
}

function smooth(points, way) {
  const steps = points.slice(1).map((b, i) => {
    const a = points[i];
    const [mx, my] = [(a.x + b.x) / 2, (a.y + b.y) / 2];
    const bend = way === "LR" ? `${mx},${a.y} ${mx},${b.y}` : `${a.x},${my} ${b.x},${my}`;
    return `C${bend} ${b.x},${b.y}`;
  });
  return `M${points[0].x},${points[0].y} ${steps.join(" ")}`;
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
