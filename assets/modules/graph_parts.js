/* The parts of the plan graph as React elements: card, edge, queue pill. */
import { shortNumber, show } from "./format.js";
import { inChip, inDot, queueDot, roundOf } from "./graph_chips.js";
import { edgeKey, hasCards, isState } from "./graph_layers.js";
import { between, edgeShare, heatOf, isStep, NEARLY_FULL, onlyWaits, partsOf, queueFill } from "./graph_values.js";
import { fit, fitting, nameLines, SIZES, textWidth } from "./fitting.js";
import { verdictWords } from "./graph_verdict.js";
import { sparkPoints } from "./paths.js";
import { sizesOf } from "./points.js";
import { h } from "./react.js";

const NARROW = 76; // cards of a lane: smaller names, no decimals

/** What a source shows: arrivals of the whole where it is the only one, else its own. */
function sourceTexts(node, facts) {
  const own = facts.values[node.entity] || {};
  if (own !== facts.system) return { big: show(own.reached_tuples, "si"), word: "tuples", small: node.note || "in this batch" };
  return { big: show(own.tuples_per_s, "si"), word: "tuples/s", small: `${show(own.backlog_tuples, "si")} wait` };
}

function outputTexts(node, facts) {
  const own = facts.values[node.entity] || {};
  if (own !== facts.system) return { big: show(own.reached_tuples, "si"), word: "tuples", small: node.note || "in this batch" };
  const perSecond = facts.matched === null ? null : facts.matched * own.tuples_per_s;
  return { big: show(facts.matched, "pct"), word: "matched", small: `${show(perSecond, "si")}/s` };
}

function stepTexts(node, facts, heat) {
  const card = facts.cards[node.id];
  const come = `${show(card.perSecond, "si")}/s in`;
  return { big: show(heat.of(card), "pct"), word: heat.word, small: card.cost === null ? come : `${shortNumber(card.cost)} µs · ${come}` };
}

/* The numbers on a card of those that watch it: those that are known, and how many are none. */
function marksText({ marks }, { values }) {
  const numbers = marks.map(([entity, , property]) => (values[entity] || {})[property]);
  const known = numbers.filter((one) => typeof one === "number").sort((one, other) => one - other);
  const [, , , word, none, form] = marks[0];
  const rest = numbers.length - known.length;
  const parts = [known.map((one) => show(one, form)).join(", "), rest && `${rest > 1 ? `${rest} × ` : ""}${none}`];
  return `${word}${between(form)}${parts.filter(Boolean).join(" · ")}`;
}

function operatorTexts(node, facts) {
  const own = facts.values[node.entity] || {};
  const cost = own.cost_us === undefined ? node.word : `${shortNumber(own.cost_us)} µs per tuple`;
  return { big: show(own.reached_tuples, "si"), word: "tuples", small: node.marks ? marksText(node, facts) : node.note || cost };
}

/* Of state there is a size, or just what it is. */
function stateTexts(node, facts) {
  const { size, state_bytes: taken, saved_bytes: saved, [node.whole]: whole } = sizesOf(facts.values[node.entity]);
  if (whole) return { big: show(size, "si"), word: `of ${show(whole, "si")}`, small: show(size / whole, "pct") };
  if (size === undefined) return { big: "", word: node.note || node.word, small: "" };
  const bytes = [taken === undefined ? "" : show(taken, "bytes"), saved === undefined ? "" : `saves ${show(saved, "bytes")}`];
  return { big: show(size, "si"), word: "tuples", small: bytes.filter(Boolean).join(" · ") || node.note || "" };
}

const TEXTS = { source: sourceTexts, output: outputTexts, step: stepTexts, operator: operatorTexts, synopsis: stateTexts, store: stateTexts };

/** The three texts of a card: big number, its word, and the small line below. */
export const cardTexts = (node, facts, heat) => (TEXTS[node.role] || operatorTexts)(node, facts, heat);

