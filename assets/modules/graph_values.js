/* What a card and an edge say: pure functions from the values of a batch. No DOM.

   values by entity: {property: value}, or a number for what has a size only; as in the live delta. */
const known = (value) => typeof value === "number" && !Number.isNaN(value);
const share = (part, whole) => (known(part) && known(whole) && whole > 0 ? part / whole : null);
const orNull = (value) => (known(value) ? value : null);

/** The plan with all that is known of each node: what its kind has in common, and its own; and of each
    edge how many outputs hang on it.
    @param {any} plan as dashboard/views/plan.py graph_plan sends it */
export function described(plan) {
  const nodes = plan.nodes.map((node) => ({ entity: node.id, ...plan.kinds[node.kind], ...node }));
  const shared = new Map(nodes.map((node) => [node.id, node.shared ? node.shared.length : 1]));
  return { ...plan, nodes, edges: plan.edges.map((edge) => ({ ...edge, outputs: shared.get(edge.target) })) };
}

/** Whether a node is a step of the plan: a construct or a filter.
    @param {{role: string}} node */
export const isStep = (node) => node.role === "step";

/** Numbers of the steps and the operators, and what all cards need: the whole, its tuples, the share that
    matched.
    @param {{nodes: any[], edges: any[]}} plan nodes in an order of the flow
    @param {Object<string, any>} values
    @param {Object<string, number | null>} [refuted] construct -> share of the queries still open
    @param {Object<string, {batch: number, system: any}>} [old] what is of an older batch than the rest
    most: of the synopses that are in parts, what the one holds that holds most */
export function cardValues(plan, values, refuted = {}, old = {}) {
  const system = values.system || {};
  const steps = plan.nodes.filter(isStep);
  const price = (own) => (known(own.cost_us) ? own.cost_us : 1); // filters cost time, constructs a visit
  const paid = (own) => (known(own.reached_tuples) ? own.reached_tuples * price(own) : null);
  const visits = steps.reduce((sum, node) => sum + (paid(values[node.id] || {}) || 0), 0);
  const before = new Map(plan.edges.map((edge) => [edge.target, edge.source]));
  const alive = {}; // after each step, the last known where one is unknown
  /** @type {Object<string, any>} */
  const cards = {};
  for (const { id } of steps) {
    const own = values[id] || {};
    const { n_tuples: n, tuples_per_s: rate } = (old[id] || { system }).system;
    const reached = orNull(own.reached_tuples);
    const survival = orNull(own.survival_prob);
    const ahead = alive[before.get(id)] ?? 1;
    cards[id] = {
      drop: orNull(own.drop_prob),
      reached,
      perSecond: known(rate) && share(reached, n) !== null ? rate * share(reached, n) : null,
      survival,
      drops: survival === null ? null : Math.max(0, ahead - survival),
      visits: share(paid(own), visits),
      cost: orNull(own.cost_us),
      refuted: orNull(refuted[id]),
      n,
    };
    alive[id] = survival ?? ahead;
  }
  const times = timesOf(plan, values);
  const busy = [...times.values()].reduce((sum, time) => sum + time, 0);
  for (const { id, role } of plan.nodes) if (role === "operator") cards[id] = { visits: times.has(id) ? share(times.get(id), busy) : null, time: times.get(id) };
  const limits = Object.fromEntries(plan.edges.filter((edge) => edge.capacity).map((edge) => [edge.queue, edge.capacity]));
  const n = system.n_tuples;
  const most = Math.max(0, ...plan.nodes.map((node) => partsOf(node, values).reduce((sum, one) => sum + one.number, 0)));
  return { cards, values, old, system, matched: share(system.n_matched, n), n, limits, most };
}

/* Operator -> its time in the batch, us. */
function timesOf({ nodes, priced = [] }, values) {
  const operators = nodes.filter(({ role }) => role === "operator").map(({ id, entity }) => [id, values[entity] || {}]);
  const told = operators.map(([id, own]) => [id, own.reached_tuples * priced.map((name) => own[name]).find(known)]);
  return new Map(told.filter(([, time]) => known(time)));
}

/** What a synopsis is divided into, [] of what is one whole.
    @returns {{name: string, word: string, tone: string, number: number}[]} */
export function partsOf({ id, parts = [] }, values) {
  const own = values[id] || {};
  return parts.map(([name, word, tone]) => ({ name, word, tone, number: known(own[name]) ? own[name] : 0 }));
}

/** Share of the batch's tuples on the edge behind a node, [0, 1]; null when it is not known yet,
    undefined where it has none. */
export function edgeShare(source, facts) {
  if (source.role === "source") {
    const own = facts.values[source.entity];
    const older = (facts.old || {})[source.entity];
    const n = older ? older.system.n_tuples : facts.n;
    return own === facts.system ? (n > 0 ? 1 : null) : share((own || {}).reached_tuples, n);
  }
  const card = facts.cards[source.id];
  return card ? card.survival : undefined;
}

/** Size of a queue and how full its pill is drawn, [0, 1]: the most that waited at once against what it may
    hold where it has a limit, else its size relative to the batch. limit: undefined without one.
    @param {Object<string, number>} told sizesOf a queue
    @param {any} facts
    @param {string} queue */
export function queueFill({ size, queue_peak_tuples: peak }, facts, queue) {
  const limit = facts.limits[queue];
  const filled = limit ? share(peak ?? size, limit) : share(size, facts.n);
  return { size: known(size) ? size : null, fill: filled === null ? 0 : Math.min(1, filled), limit };
}

/** Whether a queue is told of by what waits in it, and not by what it handed on.
    @param {Object<string, any>} told sizesOf a queue */
export const onlyWaits = (told) => told.size_tuples !== undefined && told.flow_tuples === undefined;

