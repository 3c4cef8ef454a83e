/* IndexWhatIf: another index of a state on the requests on record, and taking it live; a Dash component.

   Props: run, drawing {state, input, states, attributes, in_force, method, methods, bits, modules, most_modules,
   kib, every, budget, stretch, is_asked, knobs, at, words} (see tried.py), disabled (why knobs cannot be turned, or ''). What is tried
   stands in the address and is priced by the server; taking it live is a turn of the knobs behind it. */
import { pinned, shown, total } from "./bit_pins.js";
import { on } from "./core.js";
import { components } from "./dash.js";
import { answerChip, useTurns } from "./knob_card.js";
import { send } from "./knob_turns.js";
import { go, moment } from "./moment.js";
import { h, useEffect, useRef, useState } from "./react.js";
import { viewRange } from "./view_range.js";

const REST_MS = 250;
const MOST_BITS = 64;
const MOST_KIB = 2 ** 30;
const MOST_REQUESTS = 1e9;

/* What is tried as it was changed last; the server has it when it has come to rest. */
function useDraft(view) {
  const served = { state: view.state, method: view.method, bits: view.bits, modules: view.modules, kib: view.kib, every: view.every, stretch: view.is_asked ? view.stretch : null };
  const key = JSON.stringify(served);
  const [draft, setDraft] = useState(null);
  const timer = useRef(null);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  useEffect(() => setDraft(null), [key]);
  const now = draft || served;
  const change = (changes) => {
    const next = { ...now, ...changes };
    setDraft(next);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => go({ show: shown({ ...view, state: next.state }, indexOf(view, next), next.stretch ? next.stretch.join("-") : "") }, true), REST_MS);
  };
  return [now, change];
}

/* As the address has it; another state is shown with the bits it has. */
function indexOf({ words, state: before }, { state, method, bits, modules, kib, every }) {
  if (state !== before) return "";
  if (method === words.bits) return `${method} ${bits.join(" ")}`;
  if (method === words.even) return `${method} ${total(bits)}`;
  const numbers = { [words.hash]: modules, [words.mix]: kib, [words.retuned]: every };
  return method in numbers ? `${method} ${numbers[method]}` : method;
}

function Stepper({ value, least, most, label, change }) {
  const set = (next) => Number.isInteger(next) && next >= least && next <= most && next !== value && change(next);
  const step = (way, sign, word) => h("button", { type: "button", className: "pw-step", "aria-label": `${label} ${word}`, onClick: () => set(value + way) }, sign);
  const input = { key: value, type: "text", inputMode: "numeric", className: "pw-input", defaultValue: value, "aria-label": label, spellCheck: false };
  const typed = (event) => set(event.target.value.trim() === "" ? NaN : Number(event.target.value));
  return h("span", { className: "pw-number" }, step(-1, "−", "down"), h("input", { ...input, onBlur: typed, onKeyDown: (event) => event.key === "Enter" && typed(event) }), step(1, "+", "up"));
}

function Choice({ label, value, options, change }) {
  const option = (name) => h("option", { key: name, value: name }, name);
  return h("label", null, `${label} `, h("select", { className: "pw-input", "aria-label": `${label} tried`, value, onChange: (event) => change(event.target.value) }, options.map(option)));
}

/* How many bits, by attribute or in all, how many hash indexes, KiB of a mix, or requests between choices. */
function Numbers({ view, now, change }) {
  const { words, attributes } = view;
  const { method, bits, modules, kib, every } = now;
  const one = (word, value, least, most, label, of) => h("label", null, `${word} `, h(Stepper, { value, least, most, label, change: (n) => change(of(n)) }));
  if (method === words.mix) return one("KiB, 0 = no limit", kib, 0, MOST_KIB, "KiB of the portfolio tried", (n) => ({ kib: n }));
  if (method === words.retuned) return one("Requests between choices", every, 1, MOST_REQUESTS, "Requests between choices tried", (n) => ({ every: n }));
  if (method === words.hash) return one("Indexes", modules, 0, view.most_modules, "Hash indexes tried", (n) => ({ modules: n }));
  const spread = (n) => bits.map((_, a) => Math.floor((n + bits.length - 1 - a) / bits.length));
  if (method === words.even) return one("B", total(bits), 0, MOST_BITS, "Bits tried", (n) => ({ bits: spread(n) }));
  if (method !== words.bits) return null;
  const own = (name, a) => h("label", { key: name }, h("i", { className: `pw-bit pw-cell-${a % 6}`, "aria-hidden": true }), ` ${name} `, h(Stepper, { value: bits[a], least: 0, most: MOST_BITS - total(bits) + bits[a], label: `Bits tried for ${name}`, change: (n) => change({ bits: bits.map((b, k) => (k === a ? n : b)) }) }));
  return h("span", { className: "pw-tried-bits" }, attributes.map(own), h("span", { className: "pw-dim" }, `B = ${total(bits)}`));
}

