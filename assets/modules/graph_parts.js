/* The parts of the plan graph as React elements: card, edge, queue pill, band. */
import { shortNumber, show } from "./format.js";
import { edgeKey, isState } from "./graph_layout.js";
import { edgeShare, heatStep, queueFill } from "./graph_values.js";
import { sparkPoints } from "./paths.js";
import { sizesOf } from "./points.js";
import { h } from "./react.js";

/* Shorten a name to what fits; the full one is in the tooltip and the label. */
function fit(text, width, letter = 7.8) {
  const most = Math.floor(width / letter);
  return text.length <= most ? text : text.slice(0, Math.max(1, most - 1)) + "…";
}

/** What a source shows: arrivals of the whole where it is the only one, else its own. */
function sourceTexts(node, facts) {
  const own = facts.values[node.entity] || {};
  if (own !== facts.system) return { big: show(own.reached_tuples, "si"), word: "tuples", small: node.note || "in this batch" };
  return { big: show(own.tuples_per_s, "si"), word: "tuples/s", small: `backlog ${show(own.backlog_tuples, "si")}` };
}

function outputTexts(node, facts) {
  const own = facts.values[node.entity] || {};
  if (own !== facts.system) return { big: show(own.reached_tuples, "si"), word: "tuples", small: node.note || "in this batch" };
  const perSecond = facts.matched === null ? null : facts.matched * own.tuples_per_s;
  return { big: show(facts.matched, "pct"), word: "matched", small: `${show(perSecond, "si")} tuples/s` };
}

function stepTexts(node, facts, heat) {
  const card = facts.cards[node.id];
  const cost = card.cost === null ? "reached" : `${shortNumber(card.cost)} µs ·`;
  return { big: show(heat.of(card), "pct"), word: heat.word, small: `${cost} ${show(card.perSecond, "si")}/s` };
}

function operatorTexts(node, facts) {
  const own = facts.values[node.entity] || {};
  const cost = own.cost_us === undefined ? node.word : `${shortNumber(own.cost_us)} µs per tuple`;
  return { big: show(own.reached_tuples, "si"), word: "tuples", small: node.note || cost };
}

/* Of state there is a size, or just what it is. */
function stateTexts(node, facts) {
  const { size, state_bytes: taken, saved_bytes: saved } = sizesOf(facts.values[node.entity]);
  if (size === undefined) return { big: "", word: node.note || node.word, small: "" };
  const bytes = [taken === undefined ? "" : `${show(taken, "si")}B`, saved === undefined ? "" : `saves ${show(saved, "si")}B`];
  return { big: show(size, "si"), word: "tuples", small: bytes.filter(Boolean).join(" · ") || node.note || "" };
}

const TEXTS = { source: sourceTexts, output: outputTexts, step: stepTexts, operator: operatorTexts, synopsis: stateTexts, store: stateTexts };

/** The three texts of a card: big number, its word, and the small line below. */
export const cardTexts = (node, facts, heat) => (TEXTS[node.role] || operatorTexts)(node, facts, heat);

export function cardLabel(node, facts, heat) {
  const texts = cardTexts(node, facts, heat);
  const card = facts.cards[node.id];
  if (card) return `${node.name}, ${node.word} ${node.position}: ${texts.big} ${texts.word}, ${show(card.reached, "int")} tuples reached it`;
  const shared = node.shared ? `, shared by ${node.shared.join(", ")}` : "";
  const what = node.role === "source" || node.role === "output" ? "" : `, ${node.word}`;
  return `${node.name}${what}: ${texts.big} ${texts.word}${texts.small && `, ${texts.small}`}${shared}`;
}