export function cardLabel(node, facts, heat) {
  const texts = cardTexts(node, facts, heat);
  if (isStep(node)) return `${node.name}, ${node.word} ${node.position}: ${texts.big} ${texts.word}, ${show(facts.cards[node.id].reached, "int")} tuples reached it`;
  const shared = node.shared ? `, shared by ${node.shared.join(", ")}` : "";
  const what = node.role === "source" || node.role === "output" ? "" : `, ${node.word}`;
  const parts = partsOf(node, facts.values).map(({ word, number }) => `, ${word} ${show(number, "int")}`).join("");
  const verdict = verdictWords(facts.verdicts.get(node.id));
  return `${node.name}${what}: ${texts.big} ${texts.word}${texts.small && `, ${texts.small}`}${parts}${shared}${verdict && `, ${verdict}`}`;
}

/* The batch that is told of, where it is an older one than that of the graph. */
const ofBatch = ({ old }, entity) => (old[entity] ? old[entity].batch : undefined);

/* What is in a card by the level of detail; a lane has its own. */
const BODIES = { lane: inLane, tree: inLayers, card: inLayers, chip: inChip, dot: inDot };

/** A card. options: {place, facts, spark, heat, top, selected, level, moved, handlers}; level: of detail,
    or "lane"; moved: its place in the order is new. */
export function graphCard(node, options) {
  const { place, facts, selected, moved, heat, top, level } = options;
  const rx = roundOf(level, place, node.role);
  const step = heatOf(facts.cards[node.id], heat, top);
  const verdict = facts.verdicts.get(node.id);
  const marks = { "pw-selected": selected, "pw-card-moved": moved, "pw-card-state": isState(node.role), [`pw-at-${level}`]: true };
  return h(
    "g",
    {
      key: node.id,
      className: ["pw-card", ...Object.keys(marks).filter((name) => marks[name])].join(" "),
      transform: `translate(${place.x.toFixed(2)},${place.y.toFixed(2)})`,
      opacity: place.opacity,
      role: "button",
      tabIndex: 0,
      "aria-pressed": selected ? "true" : "false",
      "aria-label": cardLabel(node, facts, heat),
      "data-id": node.id,
      "data-as-of": ofBatch(facts, node.entity),
      "data-heat": step === null ? "none" : String(step),
      "data-verdict": verdict && verdict.word,
      ...options.handlers,
    },
    h("rect", { className: "pw-card-ground", width: place.w, height: place.h, rx }),
    h("rect", { className: `pw-card-box pw-heat-${step === null ? "none" : step}`, width: place.w, height: place.h, rx }),
    ...BODIES[level](node, options, cardTexts(node, facts, heat))
  );
}

/* In a lane: the place in the order above the card, then name, number and word below each other. */
function inLane(node, { place: { w }, spark, facts }, texts) {
  const steps = isStep(node);
  const narrow = w < NARROW;
  const names = nameLines(node.name, w - 12, narrow ? SIZES.fine : SIZES.body);
  const short = (text) => (narrow ? text.replace(/\d\d\.\d/, (number) => String(Math.round(Number(number)))).replace(/ in$/, "") : text);
  const line = (key, y, text) => h("text", { key, className: "pw-card-line", x: 7, y }, text);
  return [
    steps && h("g", { key: "rank", transform: `translate(${w / 2},-9)` }, h("text", { key: node.position, className: "pw-card-rank", textAnchor: "middle" }, String(node.position))),
    h("text", { key: "name", className: `pw-card-name${narrow ? " pw-narrow" : ""}`, x: 7 }, names.map((one, row) => h("tspan", { key: row, x: 7, y: names.length > 1 ? 15 + 14 * row : 22 }, one))),
    h("text", { key: "big", className: "pw-card-big", x: 7, y: 52 }, short(texts.big)),
    line("word", 67, fit(texts.word, w - 8)),
    line("small", 81, fitting(short(texts.small), w - 8)),
    h("polyline", { key: "spark", className: "pw-spark", points: sparkPoints(spark, w - 14, 14), transform: "translate(7,90)" }),
  ];
}

