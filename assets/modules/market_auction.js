/* A pool of memory as an auction: what bids ask for side by side, the highest first, and the limit as a line
   through them. What is left of it is granted; where it cuts stands the price. */
import { byKeys, byPointer } from "./dragged.js";
import { shortNumber, show } from "./format.js";
import { Rolling } from "./headline.js";
import { answerChip, useTurns } from "./knob_card.js";
import { send } from "./knob_turns.js";
import { blocksOf, bytesText, heights, keyed, nextServed, poolAt, room, savedBy, poolTicks, widest } from "./pool_scale.js";
import { h, useRef } from "./react.js";

const LONG = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];

/** What is saved, with its unit; accuracy first is a price of seconds. */
export function savedText(value, unit) {
  const [name, size] = (unit === "ns" && LONG.find(([, least]) => value >= least)) || [unit, 1];
  return `${shortNumber(value / size)}\u2009${name}`;
}

const signed = (share) => `${share < 0 ? "−" : "+"}${show(Math.abs(share), "pct")}`;

/** @param {any} props run; pool, of the drawing (see dashboard/panels/common/market.py); market: all of it; granted:
    bytes of a bid, under the draft; draft, null = none; change; preview, of the draft */
export function Pool({ run, pool: recorded, market, granted, draft, change, preview: told }) {
  const { request, queue, row: knob, wanted } = useTurns(run, recorded.knob, null);
  const pool = { ...recorded, knob };
  const now = pool.limit === null ? Infinity : pool.limit;
  const value = draft === null ? Number(wanted) : draft;
  const asks = draft !== null && draft !== Number(wanted);
  const bids = market.bids.map((bid, place) => ({ ...bid, place })).filter(({ id }) => pool.bids.includes(id));
  const had = blocksOf(bids, (bid) => bid.granted);
  const blocks = blocksOf(bids, granted).map((block, n) => ({ ...block, was: had[n].lit }));
  const apply = () => {
    send(run, knob, draft, "dragged on the market", knob.version);
    change(null);
  };
  const edge = room(pool, value);
  return h(
    "section",
    { className: "pw-market-pool", "data-pool": pool.id, "data-limit": String(now), "aria-label": pool.name },
    h("h4", null, pool.name, h("span", { className: "pw-dim" }, knobWords(knob, pool, market))),
    h(Auction, { pool, blocks, value, now, change }),
    bids.length > 0 && h("p", { className: "pw-bids-words" }, advice(blocks, edge)),
    asks && told({ from: bytesText(now), to: bytesText(edge), apply, drop: () => change(null) }),
    request && h("p", { className: "pw-market-answer" }, answerChip(request, queue)),
    h(Outcome, { turned: asks ? null : pool.turned, share: asks ? drafted(blocks, had) : null })
  );
}

/* What the line turns, where that is not the pool alone. */
function knobWords({ name, scope, title }, pool, { pools }) {
  const also = pools.filter((one) => one.id !== pool.id && one.knob.name === name && one.knob.scope === scope).map((one) => one.name);
  const of = also.length ? `, which sets ${also.join(" and ")} as well` : "";
  return title === pool.name && !of ? "" : ` ${title}${of}`;
}

/* How much more is saved under a draft, null where that has no one unit, or nothing is saved now. */
function drafted(blocks, had) {
  const now = savedBy(had);
  return new Set(blocks.map(({ bid }) => bid.unit)).size === 1 && now > 0 ? savedBy(blocks) / now - 1 : null;
}

/* What there is to do about the limit. */
function advice(blocks, edge) {
  const next = nextServed(blocks);
  const used = blocks.reduce((sum, { lit }) => sum + lit, 0);
  if (!next) return edge > used && edge < Infinity ? `${bytesText(edge - used)} are unused: a larger pool would change nothing.` : "Every bid is served: a larger pool would change nothing.";
  const { bid, bytes, lit, gain } = next;
  if (used < edge) return `${bid.name} is short of ${bytesText(bytes - lit)} by another limit: a larger pool here would change nothing.`;
  return `Enlarge the pool by ${bytesText(bytes - lit)}, and ${bid.name} saves ${savedText(gain, bid.unit)} a tuple for each KiB of them.`;
}