/** From this share of its limit on a queue holds up what fills it. */
export const NEARLY_FULL = 0.9;

/* The number of a card: over time where that is asked for and known, else that of the batch. */
const told = (name) => (card) => (card.over ? card.over[name] : card[name]);

/* What cards show: number and colour are the same. label: in the legend; word: beside the number. */
export const heats = {
  drop: { label: "dropped of what comes", word: "dropped", of: told("drop") },
  drops: { label: "dropped of all tuples", word: "of all", of: told("drops") },
  visits: { label: "share of the work", word: "of work", of: told("visits") },
  refuted: { label: "queries refuted", word: "refuted", of: told("refuted") },
};

/** The heats there are numbers for: constructs refute queries, filters do not, operators drop nothing.
    Before the first numbers those that every step has.
    @param {{cards: Object<string, any>}} facts */
export function heatsOf({ cards }) {
  const own = Object.values(cards);
  const found = Object.keys(heats).filter((name) => own.some((card) => known(card[name])));
  return found.length ? found : Object.keys(heats).filter((name) => name !== "refuted");
}

/** The heat cards show when nobody chose one: of a network, what all of its operators have.
    @param {{nodes: any[]}} plan */
export function usualHeat({ nodes }) {
  const count = (wanted) => nodes.filter(({ role }) => role === wanted).length;
  return count("operator") > count("step") ? "visits" : "drop";
}

/** The heat that is shown: the one chosen, where there are numbers for it.
    @param {Heat} heat
    @param {string[]} names of heats with numbers
    @param {any} plan */
export function heatUsed(heat, names, plan) {
  const name = [heat.name, usualHeat(plan)].find((one) => one !== null && names.includes(one));
  return { ...heat, name: name || names[0] };
}

/** Of which batches numbers are: the newest, or those since the plan began, at most 24 of them; and
    against what colours are: the largest card, or all there can be. */
export const OVERS = { spot: "now", ewma: "smoothed", max: "largest" };
export const SCALES = { relative: "of the largest", absolute: "of 100 %" };
/** Weight of the newest batch in what is smoothed; as in dashboard/views/spreads.py. */
export const EWMA_WEIGHT = 0.2;

/** @typedef {{name: string | null, over: string, scale: string}} Heat name: null: the usual one */

/** What the address says of the heat, 'drops.ewma.absolute' in any order; what nobody knows, or is
    not said, is the usual one.
    @param {string | null} text
    @returns {Heat} */
export function heatNamed(text) {
  const words = (text || "").split(".");
  const first = (choices) => words.find((word) => word in choices) || Object.keys(choices)[0];
  return { name: words.find((word) => word in heats) || null, over: first(OVERS), scale: first(SCALES) };
}

/** For the address; null for what is shown when it says nothing.
    @param {Heat} heat */
export function heatText(heat) {
  const usual = heatNamed(null);
  return ["name", "over", "scale"].map((part) => (heat[part] === usual[part] ? "" : heat[part])).filter(Boolean).join(".") || null;
}

const OVER_MARKS = { spot: "", ewma: "⌀ ", max: "max " };

/** What cards show of a heat: its number, and the word beside it.
    @param {Heat} heat */
export const heatShown = ({ name, over }) => ({ ...heats[name], word: OVER_MARKS[over] + heats[name].word });

/** The facts with the numbers of cards over time. spreads: step -> {drop, drops, visits}, each
    [smoothed, largest], as of the batch before.
    @param {any} facts
    @param {Object<string, any>} spreads
    @param {string} over */
export function overTime(facts, spreads = {}, over) {
  if (over === "spot") return facts;
  const place = over === "ewma" ? 0 : 1;
  const cards = Object.entries(facts.cards).map(([id, card]) => {
    const own = spreads[id] || {};
    return [id, { ...card, over: Object.fromEntries(Object.keys(heats).map((name) => [name, own[name] ? own[name][place] : card[name]])) }];
  });
  return { ...facts, cards: Object.fromEntries(cards) };
}

/** The spreads with one more batch.
    @param {Object<string, any>} spreads
    @param {any} facts of that batch */
export function spreadOn(spreads = {}, facts) {
  const grown = Object.entries(facts.cards).map(([id, card]) => {
    const own = spreads[id] || {};
    const further = (name) => {
      const [last, value] = [own[name], card[name]];
      if (!known(value)) return last || null;
      return last ? [last[0] + EWMA_WEIGHT * (value - last[0]), Math.max(last[1], value)] : [value, value];
    };
    return [id, Object.fromEntries(Object.keys(heats).map((name) => [name, further(name)]))];
  });
  return Object.fromEntries(grown);
}

/** Upper end of the colour scale: all there can be, or what is next above the largest card.
    @param {any} facts
    @param {Heat} heat */
export const heatTop = (facts, { name, scale }) => (scale === "absolute" ? 1 : niceTop(Object.values(facts.cards).map(heats[name].of)));

/** Upper end of the scale: the largest value, rounded up to 1, 2 or 5 times a power of ten. */
export function niceTop(numbers) {
  const top = Math.max(0, ...numbers.filter(known));
  if (top <= 0) return 1;
  const power = Math.pow(10, Math.floor(Math.log10(top)));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= top * 0.999);
  return Math.min(1, step * power);
}

/** Class of the colour ramp (0..4) of a card on a scale, or null when unknown.
    @param {any} card undefined: what has no numbers
    @param {any} heat as shown
    @param {number} top */
export function heatOf(card, heat, top) {
  const value = card && heat.of(card);
  return card && known(value) ? Math.min(4, Math.floor((5 * value) / top)) : null;
}

/** What stands between the word of a mark and its number: a share is of something, not the thing itself. */
export const between = (form) => (form === "pct" ? " " : " = ");