/* The first of several things where there is no room for all. */
const firstOf = (text, width) => (textWidth(text, SIZES.fine) <= width ? text : text.split(" · saves")[0]);

/* The small text where it has room beside the number and its word. */
const beside = (texts, w) => {
  const left = w - 34 - textWidth(texts.big, SIZES.big) - textWidth(texts.word, SIZES.fine);
  return textWidth(texts.small, SIZES.fine) <= left ? texts.small : "";
};

/* Anywhere else: wider, and not so high. */
function inLayers(node, { place: { w }, spark, facts }, texts) {
  const step = isStep(node);
  return [
    ...nameOf(node, w),
    step && h("text", { key: "rank", className: "pw-card-place", x: w - 10, y: 58, textAnchor: "end" }, String(node.position)),
    h(
      "text",
      { key: "big", className: "pw-card-line", x: 12, y: 42 },
      texts.big && h("tspan", { className: "pw-card-big" }, texts.big),
      h("tspan", { dx: texts.big ? 4 : 0 }, texts.big ? texts.word : fit(texts.word, w - 18))
    ),
    node.role === "synopsis"
      ? h("text", { key: "small", className: "pw-card-line", x: w - 9, y: 42, textAnchor: "end" }, beside(texts, w))
      : h("text", { key: "small", className: "pw-card-line", x: 12, y: 58 }, fit(firstOf(texts.small, w - 20), w - (step ? 26 : 10))),
    node.parts && partsBar(node, facts, w),
    node.cells && cellsStrip(node, w),
    !isState(node.role) && h("polyline", { key: "spark", className: "pw-spark", points: sparkPoints(spark, w - 24, 16), transform: "translate(12,65)" }),
  ];
}

/* What a synopsis is divided into; the one that holds most has the longest bar. */
function partsBar(node, { values, most }, w) {
  const length = w - 24;
  let at = 12;
  const bar = partsOf(node, values).map(({ name, word, tone, number }) => {
    const width = most ? (length * number) / most : 0;
    const x = at;
    at += width;
    return h("rect", { key: name, className: `pw-part pw-part-${tone}`, "data-part": name, x, y: 48, width, height: 5 }, h("title", null, `${word} ${show(number, "int")}`));
  });
  return h("g", { key: "parts", className: "pw-card-parts" }, h("rect", { className: "pw-part-whole", x: 12, y: 48, width: length, height: 5 }), bar);
}

/* What a state is made of: a cell for each, coloured by the place of its name. */
function cellsStrip({ cells }, w) {
  const n = cells.reduce((sum, [, count]) => sum + count, 0);
  const width = Math.min(12, (w - 24) / n);
  const places = cells.flatMap(([, count], place) => Array(count).fill(place));
  const drawn = places.map((place, at) => h("rect", { key: at, className: `pw-cell-${place % 6}`, x: 12 + at * width, y: 47, width: Math.max(1, width - 1.5), height: 6, rx: 1 }));
  return h("g", { key: "cells", className: "pw-card-cells" }, drawn);
}

/* Sign or icon, the name, in small type where it is long, and how many outputs share it. */
function nameOf(node, w) {
  const mark = node.shared ? 26 : 0;
  const room = w - (node.icon ? 36 : 34) - mark;
  const narrow = fit(node.name, room, SIZES.body) !== node.name;
  const name = fit(node.name, room, narrow ? SIZES.fine : SIZES.body);
  const parts = [h("text", { key: "name", className: `pw-card-name${narrow ? " pw-narrow" : ""}`, x: node.icon ? 29 : 12, y: 19 }, node.icon ? name : `${node.sign} ${name}`)];
  if (node.icon) parts.push(h("path", { key: "icon", className: "pw-card-icon", d: node.icon, transform: "translate(12,8) scale(0.54)" }));
  if (node.shared) {
    parts.push(h("rect", { key: "box", className: "pw-card-shared", x: w - 31, y: 6, width: 25, height: 16, rx: 8 }));
    parts.push(h("text", { key: "shared", className: "pw-card-shares", x: w - 18.5, y: 18, textAnchor: "middle" }, `×${node.shared.length}`));
  }
  return parts;
}

