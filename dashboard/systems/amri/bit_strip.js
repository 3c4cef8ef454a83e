/* BitStrip: the bits of a state's index as cells that can be moved from attribute to attribute; a Dash component.

   Props: run, view {state, input, attributes, bits, draft, price, budget, named, stretch, knob, at, method} (see bits.py), disabled
   (why the knob cannot be turned, or ''). A cell is dragged, or moved by the arrow keys; what that would have cost
   on the requests on record the server says. Pin turns the knob, Discard forgets it. */
import { moved, pinned, shown, total } from "./bit_pins.js";
import { components } from "./dash.js";
import { answerChip, useTurns } from "./knob_card.js";
import { send } from "./knob_turns.js";
import { go } from "./moment.js";
import { h, useEffect, useRef, useState } from "./react.js";

const FREE = -1;
const words = (n) => (n === 1 ? "1 bit" : `${n} bits`);
/* The attribute under the pointer, by place; null: none. */
function placeAt({ clientX, clientY }, strip) {
  const over = document.elementFromPoint(clientX, clientY);
  const target = over && over.closest("[data-place]");
  return target && strip.contains(target) ? Number(target.dataset.place) : null;
}

/* The bits as they are moved; what the server has heard of them comes back as the draft. */
function useBits({ state, bits, draft, stretch, at, method }) {
  const [own, setOwn] = useState(null);
  const key = JSON.stringify([bits, draft]);
  useEffect(() => setOwn(null), [key]);
  const put = (next) => {
    setOwn(next);
    const same = next.join() === bits.join();
    go({ show: same ? shown({ state, at }, "", stretch) : shown({ state, at }, `${method} ${next.join(" ")}`, stretch) }, true);
  };
  return [own || draft || bits, put];
}

/* Who moved a bit by keys finds it where it went: the last cell of that attribute. */
function useFollowed(box) {
  const place = useRef(null);
  useEffect(() => {
    if (place.current === null) return;
    const cells = box.current.querySelectorAll(`[data-place="${place.current}"]`);
    if (cells.length) cells[cells.length - 1].focus();
    place.current = null;
  });
  return place;
}

/* Where the arrow keys move a bit: to the attribute beside it; after the last one comes what is not spent. */
function keyed(place, key, n) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
  if (!step) return null;
  const to = ((place === FREE ? n : place) + step + n + 1) % (n + 1);
  return to === n ? FREE : to;
}

/* What a pointer does with a cell. */
function handlers(place, box, move, hold) {
  const over = (event) => placeAt(event, box.current.parentNode);
  const isHeld = (event) => event.currentTarget.hasPointerCapture(event.pointerId);
  return {
    onPointerDown: (event) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      hold({ from: place, to: place });
    },
    onPointerMove: (event) => isHeld(event) && hold({ from: place, to: over(event) }),
    onPointerUp: (event) => {
      if (!isHeld(event)) return;
      const to = over(event);
      hold(null);
      if (to !== null) move(place, to);
    },
    onPointerCancel: () => hold(null),
  };
}

function Cells({ view, now, put, hold }) {
  const { attributes, budget, named, state } = view;
  const box = useRef(null);
  const followed = useFollowed(box);
  const places = [...now.flatMap((n, place) => Array(n).fill(place)), ...Array(Math.max(0, budget - total(now))).fill(FREE)];
  const move = (from, to) => {
    const next = moved(now, from, to);
    if (next === now) return;
    followed.current = to;
    put(next);
  };
  const onKeyDown = (event, place) => {
    const to = keyed(place, event.key, attributes.length);
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    move(place, to);
  };
  const cell = (place, index) => {
    const name = place === FREE ? "not spent" : attributes[place];
    const looks = { className: place === FREE ? "pw-bit-free" : `pw-bit pw-cell-${place % 6}`, "aria-label": `Bit ${index + 1} of ${state}: ${name}; arrow keys move it`, title: `${name}: drag it to another attribute` };
    return h("button", { key: index, type: "button", "data-place": place, ...looks, ...handlers(place, box, move, hold), onKeyDown: (event) => onKeyDown(event, place) }, named && place !== FREE ? attributes[place] : null);
  };
  return h("div", { className: "pw-bits-strip", ref: box, role: "group", "aria-label": `Bits of ${state}: ${attributes.map((name, place) => `${name} ${now[place]}`).join(", ")}` }, places.map(cell));
}

/* What each attribute has, and a place to drop a bit on where it has none. */
function Legend({ view, now, over }) {
  const free = view.budget - total(now);
  const item = (name, place, n) => {
    const change = place === FREE ? 0 : n - view.bits[place];
    const told = place === FREE ? ` ${words(n)} not spent` : ` ${words(n)}${change ? ` (${change > 0 ? "+" : "−"}${Math.abs(change)})` : ""}`;
    return h("li", { key: place, "data-place": place, "data-over": over === place ? "1" : null }, h("i", { className: place === FREE ? "pw-bit-free" : `pw-bit pw-cell-${place % 6}` }), name && h("b", null, name), told);
  };
  return h("ul", { className: "pw-bits-legend" }, view.attributes.map((name, place) => item(name, place, now[place])), free > 0 && item("", FREE, free));
}

function Draft({ run, view, now, disabled }) {
  const { request, queue, row: knob } = useTurns(run, view.knob, null);
  const isOpen = request !== null && request.phase === "pending";
  const value = pinned(knob.value, view.input, now);
  const pin = () => send(run, knob, value, `bits of ${view.state} moved by hand`, knob.version);
  const isKnown = view.draft && view.draft.join() === now.join();
  const discard = () => go({ show: shown(view, "", view.stretch) }, true);
  const over = total(now) > view.budget ? `more than the ${words(view.budget)} it may spend` : "";
  return h(
    "p",
    { className: "pw-bits-draft", role: "status" },
    h("span", null, isKnown ? view.price : "…"),
    h("button", { type: "button", className: "pw-button pw-primary", disabled: Boolean(disabled || over) || isOpen, title: disabled || over || null, onClick: pin }, "Pin"),
    h("button", { type: "button", className: "pw-button", onClick: discard }, "Discard"),
    request && answerChip(request, queue)
  );
}

/** @param {{run: string, view: any, disabled: string}} props */
function BitStrip({ run, view, disabled }) {
  const [now, put] = useBits(view);
  const [held, hold] = useState(null);
  const isMoved = now.join() !== view.bits.join();
  return h(
    "div",
    { className: "pw-bits-own", "data-bits": now.join(" "), "data-held": held ? "1" : null },
    h(Legend, { view, now, over: held && held.to !== held.from ? held.to : null }),
    h(Cells, { view, now, put, hold }),
    isMoved && view.knob && h(Draft, { run, view, now, disabled })
  );
}

Object.assign(components, { BitStrip });
