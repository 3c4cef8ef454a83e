/* CacheList: the caches of joins, candidates among them; a Dash component.

   Props: run, drawing (joins, see caches.py), disabled (why knobs cannot be turned, or ''). */
import { components } from "./dash.js";
import { shortNumber, show } from "./format.js";
import { NameChoice } from "./knob_choice.js";
import { bytesText } from "./pool_scale.js";
import { h } from "./react.js";

const SIGNS = { used: "◆", profiled: "◇", unused: "◌" };
const costs = (value, unit) => `${value === null ? "—" : shortNumber(value)}\u2009${unit}`;

const Caches = ({ join, run, disabled }) => h("section", { className: "pw-caches", "data-join": join.join, "aria-label": `Caches of the join of ${join.name}` }, headline(join), cacheList(join, run, disabled));

function headline(join) {
  const { plain, cached, cost, saving, name } = join;
  const estimate = () => `${costs(cached, cost)} for each element, ${costs(plain, cost)} without caches: ${saving.words}`;
  return h(
    "header",
    { className: "pw-market-head" },
    h("h3", null, join.verdict, h("span", { className: "pw-dim" }, ` query ${name}`)),
    saving && h("p", null, h("span", { className: "pw-badge" }, "estimated"), " ", estimate())
  );
}

function cacheList(join, run, disabled) {
  const last = join.price;
  const most = Math.max(...join.bids.flatMap((one) => [one.bid || 0, one.smooth || 0]), last || 0, 1e-12);
  const rows = join.bids.map((one) => h(Bid, { key: one.id, one, join, most, last, run, disabled }));
  return h("div", { className: "pw-bids" }, rows.length ? h("ul", { "aria-label": `Caches of the join of ${join.name}` }, rows) : h("p", { className: "pw-dim" }, "This order of the pipelines leaves nothing that could be cached."));
}

function Bid({ one, join, most, last, run, disabled }) {
  const { name, short, key, places, state, choice, bid, smooth, hit, miss, entries, used, granted, under, wanted, benefit, upkeep } = one;
  const rate = hit === null ? (miss === null ? "" : `misses ${show(miss, "pct")} · `) : `hits ${show(hit, "pct")} · `;
  const held = state !== "used" || entries === null ? "" : `${show(entries, "int")} entries · `;
  const by = key && !short.endsWith(` by ${key}`) ? `by ${key} · ` : "";
  const wish = wanted === null ? "not looked up yet" : `wants ${bytesText(wanted)}`;
  const next = under === granted ? "" : `, ${bytesText(granted)} from the next batch on`;
  const sizes = state === "used" ? `${bytesText(used)} of ${bytesText(under)}${next}` : wish;
  const at = (value) => `${(100 * Math.max(0, value)) / most}%`;
  const names = { own: [name, short], called: short, separator: join.separator, run, disabled };
  const whisker = smooth !== null && bid !== null && { left: at(Math.min(smooth, bid)), width: `calc(${at(Math.max(smooth, bid))} - ${at(Math.min(smooth, bid))})` };
  return h(
    "li",
    { className: `pw-bid pw-cache-bid pw-bid-${state || "unknown"}`, "data-cache": one.id, "data-state": state, "data-granted": granted },
    h("span", { className: "pw-bid-sign", "aria-hidden": true }, SIGNS[state] || "·"),
    h("span", { className: "pw-bid-name" }, h("b", { title: name }, short), h("span", null, by + places.join(", "))),
    h("span", { className: "pw-bid-bar" }, smooth > 0 && h("i", { style: { width: at(smooth) } }), whisker && h("u", { className: "pw-bid-whisker", style: whisker }), last !== null && h("b", { className: "pw-bid-line", style: { left: `${(100 * last) / most}%` }, "aria-hidden": true })),
    h("span", { className: "pw-bid-price", title: `mean of ${join.saving ? join.saving.n : 1} batches; in this one ${bid === null ? "—" : costs(bid, join.cost)}: benefit ${costs(benefit, join.cost)}, upkeep ${costs(upkeep, join.cost)} for each element` }, smooth === null ? "—" : `${smooth < 0 ? "−" : "+"}${costs(Math.abs(smooth), join.cost)} per KiB`),
    h("span", { className: "pw-bid-facts" }, rate + held + sizes),
    h("span", { className: "pw-bid-state" }, choice || state || "unknown"),
    join.knobs.pin && h(NameChoice, { ...names, knob: join.knobs.pin, word: "Pin", pressed: one.choice === "pinned" }),
    join.knobs.forbid && h(NameChoice, { ...names, knob: join.knobs.forbid, word: "Forbid", pressed: one.choice === "forbidden" })
  );
}

/** @param {{id: string, run: string, drawing: any[] | null, disabled: string}} props */
const CacheList = ({ id, run, drawing, disabled }) => h("div", { id }, (drawing || []).map((join) => h(Caches, { key: `${run}|${join.pool}`, join, run, disabled })));

Object.assign(components, { CacheList });