/** An edge with the share of tuples on it and the queue pill; without a queue it is state that is
    read, dashed; a stub points at its store. source: the node it leaves; line: where it runs;
    handlers: of the queue's pill. thick: how thick the band of a lane is there, which is the edge's line;
    level: of detail. */
export function graphEdge(edge, source, line, facts, { handlers, thick, level }) {
  const frame = (className, ...body) => h("g", { key: edgeKey(edge), className, "data-edge": `${edge.source}>${edge.target}` }, ...body);
  if (!edge.queue) {
    const arrow = source.role === "store" && hasCards(level) ? { markerStart: "url(#pw-pointer)" } : {};
    return frame("pw-edge pw-edge-state", h("path", { d: line.path, ...arrow }));
  }
  const share = edgeShare(source, facts);
  const inLane = thick !== undefined;
  const onMap = !hasCards(level);
  const width = inLane ? 2 : onMap ? trunk(edge, share) : share === undefined ? 1.75 : share === null ? 1 : 1.25 + 5.75 * share;
  const style = { strokeWidth: width, strokeDasharray: share === 0 || share === null ? "4 4" : null };
  const told = sizesOf(facts.values[edge.queue]);
  const { fill, limit } = queueFill(told, facts, edge.queue);
  const full = limit && fill > 0.5 ? `${show(fill, "pct")} full` : "wait";
  const waiting = told.queue_peak_tuples ? [`≤ ${show(told.queue_peak_tuples, "si")}`, full] : []; // no wider than between two cards
  const label = typeof share === "number" ? [show(share, "pct")] : waiting;
  const above = inLane ? Math.max(15, thick / 2 + 5) : 15;
  const beside = line.upright ? { x: line.x + 25, y: line.y + 4 } : { x: line.x, y: line.y - above };
  const of = ofBatch(facts, source.entity);
  return frame(
    "pw-edge",
    line.path && h("path", { d: line.path, style, markerEnd: inLane || onMap ? null : "url(#pw-arrow)" }),
    onMap && h("path", { d: line.path, className: "pw-edge-catch", onMouseEnter: handlers.onMouseEnter, onMouseLeave: handlers.onMouseLeave }),
    queuePill(edge.queue, line, facts, handlers, level),
    !onMap && h("text", { className: "pw-edge-share", "data-as-of": of, ...beside, textAnchor: line.upright ? "start" : "middle" }, label.map((words, i) => h("tspan", { key: i, x: beside.x, dy: i ? "1em" : `${1 - label.length}em` }, words))),
    !onMap && edge.marks && edgeBracket(edge.marks, line, facts)
  );
}

/* On a map a line is as thick as many outputs hang on it; one that carries nothing is thin. */
const trunk = ({ outputs = 1 }, share) => (share === 0 || share === null ? 1 : 1.4 + 1.1 * Math.log2(outputs));

/* What watches an edge: a bracket below its pill, with the least of the numbers; open at its end where
   there is none. */
function edgeBracket(marks, line, { values }) {
  const numbers = marks.map(([entity, , property]) => (values[entity] || {})[property]).filter((one) => typeof one === "number");
  const [, , , word, none] = marks[0];
  const text = `${word} ${numbers.length ? show(Math.min(...numbers), "si") : none}`;
  return h(
    "g",
    { key: "bracket", className: `pw-edge-bracket${numbers.length ? "" : " pw-edge-open"}`, transform: `translate(${line.x},${line.y + 12})` },
    h("title", null, marks.map(([, name]) => name).join(", ")),
    h("path", { d: `M${-W / 2} 0v4h${W}${numbers.length ? "v-4" : ""}` }),
    h("text", { x: -W / 2, y: 16 }, text)
  );
}

