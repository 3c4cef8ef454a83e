/* The parts of the plan graph as React elements: card, edge, queue pill, band. */
import { show } from "./format.js";
import { edgeLine } from "./graph_layout.js";
import { edgeShare, heatStep, queueFill, sparkPoints } from "./graph_values.js";
import { h } from "./react.js";

const SIGNS = { source: "⇥", output: "⇤", asc: "σ", filter: "ƒ", "native filter": "σ" };

/** Three significant digits, without the zeros of a whole number. */
export const shortNumber = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));

export const nodeSign = (node) => SIGNS[node.kind] || "σ";

/* Shorten a name to what fits; the full one is in the tooltip and the label. */
function fit(text, width) {
  const most = Math.floor(width / 7.3);
  return text.length <= most ? text : text.slice(0, Math.max(1, most - 1)) + "…";
}

/** The three texts of a card: big number, its word, and the small line below. */
export function cardTexts(node, facts) {
  const system = facts.system;
  if (node.id === "op:source") {
    const backlog = show(system.backlog_tuples, "si");
    return { big: show(system.tuples_per_s, "si"), word: "tuples/s", small: `backlog ${backlog}` };
  }
  if (node.id === "op:output") {
    const perSecond = facts.matched === null ? null : facts.matched * system.tuples_per_s;
    return { big: show(facts.matched, "pct"), word: "matched", small: `${show(perSecond, "si")} tuples/s` };
  }
  const card = facts.cards[node.id] || {};
  const cost = card.cost === null || card.cost === undefined ? "reached" : `${shortNumber(card.cost)} µs ·`;
  return { big: show(card.drop, "pct"), word: "dropped", small: `${cost} ${show(card.perSecond, "si")}/s` };
}

export function cardLabel(node, facts, position) {
  const texts = cardTexts(node, facts);
  const card = facts.cards[node.id];
  const place = card ? `, ${node.kind === "asc" ? "construct" : node.kind} ${position}` : "";
  const more = card ? ` of ${show(card.reached, "int")} tuples reaching it` : `, ${texts.small}`;
  return `${node.label}${place}: ${texts.big} ${texts.word}${more}`;
}

/** A card. options: {place, facts, spark, heat, top, selected, position, handlers}. */
export function graphCard(node, options) {
  const { place, facts, position, selected } = options;
  const { w } = place;
  const card = facts.cards[node.id];
  const step = card ? heatStep(options.heat.of(card), options.top) : null;
  const texts = cardTexts(node, facts);
  const spark = sparkPoints(options.spark, w - 26, 16);
  return h(
    "g",
    {
      key: node.id,
      className: "pw-card" + (selected ? " pw-selected" : ""),
      transform: `translate(${place.x.toFixed(2)},${place.y.toFixed(2)})`,
      opacity: place.opacity,
      role: "button",
      tabIndex: 0,
      "aria-pressed": selected ? "true" : "false",
      "aria-label": cardLabel(node, facts, position),
      "data-id": node.id,
      "data-heat": step === null ? "none" : String(step),
      ...options.handlers(node),
    },
    h("rect", { className: "pw-card-box", width: w, height: place.h, rx: 8 }),
    h("path", { className: `pw-card-bar pw-heat-${step === null ? "none" : step}`, d: barPath(place.h) }),
    h("text", { className: "pw-card-name", x: 14, y: 19 }, `${nodeSign(node)} ${fit(node.label, w - 38)}`),
    card && h("text", { className: "pw-card-rank", x: w - 9, y: 58, textAnchor: "end" }, String(position)),
    h(
      "text",
      { className: "pw-card-line", x: 14, y: 42 },
      h("tspan", { className: "pw-card-big" }, texts.big),
      h("tspan", { dx: 4 }, texts.word)
    ),
    h("text", { className: "pw-card-line", x: 14, y: 58 }, texts.small),
    h("polyline", { className: "pw-spark", points: spark, transform: "translate(14,65)" })
  );
}

const barPath = (height) => `M5,0 H6 V${height} H5 Q0,${height} 0,${height - 8} V8 Q0,0 5,0 Z`;

/** An edge with the share of tuples on it and the queue pill. ends: {from, to} rectangles. */
export function graphEdge(edge, ends, facts, values) {
  const share = edgeShare(edge, facts);
  const line = edgeLine(ends.from, ends.to);
  const width = share === null ? 1 : 1.25 + 5.75 * share;
  const style = { strokeWidth: width, strokeDasharray: share === 0 || share === null ? "4 4" : null };
  const label = share === null ? "" : show(share, "pct");
  const beside = line.upright ? { x: line.x + 25, y: line.y + 4 } : { x: line.x, y: line.y - 15 };
  return h(
    "g",
    { key: `${edge.source}>${edge.target}`, className: "pw-edge", "data-edge": `${edge.source}>${edge.target}` },
    h("path", { d: line.path, style, markerEnd: "url(#pw-arrow)" }),
    queuePill(edge.queue, line, facts, values),
    h("text", { className: "pw-edge-share", ...beside, textAnchor: line.upright ? "start" : "middle" }, label)
  );
}

/** The pill of a queue: its size, filled relative to the batch. */
export function queuePill(queue, middle, facts, values) {
  if (!queue) return null;
  const { size, fill } = queueFill(values[queue], facts);
  const w = 40;
  const title = `${queue}: ${show(size, "int")} tuples`;
  return h(
    "g",
    { className: "pw-queue", transform: `translate(${middle.x - w / 2},${middle.y - 9})`, "data-queue": queue },
    h("title", null, title),
    h("rect", { className: "pw-queue-box", width: w, height: 18, rx: 9 }),
    fill > 0 && h("rect", { className: "pw-queue-fill", x: 2, y: 2, width: Math.max(4, fill * (w - 4)), height: 14, rx: 7 }),
    h("text", { className: "pw-queue-size", x: w / 2, y: 13, textAnchor: "middle" }, show(size, "si"))
  );
}

/** The band of a plan without early drop. */
export function graphBand(box) {
  const short = "No early drop: every construct looks at every tuple";
  const text = box.w < 640 ? short : short + ", bitmaps are ANDed once at the end";
  return h(
    "g",
    { className: "pw-band" },
    h("rect", { x: box.x, y: box.y, width: box.w, height: box.h, rx: 10 }),
    h("text", { x: box.x + 14, y: box.y + 21 }, text)
  );
}
