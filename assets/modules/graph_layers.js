/* A graph that is no chain in layers, by dagre. No DOM.

   A small one is a tree of cards, each with the state of its own beside or below it, from left to right
   where that fits, else downwards. Any other is a map with three levels of detail: dots and chips of
   one line, with their state as marks at their end, and cards. Sources stand at its left, outputs at
   its right, and what leads to an output alone lies on its lane. */
import { SIZES, textWidth } from "./fitting.js";
import { endsBy } from "./graph_fold.js";

/** @typedef {import("./graph_layout.js").Rect} Rect */
/** @typedef {import("./graph_layout.js").Line} Line */
/** @typedef {"dot" | "chip" | "card" | "tree"} Level */

/** Of a map, from far to near.
    @type {Level[]} */
export const LEVELS = ["dot", "chip", "card"];

const CARD = { low: 128, height: 88, state: 58, store: 76 };
const PAD = 6;
function chipWays(widest, narrowest, more) {
  return Array.from({ length: (widest - narrowest) / 6 + 1 }, (_, step) => ({ way: "LR", most: widest - 6 * step, ends: 150, ...more }));
}

/* Ways and widths at a level, the best first; the first that fits is taken. */
const WAYS = {
  card: [{ way: "LR", most: 156 }],
  tree: [
    { way: "LR", most: 156 },
    { way: "LR", most: CARD.low },
    { way: "TB", most: 156 },
    { way: "TB", most: CARD.low },
  ],
  chip: chipWays(198, 78, {}),
  dot: [150, 0].map((ends) => ({ way: "LR", most: 12, ends })), // sources and outputs are named, or dots, too
};
/* Of a map with few lanes: names on two lines, so that they are whole; where that leaves little room for a
   name, marks of state lie below its chip. */
const TWO_LINES = [...chipWays(198, 120, { lines: 2 }), ...chipWays(198, 66, { lines: 2, below: true })];
const FEW_LANES = 16;
const PILL = { LR: { width: 44, height: 40 }, TB: { width: 96, height: 26 } };
const CARDS_APART = { nodesep: 24, edgesep: 14, ranksep: 12 };
const SPACE = {
  card: { LR: CARDS_APART },
  tree: { LR: CARDS_APART, TB: { nodesep: 20, edgesep: 14, ranksep: 32 } },
  chip: { LR: { nodesep: 6, edgesep: 6, ranksep: 22 } },
  dot: { LR: { nodesep: 6, edgesep: 5, ranksep: 22 } },
};
const STATE = { width: 132, gap: 14, row: 8 };
/* Of a chip and a dot: how high, how wide a mark of its state is, and how far apart lines end at it. */
const MAP = { chip: { height: 20, two: 33, state: 15, port: 10 }, dot: { height: 12, named: 17, state: 7, port: 7 } };
const SMALLER = 0.88; // the scale that chips may have so that more of their names is in sight
const NUMBER = 64; // of a chip: what its number takes, and its sides
const SHORT = 8; // how much shorter than an edge to an output the others are kept
const TIP = 7; // the arrow's head
const UNDER = 1; // px between a chip and the marks below it
const QUEUE = { chip: 9, dot: 6 }; // in front of a chip: its queue

/** Whether nodes are cards, with pills between them.
    @param {Level | undefined} level of a chain undefined */
export const hasCards = (level) => level !== "dot" && level !== "chip";

export const isState = (role) => role === "synopsis" || role === "store";

const isEnd = (role) => role === "source" || role === "output";

/** What a chip is called: sources and outputs are known by where they stand, others by their sign.
    @param {{name: string, sign: string, role: string}} node */
export const chipName = ({ name = "", sign = "", role }) => (isEnd(role) || name.startsWith("[") || !sign ? name : `${sign} ${name}`);

/** Places of all nodes of a graph that is no chain.
    @param {{nodes: any[], edges: any[]}} plan
    @param {number} wide
    @param {any} dagre
    @param {Level} level */