const W = 40; // of a pill

/** The pill of a queue: what went through it, or waits in it; filled against its limit, without one
    relative to the batch. */
function queuePill(queue, middle, facts, handlers, level) {
  const told = sizesOf(facts.values[queue]);
  const { size, fill, limit } = queueFill(told, facts, queue);
  const may = limit ? ` of ${show(limit, "int")} it may hold` : "";
  const most = told.queue_peak_tuples === undefined ? "" : `, at most ${show(told.queue_peak_tuples, "int")}${may} waiting at once`;
  const of = ofBatch(facts, queue);
  const waits = onlyWaits(told);
  const label = `Queue: ${show(size, "int")} ${size === 1 ? "tuple" : "tuples"} ${waits ? "waiting" : "handed on"}${most}${of === undefined ? "" : `, of batch ${show(of, "int")}`}`;
  const onMap = !hasCards(level);
  const at = onMap ? `${middle.x},${middle.y}` : `${middle.x - W / 2},${middle.y - 9}`;
  const properties = { className: `pw-queue${waits ? " pw-queue-waits" : ""}${limit && fill >= NEARLY_FULL ? " pw-queue-full" : ""}`, "data-fill": limit ? fill.toFixed(3) : null, "data-as-of": of, role: "button", tabIndex: 0, "aria-label": label, ...handlers, transform: `translate(${at})`, "data-queue": queue };
  if (onMap) return h("g", properties, queueDot({ level, fill }));
  return h(
    "g",
    properties,
    h("rect", { className: "pw-queue-box", width: W, height: 18, rx: waits ? 3 : 9 }),
    fill > 0 && h("rect", { className: "pw-queue-fill", x: 2, y: 2, width: Math.max(4, fill * (W - 4)), height: 14, rx: waits ? 2 : 7 }),
    h("text", { className: "pw-queue-size", x: W / 2, y: 13, textAnchor: "middle" }, show(size, "si")),
    of !== undefined && h("text", { className: "pw-queue-of", x: W / 2, y: 29, textAnchor: "middle" }, `b ${show(of, "int")}`)
  );
}

/** What a queue's pill says in full. Purely visual: the same is in its label and the table. */
export function queueTip(edge, { at, facts, width, batch }) {
  const told = sizesOf(facts.values[edge.queue]);
  const { size, queue_peak_tuples: peak, size_tuples: waiting } = told;
  const { fill, limit } = queueFill(told, facts, edge.queue);
  const lines = [
    ["handed on", onlyWaits(told) ? undefined : size, (value) => `${show(value, "int")} tuples`],
    [limit ? `of ${show(limit, "int")} it may hold` : "of the batch", fill || undefined, (value) => show(value, "pct")],
    ["most waiting at once", peak, (value) => `${show(value, "int")} tuples`],
    ["waiting", waiting, (value) => `${show(value, "int")} tuples`],
  ].filter(([, value]) => value !== undefined && value !== null);
  const rows = lines.map(([name, value, form]) => h("tr", { key: name }, h("th", null, name), h("td", null, form(value))));
  const left = Math.min(Math.max(0, at.x - 110), Math.max(0, width - 220));
  return h(
    "div",
    { className: "pw-tip pw-queue-tip", style: { left, top: at.y + 16 }, "aria-hidden": "true" },
    h("b", null, "Queue"),
    h("table", null, h("tbody", null, rows)),
    h("small", null, `as of batch ${show(batch, "int")}`)
  );
}

/** Around the constructs of a plan without early drop. */
export function graphBoxes(boxes) {
  const short = "No early drop: every construct looks at every tuple";
  return boxes.map((box, row) =>
    h(
      "g",
      { className: "pw-band", key: row },
      h("rect", { x: box.x, y: box.y, width: box.w, height: box.h, rx: 10 }),
      row === 0 && h("text", { x: box.x + 4, y: box.y + box.h + 18 }, box.w < 640 ? short : short + ", bitmaps are ANDed once at the end")
    )
  );
}
