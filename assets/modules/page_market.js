/* MemoryMarket: pools of memory, the bids for them and what does not bid; a Dash component.

   Props: run, drawing (see dashboard/panels/common/market.py), disabled (why knobs cannot be turned, or '').
   The edge of a pool is a draft of the knob behind it. What it would do the server tells, which divides the bids
   of this batch again; trying changes nothing, applying is a request like any other turn of a knob. */
import { apiError, callApi } from "./api.js";
import { components } from "./dash.js";
import { show } from "./format.js";
import { Pool, savedText } from "./market_auction.js";
import { Price } from "./market_price.js";
import { newestOnly } from "./newest.js";
import { link } from "./page_table.js";
import { bytesText } from "./pool_scale.js";
import { h, useEffect, useRef, useState } from "./react.js";

const REST_MS = 80;
const keyOf = (question) => JSON.stringify(question);
const draftOf = ({ knob, scope, value }) => keyOf([knob, scope, value]);

async function answered({ run, at, knob, scope, value }) {
  const given = new URLSearchParams({ knob, value: String(value) });
  if (scope) given.set("scope", scope);
  if (at !== null) given.set("at", String(at));
  const answer = await callApi("GET", `/runs/${encodeURIComponent(run)}/market?${given}`);
  return answer.ok ? answer.body : { words: apiError(answer), granted: null, price: null };
}

/* What the bids come to under the draft: the last answer, whether it is to this draft, and to this very question. */
function useAnswer(question) {
  const [found, setFound] = useState(null);
  const asks = useRef(null);
  if (asks.current === null) asks.current = newestOnly(answered, (body, asked) => setFound({ body, asked }));
  const key = question && keyOf(question);
  useEffect(() => {
    if (key === null) return setFound(null);
    const timer = window.setTimeout(() => asks.current(JSON.parse(key)), REST_MS);
    return () => window.clearTimeout(timer);
  }, [key]);
  if (key === null || found === null) return [null, false, key === null];
  return [found.body, draftOf(found.asked) === draftOf(question), keyOf(found.asked) === key];
}

function Body({ run, market, disabled }) {
  const [draft, setDraft] = useState(null);
  const turnable = [...market.pools, ...market.prices];
  const drafted = draft && turnable.find(({ id }) => id === draft.of);
  const question = drafted ? { run, at: market.at, knob: drafted.knob.name, scope: drafted.knob.scope, value: draft.value } : null;
  const [answer, same, current] = useAnswer(question);
  const granted = (bid) => (answer && answer.granted && bid.id in answer.granted ? answer.granted[bid.id] : bid.granted);
  const price = answer && answer.granted ? answer.price : market.price;
  const words = same && answer ? answer.words : "";
  const turning = ({ id }) => ({
    draft: draft && draft.of === id ? draft.value : null,
    change: (value) => setDraft(value === null ? null : { of: id, value }),
    preview: (told) => preview({ ...told, words, current, disabled }),
  });
  const pools = market.pools.map((pool) => h(Pool, { key: pool.id, run, pool, market, granted, ...turning(pool) }));
  const prices = market.prices.map((one) => h(Price, { key: one.id, run, price: one, ...turning(one) }));
  return h(
    "div",
    { className: "pw-market" },
    headline(market),
    pools,
    prices,
    market.bids.length ? bidList(market, granted, price) : h("p", { className: "pw-dim" }, "Nobody asks for memory now."),
    market.others.length > 0 && noBids(market.others)
  );
}

const bidsText = (n) => (n === 1 ? "1 bid asks" : `${n} bids ask`);
const bidsWord = (n) => (n === 1 ? "bid" : `${n} bids`);

function headline({ bids, n_bids: n, units, asked, granted, used }) {
  if (!n) return null;
  const more = n > bids.length ? ` Drawn are the first ${bids.length} of ${n}; the table has all.` : "";
  const mixed = units.length > 1 ? ` Savings are in ${units.join(" and ")}, which do not compare.` : "";
  return h(
    "header",
    { className: "pw-market-head" },
    h("h3", null, `${bidsText(n)} for ${bytesText(asked)}, ${bytesText(granted)} granted`),
    h("p", null, h("span", { className: "pw-badge" }, "measured"), ` ${bytesText(used)} in use.${more}${mixed}`)
  );
}