export function layersOf(plan, wide, dagre, level) {
  const readers = hasCards(level) ? ownStates(plan) : hosts(plan);
  const tried = (way) => {
    const blocks = hasCards(level) ? cardBlocks(plan, readers, way) : mapBlocks(plan, readers, level, way);
    return { blocks, graph: ranked(plan, readers, blocks, way.way, dagre, level) };
  };
  if (!hasCards(level)) return layered(plan, readers, tried(widest(plan, readers, wide, level)), wide, level);
  let best = null;
  for (const next of WAYS[level]) {
    const other = tried(next);
    if (!best || other.graph.graph().width < best.graph.graph().width) best = other;
    if (other.graph.graph().width <= wide) break;
  }
  return layered(plan, readers, best, wide, level);
}

const waysOf = (plan, level) => (level === "chip" && plan.nodes.filter(({ role }) => role === "output").length <= FEW_LANES ? TWO_LINES : WAYS[level]);

/* The widest chips with which a map fits; else the narrowest. */
function widest(plan, readers, wide, level) {
  const ways = waysOf(plan, level);
  const ranks = ranksOf(plan);
  const fits = (way) => {
    const layers = [];
    for (const [id, { w }] of Object.entries(mapBlocks(plan, readers, level, way))) layers[ranks.get(id)] = Math.max(layers[ranks.get(id)] || 0, w);
    return layers.reduce((sum, one) => sum + one + SPACE[level].LR.ranksep, 2 * PAD) <= wide / SMALLER;
  };
  return ways.find(fits) || ways.at(-1);
}

/* Layer of each node of a map: sources in the first, outputs in the last, all others as soon as they can;
   state just before the first that reads it. */
function ranksOf({ nodes, edges }) {
  const inputs = endsBy(edges.filter(({ queue }) => queue), "target", "source");
  const ranks = new Map();
  const rankOf = (id) => {
    if (!ranks.has(id)) ranks.set(id, Math.max(-1, ...(inputs.get(id) || []).map(rankOf)) + 1);
    return ranks.get(id);
  };
  nodes.forEach(({ id }) => rankOf(id));
  const last = Math.max(...ranks.values());
  const looking = endsBy(edges.filter(({ queue }) => !queue), "source", "target");
  for (const { id, role } of nodes) {
    if (role === "output") ranks.set(id, last);
    if (isState(role)) ranks.set(id, firstOf((looking.get(id) || []).flatMap((one) => looking.get(one) || [one]), ranks) - 1);
  }
  return ranks;
}

const firstOf = (ids, ranks) => Math.max(1, Math.min(...ids.map((id) => ranks.get(id))));

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

/* State -> the first operator that reads it, be it through a stub: on a map it is a mark there. */
function hosts({ nodes, edges }) {
  const roles = new Map(nodes.map(({ id, role }) => [id, role]));
  const beside = new Map();
  for (const { source, target, queue } of edges) {
    if (queue) continue;
    for (const [one, other] of [[source, target], [target, source]]) beside.set(one, [...(beside.get(one) || []), other]);
  }
  const hostOf = (id, seen) => {
    for (const other of beside.get(id) || []) {
      if (!isState(roles.get(other))) return other;
      if (seen.has(other)) continue;
      const found = hostOf(other, seen.add(other));
      if (found) return found;
    }
    return null;
  };
  const found = nodes.filter(({ role }) => isState(role)).map(({ id }) => [id, hostOf(id, new Set([id]))]);
  return new Map(found.filter(([, host]) => host));
}

/* Whether an edge joins a card to state that is placed beside it. */
const isTie = (edge, readers) => readers.get(edge.source) === edge.target || readers.get(edge.target) === edge.source;

/* What is placed as one: a card with the state of its own, to its right where the graph runs
   downwards, else below it. Node -> {w, h, parts: {id: rectangle within}}. */
