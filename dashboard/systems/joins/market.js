/* CacheMarket: pools of memory and the caches that bid for them; a Dash component.

   Props: run, drawing (markets, see market.py), disabled (why knobs cannot be turned, or '').
   The edge of a pool is a draft of the knob behind it: what it would do is shown before it is applied,
   and applying is a request like any other turn of a knob. */
import { components } from "./dash.js";
import { answerChip, useTurns } from "./knob_card.js";
import { shortNumber, show } from "./format.js";
import { NameChoice } from "./knob_choice.js";
import { send } from "./knob_turns.js";
import { bytesText, keyed, moved, poolAt, price, room, served, inLine, widest, worked } from "./market_rule.js";
import { h, useRef, useState } from "./react.js";

const SIGNS = { used: "◆", profiled: "◇", unused: "◌" };
const costs = (value, unit) => `${value === null ? "—" : shortNumber(value)}\u2009${unit}`;

/** A market with its turns: the knob as last made, the draft, and what both come to. */
function useMarket(market, run) {
  const { request, queue, row: knob, wanted } = useTurns(run, market.knobs.pool, null);
  const [draft, setDraft] = useState(null);
  const now = market.bytes === null ? room(market, Number(knob.value)) : market.bytes;
  const pool = room(market, draft === null ? Number(wanted) : draft);
  return { request, queue, knob, now, pool, draft: draft !== null && draft !== Number(wanted) ? draft : null, setDraft };
}

function Market({ market, run, disabled }) {
  const state = useMarket(market, run);
  const { request, queue, knob, now, pool, draft, setDraft } = state;
  const apply = () => {
    send(run, knob, draft, "dragged on the market", knob.version);
    setDraft(null);
  };
  return h(
    "section",
    { className: "pw-market", "data-join": market.join, "data-pool": String(now), "aria-label": market.limitless ? "Memory of all joins" : `Memory of the join of ${market.name}` },
    headline(market, now),
    h(Pool, { market, pool, now, off: Boolean(disabled), change: setDraft }),
    draft !== null && preview({ market, now, draft, apply, disabled, drop: () => setDraft(null) }),
    request && h("p", { className: "pw-market-answer" }, answerChip(request, queue)),
    market.effect && effect(market.effect),
    market.limitless ? h("p", { className: "pw-bids-words" }, priceWords(market, pool)) : bidList(market, pool, run, disabled)
  );
}

/* What caches save, as far as that can be told: an estimate, and never of caches that hold nothing. */
function verdict({ saving, limitless, entries }) {
  if (limitless) return "All joins of the run together";
  if (saving === null) return "Not measured yet";
  const { times, low, high } = saving;
  if (!entries) return "Nothing is cached yet";
  if (low <= 1 && high >= 1) return "Caches neither save nor lose";
  return `${times > 1 ? "Caches save" : "Caches lose"} ${show(times > 1 ? times : 1 / times, "f2")}\u2009×`;
}

function headline(market, now) {
  const { plain, cached, cost, saving, granted, used, name, limitless } = market;
  const given = now === Infinity ? `${bytesText(granted)} given, without limit` : `${bytesText(granted)} of ${bytesText(now)} given`;
  const estimate = () => {
    const { times, low, high, n } = saving;
    const each = `${costs(cached, cost)} for each element, ${costs(plain, cost)} without caches`;
    return `${each}: ${show(times, "f2")}\u2009×, 95\u2009% interval ${show(low, "f2")} to ${show(high, "f2")}, over ${n} batches`;
  };
  return h(
    "header",
    { className: "pw-market-head" },
    h("h3", null, verdict(market)),
    saving && h("p", { className: "pw-market-estimate" }, h("span", { className: "pw-badge" }, "estimated"), " ", estimate()),
    h("p", { className: "pw-market-measured" }, h("span", { className: "pw-badge" }, "measured"), " ", `${bytesText(used)} in use, ${given}${limitless ? "" : ` · query ${name}`}`)
  );
}