/* What the draft would do, in the words of the server, before anything is asked for. */
function preview({ from, to, words, current, apply, drop, disabled }) {
  return h(
    "div",
    { className: "pw-market-draft", role: "status", "aria-busy": !current },
    h("p", null, h("b", null, `Draft: ${from} → ${to}. `), words || "Dividing the bids again …"),
    h("div", { className: "pw-knob-actions" }, h("button", { type: "button", className: "pw-button pw-primary", disabled: Boolean(disabled), title: disabled || null, onClick: apply }, "Apply"), h("button", { type: "button", className: "pw-button", onClick: drop }, "Discard"), disabled && h("span", { className: "pw-knob-note" }, disabled))
  );
}

function bidList(market, granted, price) {
  const most = Math.max(...market.bids.map(({ gain }) => gain || 0), price || 0, 1e-12);
  const rows = market.bids.map((bid, place) => h(Bid, { key: bid.id, bid, place, size: granted(bid), most, price }));
  return h("details", { className: "pw-bids" }, h("summary", null, `The ${bidsWord(market.bids.length)} as a list`), h("ul", { "aria-label": "Bids, as they are served" }, rows));
}

function Bid({ bid, place, size, most, price }) {
  const { name, role, holder_name: holder, asked, granted, used, tuples, gain, unit } = bid;
  const at = (value) => `${(100 * Math.max(0, value)) / most}%`;
  const has = size === granted ? `has ${bytesText(size)}` : `has ${bytesText(granted)} → ${bytesText(size)}`;
  const holds = [used === null ? "" : `uses ${bytesText(used)}`, tuples === null ? "" : `${show(tuples, "int")} tuples`];
  return h(
    "li",
    { className: "pw-bid", "data-bid": bid.id, "data-granted": size, "data-gain": gain },
    h("span", { className: "pw-bid-name" }, h("b", null, `${place + 1} `, link(bid.jump, name)), h("span", null, name === holder ? role : `${role} · ${holder}`)),
    h("span", { className: "pw-bid-bar" }, gain > 0 && h("i", { style: { width: at(gain) } }), price !== null && h("b", { className: "pw-bid-line", style: { left: at(price) }, "aria-hidden": true })),
    h("span", { className: "pw-bid-price", title: "for each tuple of all that bid, mean of what it asks for" }, gain === null ? "before all bids" : `${savedText(gain, unit)} per KiB`),
    h("span", { className: "pw-bid-facts" }, [`asks ${bytesText(asked)}`, has, ...holds].filter(Boolean).join(" · "))
  );
}

function noBids(others) {
  const rows = others.map(({ entity, name, role, size, limit, unit, knob, jump }) => {
    const held = size === null ? "" : `holds ${sized(size, unit)}`;
    const own = knob && (limit === null ? `no limit by ${knob}` : `at most ${sized(limit, unit)} by its own limit, ${knob}`);
    return h("li", { key: entity, className: "pw-bid pw-bid-none", "data-entity": entity }, h("span", { className: "pw-bid-name" }, h("b", null, link(jump, name)), h("span", null, role)), h("span", { className: "pw-bid-state" }, "no bid"), h("span", { className: "pw-bid-facts" }, [held, own].filter(Boolean).join(" · ")));
  });
  return h("div", { className: "pw-bids" }, h("h4", null, "Without a bid"), h("ul", { "aria-label": "What holds memory without a bid" }, rows));
}

const sized = (value, unit) => (unit === "bytes" ? bytesText(value) : `${show(value, "int")}\u2009${unit}`);

/** @param {{id: string, run: string, drawing: any, disabled: string}} props */
const MemoryMarket = ({ id, run, drawing, disabled }) => h("div", { id }, drawing && h(Body, { key: run, run, market: drawing, disabled }));

Object.assign(components, { MemoryMarket });