/** A card. options: {place, facts, spark, heat, top, selected, handlers}. */
export function graphCard(node, options) {
  const { place, facts, selected } = options;
  const { w } = place;
  const card = facts.cards[node.id];
  const step = card ? heatStep(options.heat.of(card), options.top) : null;
  const texts = cardTexts(node, facts, options.heat);
  const spark = sparkPoints(options.spark, w - 26, 16);
  return h(
    "g",
    {
      key: node.id,
      className: `pw-card${selected ? " pw-selected" : ""}${isState(node.role) ? " pw-card-state" : ""}`,
      transform: `translate(${place.x.toFixed(2)},${place.y.toFixed(2)})`,
      opacity: place.opacity,
      role: "button",
      tabIndex: 0,
      "aria-pressed": selected ? "true" : "false",
      "aria-label": cardLabel(node, facts, options.heat),
      "data-id": node.id,
      "data-heat": step === null ? "none" : String(step),
      ...options.handlers(node),
    },
    h("rect", { className: "pw-card-box", width: w, height: place.h, rx: 8 }),
    h("path", { className: `pw-card-bar pw-heat-${step === null ? "none" : step}`, d: barPath(place.h) }),
    ...nameOf(node, w),
    card && h("text", { className: "pw-card-rank", x: w - 9, y: 58, textAnchor: "end" }, String(node.position)),
    h(
      "text",
      { className: "pw-card-line", x: 14, y: 42 },
      texts.big && h("tspan", { className: "pw-card-big" }, texts.big),
      h("tspan", { dx: texts.big ? 4 : 0 }, texts.big ? texts.word : fit(texts.word, w - 20, 6.4))
    ),
    node.role === "synopsis"
      ? h("text", { className: "pw-card-line", x: w - 9, y: 42, textAnchor: "end" }, texts.small)
      : h("text", { className: "pw-card-line", x: 14, y: 58 }, fit(texts.small, w - (card ? 26 : 20), 6.4)),
    !isState(node.role) && h("polyline", { className: "pw-spark", points: spark, transform: "translate(14,65)" })
  );
}

/* Sign or icon, the name, and how many outputs share it. */
function nameOf(node, w) {
  const mark = node.shared ? 26 : 0;
  const name = fit(node.name, w - (node.icon ? 54 : 38) - mark);
  const parts = [h("text", { key: "name", className: "pw-card-name", x: node.icon ? 31 : 14, y: 19 }, node.icon ? name : `${node.sign} ${name}`)];
  if (node.icon) parts.push(h("path", { key: "icon", className: "pw-card-icon", d: node.icon, transform: "translate(14,8) scale(0.54)" }));
  if (node.shared) {
    parts.push(h("rect", { key: "box", className: "pw-card-shared", x: w - 31, y: 6, width: 25, height: 16, rx: 8 }));
    parts.push(h("text", { key: "shared", className: "pw-card-shares", x: w - 18.5, y: 18, textAnchor: "middle" }, `×${node.shared.length}`));
  }
  return parts;
}

const barPath = (height) => `M5,0 H6 V${height} H5 Q0,${height} 0,${height - 8} V8 Q0,0 5,0 Z`;

/** An edge with the share of tuples on it and the queue pill; without a queue it is state that is
    read, dashed; a stub points at its store. source: the node it leaves; line: where it runs; pins:
    handlers of a queue's pill. */
export function graphEdge(edge, source, line, facts, pins) {
  if (!edge.queue) {
    const arrow = source.role === "store" ? { markerStart: "url(#pw-pointer)" } : {};
    return h("g", { key: edgeKey(edge), className: "pw-edge pw-edge-state", "data-edge": `${edge.source}>${edge.target}` }, h("path", { d: line.path, ...arrow }));
  }
  const share = edgeShare(source, facts);
  const width = share === undefined ? 1.75 : share === null ? 1 : 1.25 + 5.75 * share;
  const style = { strokeWidth: width, strokeDasharray: share === 0 || share === null ? "4 4" : null };
  const { queue_peak_tuples: peak } = sizesOf(facts.values[edge.queue]);
  const label = typeof share === "number" ? show(share, "pct") : peak ? `≤ ${show(peak, "si")}` : "";
  const beside = line.upright ? { x: line.x + 25, y: line.y + 4 } : { x: line.x, y: line.y - 15 };
  return h(
    "g",
    { key: edgeKey(edge), className: "pw-edge", "data-edge": `${edge.source}>${edge.target}` },
    h("path", { d: line.path, style, markerEnd: "url(#pw-arrow)" }),
    queuePill(edge.queue, line, facts, pins),
    h("text", { className: "pw-edge-share", ...beside, textAnchor: line.upright ? "start" : "middle" }, label)
  );
}

/** The pill of a queue: what went through it, or waits in it; filled relative to the batch. */
export function queuePill(queue, middle, facts, pins) {
  const told = sizesOf(facts.values[queue]);
  const { size, fill } = queueFill(told.size, facts);
  const w = 40;
  const most = told.queue_peak_tuples === undefined ? "" : `, at most ${show(told.queue_peak_tuples, "int")} waiting at once`;
  const title = `Queue: ${show(size, "int")} tuples${most}`;
  return h(
    "g",
    { className: "pw-queue", role: "button", tabIndex: 0, "aria-label": title, ...pins(queue), transform: `translate(${middle.x - w / 2},${middle.y - 9})`, "data-queue": queue },
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