/* The bar: what each cache has, in the order they are served, and the edge. */
function Pool({ market, pool, now, off, change }) {
  const bar = useRef(null);
  const whole = widest({ ...market, bytes: Math.max(now, pool) });
  const part = (bytes) => `${(100 * Math.min(bytes, whole)) / whole}%`;
  const given = served(market.bids, pool, market.caps);
  const drag = (event) => {
    const { left, width } = bar.current.getBoundingClientRect();
    change(poolAt(market, (whole * (event.clientX - left)) / width));
  };
  const grab = (event) => {
    if (off) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    event.currentTarget.dataset.held = "1";
  };
  const loose = (event) => delete event.currentTarget.dataset.held;
  const onKeyDown = (event) => {
    const next = off ? null : keyed(market, event.key, pool);
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
    change(next);
  };
  const edge = {
    className: "pw-pool-edge",
    role: "slider",
    tabIndex: 0,
    "aria-label": market.limitless ? "Pool of the run" : `Pool of the join of ${market.name}`,
    "aria-valuemin": market.knobs.pool.low,
    "aria-valuemax": Math.round(whole),
    "aria-valuenow": Math.min(pool, Math.round(whole)),
    "aria-valuetext": bytesText(pool),
    "aria-disabled": off,
    style: { left: part(pool) },
    onPointerDown: grab,
    onPointerMove: (event) => event.currentTarget.dataset.held && drag(event),
    onPointerUp: loose,
    onPointerCancel: loose,
    onKeyDown,
  };
  return h(
    "div",
    { className: "pw-pool", ref: bar },
    h("div", { className: "pw-pool-room", style: { width: part(pool) } }),
    pieces(market.bids, given, part),
    h("div", edge, h("span", { className: "pw-pool-size", style: { transform: `translateX(-${part(pool)})` } }, bytesText(pool)))
  );
}

function pieces(bids, given, part) {
  let at = 0;
  return inLine(bids).map(({ id, short, granted, wanted }, place) => {
    const size = given.get(id);
    const going = size < (granted || 0);
    const left = at;
    at += wanted || 0;
    const looks = ["pw-pool-piece", `pw-pool-${place % 3}`, size ? "" : "pw-pool-none", going ? "pw-pool-going" : ""];
    const title = `${short}: ${bytesText(size)} of ${bytesText(wanted)} it could use`;
    const style = { left: part(left), width: `calc(${part(left + (wanted || 0))} - ${part(left)} - 2px)`, "--given": `${wanted ? (100 * size) / wanted : 0}%` };
    return h("div", { key: id, className: looks.filter(Boolean).join(" "), "data-cache": id, "data-given": size, title, style }, h("b", null, short), h("span", null, bytesText(size)));
  });
}

/* What the draft would do, in words, before anything is asked for. */
function preview({ market, now, draft, apply, drop, disabled }) {
  const next = room(market, draft);
  const moves = moved(market, now, next);
  const [before, after] = [worked(market, now), worked(market, next)];
  const change = before && after ? `estimated work ${signed(after / before - 1)}` : "its effect is not known yet";
  const words = moves.map(({ short, from, to }, place) => {
    const diff = to - from;
    const verb = diff < 0 ? (to ? "gives" : "goes, with") : from ? "gets" : "comes, with";
    return `${place ? "then " : ""}${short} ${verb} ${bytesText(Math.abs(diff))}`;
  });
  const told = words.length ? words.join(", ") : next < now ? "no cache has to give way" : "no cache in use wants more";
  return h(
    "div",
    { className: "pw-market-draft", role: "status" },
    h("p", null, h("b", null, `Draft: pool ${bytesText(now)} → ${bytesText(next)}. `), `${told}; ${change}.`),
    h("div", { className: "pw-knob-actions" }, h("button", { type: "button", className: "pw-button pw-primary", disabled: Boolean(disabled), title: disabled || null, onClick: apply }, "Apply"), h("button", { type: "button", className: "pw-button", onClick: drop }, "Discard"))
  );
}

const signed = (share) => `${share < 0 ? "−" : "+"}${show(Math.abs(share), "pct")}`;

const effect = ({ batch, old, new: turned, words }) =>
  h("p", { className: "pw-market-effect" }, h("b", null, `The turn at batch ${batch}, ${bytesText(old)} → ${bytesText(turned)}: `), words);