/* The blocks in the order in which they are served, and the line. */
function Auction({ pool: recorded, blocks, value, now, change }) {
  const box = useRef(null);
  const edge = room(recorded, value);
  const held = [now].filter(Number.isFinite);
  const settled = widest({ ...recorded, limit: Math.max(...held, 0) });
  const pool = { ...recorded, limit: Math.max(...held, edge < Infinity && edge > 0.98 * settled ? edge : 0, 0) };
  const whole = widest(pool);
  const part = (bytes) => `${(100 * Math.min(bytes, whole)) / whole}%`;
  const { height, lines } = heights(blocks.map(({ gain }) => gain));
  const unit = new Set(blocks.map(({ bid }) => bid.unit).filter(Boolean)).size === 1 ? blocks[0].bid.unit : "";
  const looks = {
    className: "pw-pool-edge",
    role: "slider",
    tabIndex: 0,
    "aria-label": pool.name,
    "aria-valuemin": pool.knob.low || 0,
    "aria-valuemax": Math.round(whole),
    "aria-valuenow": Math.min(edge, Math.round(whole)),
    "aria-valuetext": bytesText(edge),
    style: { left: part(edge) },
    ...byPointer(box, (place) => change(poolAt(pool, whole * place)), false),
    ...byKeys((key) => keyed(pool, key, edge) ?? undefined, change),
  };
  const beyond = recorded.asked - whole;
  const price = priceOf(blocks);
  return h(
    "div",
    { className: `pw-pool${edge === Infinity ? " pw-pool-endless" : ""}`, ref: box },
    unit && lines.map((gain) => h("span", { key: gain, className: "pw-pool-line", style: { "--height": height(gain) } }, `${savedText(gain, unit)} per KiB`)),
    poolTicks(whole).map((bytes) => h("span", { key: bytes, className: "pw-pool-tick", style: { left: part(bytes) } }, bytesText(bytes))),
    h("div", { className: "pw-pool-room", style: { width: part(edge) } }),
    named(blocks, height).map((block) => h(Piece, { key: block.key, block, part, whole, height: height(block.gain) })),
    beyond > 0 && h("span", { className: "pw-pool-beyond" }, `${bytesText(beyond)} more are asked for →`),
    h("div", looks, h("span", { className: "pw-pool-size", style: { transform: `translateX(-${part(edge)})` } }, bytesText(edge))),
    price !== null && unit && edge < Infinity && cut(price, unit, edge / whole, height(price))
  );
}

/* The price, where the line cuts. */
function cut(price, unit, place, height) {
  const side = place > 0.6 ? "pw-pool-price pw-pool-price-left" : "pw-pool-price";
  return h("span", { className: side, style: { left: `${100 * Math.min(1, place)}%`, "--height": height } }, `price ${savedText(price, unit)} per KiB`);
}

/* The largest block of each bid has its name. */
function named(blocks, height) {
  const size = ({ bytes, gain }) => bytes * (0.1 + height(gain));
  const largest = new Map();
  for (const block of blocks) if (!largest.has(block.bid.id) || size(largest.get(block.bid.id)) < size(block)) largest.set(block.bid.id, block);
  return blocks.map((block, n) => ({ ...block, key: `${block.bid.id} ${n}`, isNamed: largest.get(block.bid.id) === block }));
}

function Piece({ block, part, whole, height }) {
  const { bid, at, bytes, gain, lit, was, isNamed } = block;
  if (at >= whole) return null;
  const saves = gain === null ? "served before all bids" : `saves ${savedText(gain, bid.unit)} a tuple for each KiB`;
  const looks = ["pw-pool-piece", `pw-pool-${bid.place % 3}`, lit ? "" : "pw-pool-none", lit < was ? "pw-pool-going" : ""];
  const style = { left: part(at), width: `calc(${part(at + bytes)} - ${part(at)} - 1px)`, "--height": height, "--given": `${bytes ? (100 * lit) / bytes : 0}%` };
  const label = h("span", { className: "pw-pool-label" }, h("i", null), h("b", null, bid.place + 1), h("span", null, bid.name));
  return h("div", { className: looks.filter(Boolean).join(" "), "data-bid": bid.id, "data-given": lit, title: `${bid.name}: ${bytesText(lit)} of ${bytesText(bytes)}; ${saves}`, style }, isNamed && label);
}

/* What a draft is to bring, or what the last turn brought beside what it was to. */
function Outcome({ turned, share }) {
  const forecast = turned ? turned.forecast : share;
  const measured = turned ? turned.measured : null;
  if (forecast === null && !turned) return null;
  const most = Math.max(0.1, Math.abs(forecast || 0), Math.abs(measured || 0)) * 1.15;
  const at = (value) => ({ left: `${50 + (50 * value) / most}%` });
  const needle = measured === null ? null : h("i", { className: "pw-needle", style: at(measured) });
  const figure = forecast === null ? null : h("b", null, h(Rolling, { text: signed(forecast) }));
  return h(
    "div",
    { className: "pw-market-outcome", "data-forecast": forecast, "data-measured": measured },
    forecast !== null && h("div", { className: "pw-gauge", "aria-hidden": true }, h("i", { className: "pw-gauge-mark", style: at(forecast) }), needle),
    h("p", null, figure && ["saving ", figure, " by the forecast"], measured !== null && [", ", h("b", null, signed(measured)), " by the bids of now"]),
    turned && h("p", { className: "pw-market-effect" }, turned.words)
  );
}
