/* Where the cards of a plan go: pure functions from (plan, width) to places. No DOM.

   A chain is one lane from left to right, a column for each card, below the band of tuples that are
   still alive; where the page is too narrow for it, it goes on in a second lane, from the left again.
   Any other graph is laid out in layers by dagre, from left to right, or downwards where that
   would be too wide. */

/** @typedef {{x: number, y: number, w: number, h: number}} Rect */
/** @typedef {{path: string, x: number, y: number, upright: boolean}} Line with the place of its labels */
/** @typedef {{source: string, target: string, queue?: string}} Edge without a queue: state that is read */
/** @typedef {{id: string, role: string}} Node */
/** @typedef {{x: number, w: number, y: number, most: number, row: number}} Column of a lane: the middle of its
    band is at y, which is at most so thick */
/** @typedef {{places: Object<string, Rect>, columns: Column[] | null, boxes: Rect[], width: number, height: number, lines: Object<string, Line>}} Layout
    columns: of a lane, in its order; boxes: around the steps of a plan without early drop, one a lane */

const CARD = { low: 128, height: 88, state: 58, store: 76 };
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
  if (path) return lanes(plan, path, wide);
  if (!plan.nodes.length || !dagre) return { places: {}, columns: null, boxes: [], lines: {}, width, height: 0 };
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
const PILL = { LR: { width: 44, height: 40 }, TB: { width: 96, height: 26 } };
const SHORT = 8; // how much shorter than an edge to an output the others are kept
const SPACE = { LR: { nodesep: 24, edgesep: 14, ranksep: 12 }, TB: { nodesep: 20, edgesep: 14, ranksep: 32 } };
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
  return { places, columns: null, boxes: [], lines: { ...lines, ...linesOf(routes, places, rankdir) }, width: Math.max(wide, width), height };
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