function bidList(market, pool, run, disabled) {
  const last = price(market, pool);
  const most = Math.max(...market.bids.flatMap((one) => [one.bid || 0, one.smooth || 0]), last || 0, 1e-12);
  const rows = market.bids.map((one) => h(Bid, { key: one.id, one, market, most, last, run, disabled }));
  return h(
    "div",
    { className: "pw-bids" },
    market.bids.length ? h("ul", { "aria-label": `Caches of the join of ${market.name}` }, rows) : h("p", { className: "pw-dim" }, "This order of the pipelines leaves nothing that could be cached."),
    h("p", { className: "pw-bids-words" }, priceWords(market, pool))
  );
}

function priceWords(market, pool) {
  const last = price(market, pool);
  return last === null ? "memory is left over: the last KiB has no price" : `price of the last KiB: ${costs(last, market.cost)}`;
}

function Bid({ one, market, most, last, run, disabled }) {
  const { name, short, key, places, state, choice, bid, smooth, hit, miss, entries, used, granted, under, wanted, benefit, upkeep } = one;
  const rate = hit === null ? (miss === null ? "" : `misses ${show(miss, "pct")} · `) : `hits ${show(hit, "pct")} · `;
  const held = state !== "used" || entries === null ? "" : `${show(entries, "int")} entries · `;
  const by = key && !short.endsWith(` by ${key}`) ? `by ${key} · ` : "";
  const wish = wanted === null ? "not looked up yet" : `wants ${bytesText(wanted)}`;
  const next = under === granted ? "" : `, ${bytesText(granted)} from the next batch on`;
  const sizes = state === "used" ? `${bytesText(used)} of ${bytesText(under)}${next}` : wish;
  const at = (value) => `${(100 * Math.max(0, value)) / most}%`;
  const names = { own: [name, short], called: short, separator: market.separator, run, disabled };
  const whisker = smooth !== null && bid !== null && { left: at(Math.min(smooth, bid)), width: `calc(${at(Math.max(smooth, bid))} - ${at(Math.min(smooth, bid))})` };
  return h(
    "li",
    { className: `pw-bid pw-bid-${state || "unknown"}`, "data-cache": one.id, "data-state": state, "data-granted": granted },
    h("span", { className: "pw-bid-sign", "aria-hidden": true }, SIGNS[state] || "·"),
    h("span", { className: "pw-bid-name" }, h("b", { title: name }, short), h("span", null, by + places.join(", "))),
    h("span", { className: "pw-bid-bar" }, smooth > 0 && h("i", { style: { width: at(smooth) } }), whisker && h("u", { className: "pw-bid-whisker", style: whisker }), last !== null && h("b", { className: "pw-bid-line", style: { left: `${(100 * last) / most}%` }, "aria-hidden": true })),
    h("span", { className: "pw-bid-price", title: `mean of ${market.saving ? market.saving.n : 1} batches; in this one ${bid === null ? "—" : costs(bid, market.cost)}: benefit ${costs(benefit, market.cost)}, upkeep ${costs(upkeep, market.cost)} for each element` }, smooth === null ? "—" : `${smooth < 0 ? "−" : "+"}${costs(Math.abs(smooth), market.cost)} per KiB`),
    h("span", { className: "pw-bid-facts" }, rate + held + sizes),
    h("span", { className: "pw-bid-state" }, choice || state || "unknown"),
    market.knobs.pin && h(NameChoice, { ...names, knob: market.knobs.pin, word: "Pin", pressed: one.choice === "pinned" }),
    market.knobs.forbid && h(NameChoice, { ...names, knob: market.knobs.forbid, word: "Forbid", pressed: one.choice === "forbidden" })
  );
}

/** @param {{id: string, run: string, drawing: any[] | null, disabled: string}} props */
const CacheMarket = ({ id, run, drawing, disabled }) =>
  h("div", { id, className: "pw-markets" }, (drawing || []).filter((one) => one.knobs.pool).map((market) => h(Market, { key: `${run}|${market.pool}`, market, run, disabled })));

Object.assign(components, { CacheMarket });