function Stretch({ view, now, change }) {
  const [first, last] = now.stretch || view.stretch;
  const put = (place) => (n) => change({ stretch: place ? [Math.min(first, n), n] : [n, Math.max(n, last)] });
  const end = (place, value, word) => h("label", null, `${word} `, h(Stepper, { value, least: 0, most: Number.MAX_SAFE_INTEGER, label: `${place ? "Last" : "First"} batch`, change: put(place) }));
  return h("span", { className: "pw-tried-stretch" }, end(0, first, "Batches"), end(1, last, "to"), now.stretch && h("button", { type: "button", className: "pw-button", onClick: () => change({ stretch: null }) }, "The newest"));
}

/* A range of time that is chosen on the strip, or by a zoom of any chart, is the stretch, too. */
function useBrushed(change) {
  const span = useRef(moment.span);
  const latest = useRef(change);
  latest.current = change;
  const follow = () => {
    if (moment.span === span.current) return;
    span.current = moment.span;
    const { first, last } = viewRange();
    latest.current({ stretch: moment.span === null ? null : [first, last] });
  };
  useEffect(() => on("moment", follow), []);
}

/* The knobs to turn so that the index is there, in order. */
function turnsFor({ words, knobs, input, budget, states }, { method, bits, modules, kib, every }) {
  const value = (name) => knobs[name] && knobs[name].value;
  const hold = (own) => ({ index_bits: Math.max(total(bits), Number(value("index_bits"))), access: "bitmap", pinned_bits: pinned(value("pinned_bits"), input, own) });
  const free = { index_bits: budget, pinned_bits: pinned(value("pinned_bits"), input, null) };
  const wanted = {
    [words.bits]: () => hold(bits),
    [words.even]: () => hold(bits),
    [words.hash]: () => ({ hash_indexes: modules, access: "hash" }),
    [words.mix]: () => ({ ...free, index_pool_bytes: kib * 1024 * states.length, access: "portfolio" }),
    [words.retuned]: () => ({ ...free, access: "bitmap", selection: "window", period_requests: Math.max(100, every), tuning_schedule: "periodic" }),
  }[method] || (() => ({ access: "scan" }));
  return Object.entries(wanted()).filter(([name, other]) => knobs[name] && String(knobs[name].value) !== String(other));
}

const WHOLE = "turns the access to all states of the query";

function Live({ run, view, now, disabled }) {
  const turns = turnsFor(view, now);
  const last = turns.length ? turns[turns.length - 1][0] : "pinned_bits";
  const [taken, setTaken] = useState(last);
  const { request, queue } = useTurns(run, view.knobs[taken] || Object.values(view.knobs)[0], null);
  const isOpen = request !== null && request.phase === "pending";
  const take = async () => {
    setTaken(last);
    for (const [name, value] of turns) {
      const { phase } = await send(run, view.knobs[name], value, `what-if of ${view.state}`, view.knobs[name].version);
      if (phase !== "applied") return;
    }
  };
  const words = turns.map(([name, value]) => `${view.knobs[name].title}: ${value}`).join(", then ");
  const wide = turns.some(([name]) => name === "access") ? `; ${WHOLE}` : "";
  return h(
    "p",
    { className: "pw-tried-take" },
    h("button", { type: "button", className: "pw-button pw-primary", disabled: Boolean(disabled) || !turns.length || isOpen, title: disabled || null, onClick: take }, "Take it live"),
    request && answerChip(request, queue),
    h("span", { className: "pw-dim" }, turns.length ? `turns ${words}${wide}` : "it is in force, and stays")
  );
}

function Body({ run, view, disabled }) {
  const [now, change] = useDraft(view);
  useBrushed(change);
  return h(
    "div",
    { className: "pw-tried-asks", "data-state": view.state, "data-index": indexOf(view, { ...now, state: view.state }), onKeyDown: (event) => event.stopPropagation() },
    h(Choice, { label: "State", value: now.state, options: view.states, change: (state) => change({ state }) }),
    h(Choice, { label: "Index", value: now.method, options: view.methods, change: (method) => change({ method, bits: method === view.words.bits && !total(now.bits) ? view.in_force : method === view.words.even && !total(now.bits) ? view.in_force : now.bits }) }),
    h(Numbers, { view, now, change }),
    h(Stretch, { view, now, change }),
    Object.keys(view.knobs).length > 0 && h(Live, { run, view, now, disabled })
  );
}

/** @param {{id: string, run: string, drawing: any, disabled: string}} props */
const IndexWhatIf = ({ id, run, drawing: view, disabled }) => h("div", { id }, view && h(Body, { key: `${run}|${view.state}`, run, view, disabled }));

Object.assign(components, { IndexWhatIf });