function cardBlocks({ nodes }, readers, { way, most: card }) {
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

/* The same of a map: as wide as its words, at most as told; as high as the lines need that end there, in
   the upper part of it that is high. */
function mapBlocks({ nodes, edges }, readers, level, way) {
  const { port } = MAP[level];
  const inputs = new Map();
  for (const edge of edges) if (edge.queue) inputs.set(edge.target, (inputs.get(edge.target) || 0) + 1);
  const states = new Map();
  for (const [id, host] of readers) states.set(host, [...(states.get(host) || []), id]);
  const blocks = {};
  for (const node of nodes) {
    if (readers.has(node.id)) continue;
    const marks = states.get(node.id) || [];
    const { below, ...size } = chipSize(node, marks.length, level, way);
    const high = Math.max(size.h, port * (inputs.get(node.id) || 0));
    const chip = { x: 0, y: (high - size.h) / 2, ...size };
    const parts = { [node.id]: chip };
    marks.forEach((mark, place) => (parts[mark] = markPlace(chip, below, high, place, MAP[level])));
    const ends = Object.values(parts);
    blocks[node.id] = { parts, w: Math.max(...ends.map(({ x, w }) => x + w)), h: Math.max(high, ...ends.map(({ y, h }) => y + h)), high };
  }
  return blocks;
}

/* How large a chip or dot is, and whether marks lie below it. */
function chipSize(node, marks, level, { most, ends, lines, below }) {
  const { height, two, state, named = height } = MAP[level];
  const limit = isEnd(node.role) ? Math.max(most, ends) : most;
  const words = limit > height ? Math.ceil(textWidth(chipName(node), SIZES.fine)) + NUMBER : 0;
  const w = Math.max(height, Math.min(limit, words));
  const h = lines === 2 && words > limit ? two : words ? named : height;
  return { w, h, below: below && marks > 0 && w + marks * (state + 2) > limit };
}

/* Of a mark of state: at the end of its chip, or below it. */
function markPlace({ y, w, h }, below, high, place, { state }) {
  const along = place * (state + 2);
  if (below) return { x: 6 + along, y: y + h + UNDER, w: state, h: state };
  return { x: w + 2 + along, y: (high - state) / 2, w: state, h: state };
}

function ranked({ nodes, edges }, readers, blocks, way, dagre, level) {
  const graph = new dagre.Graph({ multigraph: true });
  graph.setGraph({ rankdir: way, marginx: PAD, marginy: PAD, ...SPACE[level][way], ...(level === "tree" ? {} : { ranker: "longest-path" }) });
  for (const [id, { w, h }] of Object.entries(blocks)) graph.setNode(id, { width: w, height: h });
  const feeding = new Set(edges.map((edge) => edge.source));
  const ranks = level === "tree" ? null : ranksOf({ nodes, edges });
  for (const edge of edges) {
    if (!routed(edge, readers, level)) continue;
    // short branches begin beside long ones: what is left over of their length leads to the output
    const weight = feeding.has(edge.target) ? SHORT : 1;
    const target = readers.get(edge.target) || edge.target;
    const pill = hasCards(level) && edge.queue ? { ...PILL[way], labelpos: "c" } : {};
    const far = ranks ? { minlen: Math.max(1, ranks.get(target) - ranks.get(edge.source)) } : {};
    graph.setEdge(edge.source, target, { weight, ...pill, ...far }, edgeKey(edge));
  }
  // lanes of a map lie in the order of the plan, so that they stay where they are in the next one
  dagre.layout(graph, { disableOptimalOrderHeuristic: level !== "tree" });
  return graph;
}

/* Whether dagre leads the line of an edge; on a map what looks into a store goes straight there. */
const routed = (edge, readers, level) => !isTie(edge, readers) && (hasCards(level) || Boolean(edge.queue));

/** What tells two edges between the same nodes apart.
    @param {{source: string, target: string, queue?: string}} edge */
export const edgeKey = ({ source, target, queue }) => `${source}>${target}>${queue || ""}`;

/* In the middle of the width, or as wide as it must be. */
function layered({ edges }, readers, { graph, blocks }, wide, level) {
  const { rankdir, width, height } = graph.graph();
  const left = Math.max(0, (wide - width) / 2);
  const places = {};
  const outer = {}; // with the state beside it
  const begins = new Map(); // middle of a layer -> where its widest node begins
  for (const [block, { w }] of Object.entries(blocks)) {
    const { x } = graph.node(block);
    begins.set(x, Math.min(begins.get(x) ?? Infinity, x - w / 2));
  }
  for (const [block, { parts, w, h, high = h }] of Object.entries(blocks)) {
    const { x, y } = graph.node(block);
    outer[block] = { x: left + (hasCards(level) ? x - w / 2 : begins.get(x)), y: y - h / 2, w, h: high };
    for (const [id, part] of Object.entries(parts)) places[id] = { ...part, x: outer[block].x + part.x, y: outer[block].y + part.y };
  }
  const lines = {};
  const routes = [];
  for (const edge of edges) {
    if (!routed(edge, readers, level)) {
      lines[edgeKey(edge)] = hasCards(level) ? tie(places[edge.source], places[edge.target]) : sight(places[edge.source], places[edge.target]);
      continue;
    }
    const { points, x } = graph.edge(edge.source, readers.get(edge.target) || edge.target, edgeKey(edge));
    const bends = points.slice(1, -1).map((point) => ({ x: left + point.x, y: point.y }));
    const label = bends.find((point) => point.x === left + x) || bends[0];
    routes.push({ edge, bends, label });
  }
  const shape = hasCards(level) ? CARD_LINES[rankdir] : { way: rankdir, spread: { source: 0, target: MAP[level].port }, tip: 0, queue: QUEUE[level] };
  const ends = hasCards(level) ? places : outer;
  return { places, level, columns: null, boxes: [], lines: { ...lines, ...linesOf(routes, ends, shape) }, width: Math.max(wide, width), height, drawn: width };
}

/* How far apart lines end at a card, and the room for their tips. queue: how far in front of its target
   a queue is; undefined: where dagre left room for it. */
const CARD_LINES = {
  LR: { way: "LR", spread: { source: 16, target: 16 }, tip: TIP },
  TB: { way: "TB", spread: { source: 26, target: 26 }, tip: TIP },
};

/* From a card to the state beside or below it. */
function tie(from, to) {
  const [card, state] = from.h >= to.h ? [from, to] : [to, from];
  const beside = state.x >= card.x + card.w;
  const start = beside ? { x: card.x + card.w, y: Math.min(state.y + state.h / 2, card.y + card.h - 12) } : { x: card.x + 4, y: card.y + card.h };
  const end = { x: state.x, y: state.y + state.h / 2 };
  const path = beside ? `M${start.x},${start.y} L${end.x},${end.y}` : `M${start.x},${start.y} V${end.y} H${end.x}`;
  return { path, x: (start.x + end.x) / 2, y: (start.y + end.y) / 2, upright: !beside };
}

/* On a map, from a mark to what looks into it: nothing where the two touch. */
function sight(from, to) {
  const [a, b] = [from, to].map(({ x, y, w, h }) => ({ x: x + w / 2, y: y + h / 2 }));
  const near = Math.abs(a.y - b.y) < 1 && Math.abs(a.x - b.x) <= (from.w + to.w) / 2 + 24;
  const bend = Math.max(16, Math.abs(b.x - a.x) / 3);
  const path = near ? "" : `M${a.x},${a.y + from.h / 2} C${a.x},${a.y + bend} ${b.x},${b.y + bend} ${b.x},${b.y + to.h / 2}`;
  return { path, x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, upright: true };
}

/* Lines through the points dagre left free for them. They end at a side of the cards, those that
   meet there side by side, in the order they come from. */
function linesOf(routes, places, { way, spread, tip, queue }) {
  const across = way === "LR" ? "y" : "x";
  const ends = { source: sides(routes, "source", across), target: sides(routes, "target", across) };
  const lines = {};
  for (const route of routes) {
    const { edge, bends, label } = route;
    const start = port(places[edge.source], way, 1, spread.source * ends.source.get(route));
    const end = port(places[edge.target], way, -1, spread.target * ends.target.get(route), edge.queue ? tip : 0);
    const at = queue === undefined ? label : { x: end.x - queue, y: end.y };
    const last = queue === undefined ? [] : [at]; // what leads to a queue in front of its target runs level there
    lines[edgeKey(edge)] = { path: smooth([start, ...bends, ...last, end], way), ...at, upright: way === "TB" };
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

function port(card, way, direction, aside, gap = 0) {
  const middle = { x: card.x + card.w / 2, y: card.y + card.h / 2 };
  if (way === "LR") return { x: middle.x + direction * (card.w / 2 + gap), y: middle.y + aside };
  return { x: middle.x + aside, y: middle.y + direction * (card.h / 2 + gap) };
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
