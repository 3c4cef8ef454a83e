/* The plan graph's legend (always visible, with the colour toggle) and its tooltip. */
import { shortNumber, show } from "./format.js";
import { hasCards } from "./graph_layers.js";
import { between, heats, isStep, onlyWaits, OVERS, SCALES } from "./graph_values.js";
import { verdictWords } from "./graph_verdict.js";
import { sizesOf } from "./points.js";
import { h } from "./react.js";

/* One of a few choices, all in sight. */
function choices(label, words, here, choose) {
  const choice = ([name, text]) => h("button", { key: name, type: "button", className: "pw-segment", "aria-pressed": here === name ? "true" : "false", onClick: () => choose(name) }, text);
  return h("span", { className: "pw-segments", role: "group", "aria-label": label }, Object.entries(words).map(choice));
}

/** options: {heat, names, setHeat, top, plan, level, values}: what cards show, what they can, its setter,
    the upper end of the scale; at which level of detail, and the values of the batch. */
export function graphLegend({ heat, names, setHeat, top, plan, level, values }) {
  const labels = Object.fromEntries(names.map((name) => [name, heats[name].label]));
  const ramp = [0, 1, 2, 3, 4].map((step) => h("i", { key: step, className: `pw-heat-${step}` }));
  const set = (part) => (value) => setHeat({ ...heat, [part]: value });
  return h(
    "div",
    { className: "pw-legend", "aria-label": "Legend", role: "group" },
    h("span", { className: "pw-legend-word" }, "Cards:"),
    choices("What the cards show", labels, heat.name, set("name")),
    choices("Of which batches", OVERS, heat.over, set("over")),
    choices("What colours are measured by", SCALES, heat.scale, set("scale")),
    h("span", { className: "pw-ramp" }, "0 %", h("span", { className: "pw-ramp-steps" }, ramp), `${Number((100 * top).toPrecision(2))} %`),
    plan.signs.length > 0 && h("span", { className: "pw-legend-signs" }, plan.signs.map(legendSign)),
    plan.nodes.some((node) => node.shared) && hasCards(level) && h("span", { className: "pw-legend-item" }, h("i", { className: "pw-legend-shared" }, "×2"), "shared by so many queries"),
    hasCards(level)
      ? h("span", { className: "pw-legend-item" }, h("i", { className: "pw-legend-edge" }), "tuples still alive")
      : h("span", { className: "pw-legend-item" }, h("i", { className: "pw-legend-trunk" }), "the thicker, the more queries share it"),
    h("span", { className: "pw-legend-item" }, h("i", { className: "pw-legend-pill" }), plan.edges.some((edge) => edge.capacity) ? "handed on by a queue, filled against its limit" : "handed on by a queue"),
    plan.edges.some(({ queue }) => onlyWaits(sizesOf(values[queue]))) && h("span", { className: "pw-legend-item" }, h("i", { className: "pw-legend-pill pw-legend-waits" }), "waiting in a queue"),
    plan.edges.some((edge) => edge.capacity) && h("span", { className: "pw-legend-item" }, h("i", { className: "pw-legend-busy" }), "its queue is full"),
    plan.skips && plan.skips.length > 0 && h("span", { className: "pw-legend-item" }, h("i", { className: "pw-legend-leap" }), "way that some regions take"),
    plan.edges.some((edge) => !edge.queue) && h("span", { className: "pw-legend-item" }, h("i", { className: "pw-legend-state" }), "state that is read")
  );
}

/* A sign or icon, its word, and a sentence about it. */
const legendSign = ([sign, word, icon, about]) =>
  h(
    "span",
    { key: word, className: "pw-legend-item" },
    icon ? h("svg", { viewBox: "0 0 24 24", width: 14, height: 14, className: "pw-card-icon", "aria-hidden": "true" }, h("path", { d: icon })) : h("b", null, sign),
    about ? `${word}: ${about}` : word
  );

function rows(node, facts) {
  if (isStep(node)) return stepRows(node, facts.cards[node.id]);
  const own = facts.values[node.entity];
  if (own !== facts.system) return otherRows(node, own, facts);
  if (node.role === "source")
    return [
      ["arriving", show(own.tuples_per_s, "si") + " tuples/s"],
      ["in this batch", show(own.n_tuples, "int") + " tuples"],
      ["waiting", show(own.backlog_tuples, "int") + " tuples"],
    ];
  return [
    ["matched", `${show(facts.matched, "pct")} of the batch`],
    ["in this batch", show(own.n_matched, "int") + " tuples"],
    ["in total", show(own.matched_total, "int") + " tuples"],
  ];
}

function stepRows(node, card) {
  const timed = [
    ["cost", `${shortNumber(card.cost ?? 0)} µs per tuple`],
    ["kind", node.kind === "filter" ? "function" : "comparison"],
  ];
  return [
    ["drop probability", show(card.drop, "f3")],
    ["reached by", `${show(card.reached, "int")} of ${show(card.n, "int")} tuples`],
    ["dropped here", `${show(card.drops, "pct")} of the batch`],
    ["still alive after", `${show(card.survival, "pct")} of the batch`],
    ["share of the work", show(card.visits, "pct")],
    ...(card.refuted === null ? [] : [["refutes", `${show(card.refuted, "pct")} of the queries still open`]]),
    ...(card.cost === null ? [] : timed),
  ];
}

function otherRows(node, own, { values, cards, verdicts }) {
  const { size, state_bytes: taken, saved_bytes: saved } = sizesOf(own);
  const numbers = [
    ["holds", size, (value) => `${show(value, "int")} tuples`],
    ["takes", taken, (value) => show(value, "bytes")],
    ["sharing saves", saved, (value) => show(value, "bytes")],
    ...(node.parts || []).map(([name, word]) => [word, (own || {})[name], (value) => `${show(value, "int")} tuples`]),
    ["reached by", (own || {}).reached_tuples, (value) => `${show(value, "int")} tuples`],
    ["cost", (own || {}).cost_us, (value) => `${shortNumber(value)} µs per tuple`],
    ["time in the batch", (cards[node.id] || {}).time, (value) => show(value / 1000, "ms")],
    ["share of the work", (cards[node.id] || {}).visits, (value) => show(value, "pct")],
  ];
  const words = [["kind", node.word], ...(node.note ? [["what", node.note]] : []), ...(node.unit ? [["unit", node.unit]] : []), ...(node.shared ? [["shared by", node.shared.join(", ")]] : [])];
  const verdict = verdictWords(verdicts.get(node.id));
  if (verdict) words.push(["in this batch", verdict]);
  const marks = (node.marks || []).map(([entity, name, property, word, none, form]) => [name, `${word}${between(form)}${show((values[entity] || {})[property] ?? none, form === "si" ? "int" : form)}`]);
  return [...words, ...marks, ...numbers.filter(([, value]) => value !== undefined && value !== null).map(([name, value, form]) => [name, form(value)])];
}

/** What a card says in full. Purely visual: the same is in the card's label and the table. */
export function graphTip(node, { place, facts, width, batch }) {
  const left = Math.min(Math.max(0, place.x), Math.max(0, width - 276));
  const lines = rows(node, facts).map(([name, value]) => h("tr", { key: name }, h("th", null, name), h("td", null, value)));
  return h(
    "div",
    { className: "pw-tip", style: { left, top: place.y + place.h + 8 }, "aria-hidden": "true" },
    h("b", null, `${node.sign} ${node.name}`),
    h("table", null, h("tbody", null, lines)),
    h("small", null, `as of batch ${show(batch, "int")}`)
  );
}
