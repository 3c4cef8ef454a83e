/* KWhatIf: the distances of a constraint on record, and a k to drag over them; a Dash component.

   Props: run, drawing {line, names, n, bins, rows, base, tried, budget, at} (see whatif.py), disabled (why the
   knob cannot be turned, or ''). Trying costs nothing; taking it is a turn of the knob behind it. */
import { components } from "./dash.js";
import { byKeys, byPointer } from "./dragged.js";
import { show } from "./format.js";
import { keyedK, kText, nearestK, parsedK, placeOf, rowOf, tickText, ticksOf, topOf, waitsAt } from "./k_axis.js";
import { answerChip, useTurns } from "./knob_card.js";
import { send } from "./knob_turns.js";
import { go } from "./moment.js";
import { h, useEffect, useRef, useState } from "./react.js";

const REST_MS = 250;
const HEIGHT = 132;
const FLOOR = 116;
const at = (k, top) => `${placeOf(k, top).toFixed(2)}%`;
const int = (value) => show(value, "int");

/* The k that is tried: as dragged or typed, else of the address, else the k in use, else its estimate. */
function useTried({ line, base, tried, at: between }) {
  const told = parsedK(tried || "");
  const start = told === undefined ? (line.used === null && base !== null ? base : line.used) : told;
  const [draft, setDraft] = useState(undefined);
  const timer = useRef(null);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const change = (k) => {
    setDraft(k);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => go({ show: `${line.name}${between}${kText(k).replace(/\s/g, "")}` }, true), REST_MS);
  };
  return [draft === undefined ? start : draft, change];
}

/** Bars of the distances; those above k are red and hatched. */
function Bars({ bins, k, top }) {
  const most = Math.log1p(Math.max(...bins.map(([, , n]) => n)));
  const bar = ([below, end, n]) => {
    const left = end === null ? placeOf(null, top) - 1 : Math.max(0, placeOf(below + 0.5, top));
    const right = end === null ? left + 2 : placeOf(end + 0.5, top);
    const height = Math.max(2, (FLOOR - 8) * (Math.log1p(n) / most));
    const above = k !== null && (end === null || end > k);
    const span = below + 1 === end ? kText(end) : `${kText(below + 1)} to ${kText(end)}`;
    return h("rect", { key: below, className: `pw-k-bar${above ? " pw-k-bar-above" : ""}`, "data-above": above ? "1" : "0", x: `${left.toFixed(2)}%`, width: `${Math.max(0.25, right - left - 0.1).toFixed(2)}%`, y: FLOOR - height, height }, h("title", null, `${int(n)} distances of ${span}`));
  };
  return bins.map(bar);
}

function Chart({ view, k, change, top }) {
  const box = useRef(null);
  const { line, rows, bins } = view;
  const row = rowOf(rows, k);
  const edge = {
    className: "pw-k-edge",
    role: "slider",
    tabIndex: 0,
    "aria-label": `Tried k of ${line.name}`,
    "aria-valuemin": 0,
    "aria-valuemax": Math.ceil(top) + 1,
    "aria-valuenow": k === null ? Math.ceil(top) + 1 : k,
    "aria-valuetext": `${kText(k)}: ${show(row.share, "pct")} of the distances above`,
    style: { left: at(k, top) },
    ...byKeys((key) => keyedK(rows, key, k), change),
  };
  const tick = (number) => h("span", { key: kText(number), style: { left: at(number, top) } }, tickText(number));
  const beside = Math.abs(placeOf(line.used, top) - placeOf(line.estimate, top)) < 10; // no room for both
  const mark = (name, number, words, y) => [h("line", { key: name, className: `pw-k-${name}`, x1: at(number, top), x2: at(number, top), y1: y, y2: FLOOR }), h("text", { key: `${name}-words`, className: "pw-k-mark", x: at(number, top), y: y + 8, dx: placeOf(number, top) > 60 ? -9 : 9, textAnchor: placeOf(number, top) > 60 ? "end" : "start" }, words)];
  return h(
    "div",
    { className: "pw-k-chart", ref: box, ...byPointer(box, (place) => change(nearestK(rows, 100 * place, top))) },
    h(
      "svg",
      { height: HEIGHT, "aria-hidden": "true" },
      h("defs", null, h("pattern", { id: "pw-k-hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, h("rect", { className: "pw-k-hatch-ground", width: 5, height: 5 }), h("line", { className: "pw-k-hatch-line", x1: 0, x2: 0, y1: 0, y2: 5 }))),
      h("line", { className: "pw-k-base", x1: 0, x2: at(top, top), y1: FLOOR, y2: FLOOR }),
      h("line", { className: "pw-k-base pw-k-gap", x1: at(top, top), x2: at(null, top), y1: FLOOR, y2: FLOOR }),
      h(Bars, { bins, k, top }),
      mark("used", line.used, k === line.used ? "" : `in use ${kText(line.used)}`, 2),
      line.estimate !== null && mark("estimate", line.estimate, beside ? "" : `estimate ${kText(line.estimate)}`, 18)
    ),
    h("div", edge, h("span", { className: "pw-k-edge-k" }, kText(k))),
    h("div", { className: "pw-k-axis", "aria-hidden": true }, ticksOf(top).map(tick), tick(null))
  );
}

/** How many times, in words. */
function waitText(k, { base, line }) {
  if (k === null) return line.saved_bytes ? `nothing is let go by it: ${show(line.saved_bytes, "bytes")} more in memory` : "nothing is let go by it";
  const times = waitsAt(k, base);
  if (times === null) return "what would wait is not known before there is an estimate";
  const of = line.used === null ? `at the estimate, ${kText(base)}` : `at the k in use, ${kText(base)}`;
  return k === base ? `what waits is as it is ${of}` : `${times < 10 ? show(times, "f2") : int(times)}\u2009× what waits ${of}`;
}

function lossText({ above, share, low, high }, n) {
  if (share === null) return "no distance is on record";
  const interval = `95\u2009% interval ${small(low)} to ${small(high)}`;
  return above ? `${small(share)} of ${int(n)} recorded distances are above it, ${interval}` : `none of ${int(n)} recorded distances is above it, at most ${small(high)} would be (95\u2009%)`;
}

/* Enough digits that a small share is not nothing. */
const small = (share) => (share > 0 && share < 0.0005 ? `${(100 * share).toPrecision(1)}\u2009%` : show(share, "pct"));

/* The share above it as the budget that k is estimated for. */
function Budget({ row, budget: served, run, name, k, disabled }) {
  const { request, queue, row: knob } = useTurns(run, served, null);
  const share = Number(Math.min(served.high ?? 1, Math.max(served.low ?? 0, row.share)).toPrecision(2));
  const same = share === Number(knob.value);
  const waiting = request !== null && request.phase === "pending";
  const turn = () => send(run, knob, share, `what-if of ${name}, k = ${kText(k)}`, knob.version);
  return h(
    "p",
    { className: "pw-k-take" },
    h("button", { type: "button", className: "pw-button pw-primary", disabled: Boolean(disabled) || same || waiting, title: disabled || null, onClick: turn }, `Accept a loss of ${small(share)}`),
    request && answerChip(request, queue),
    h("span", { className: "pw-dim" }, same ? "it is the budget in force" : `turns the loss budget of all constraints, ${small(Number(knob.value))} now; k is estimated for it`)
  );
}

function KNumber({ k, change, rows }) {
  const [text, setText] = useState(null);
  const typed = (value) => {
    const next = parsedK(value);
    setText(next === undefined ? value : null);
    if (next !== undefined) change(next);
  };
  const step = (key, sign, word) => h("button", { type: "button", className: "pw-step", "aria-label": `Tried k ${word}`, onClick: () => change(keyedK(rows, key, k)) }, sign);
  const input = { type: "text", inputMode: "numeric", className: "pw-input", value: text === null ? kText(k) : text, "aria-label": "Tried k", "aria-invalid": text !== null, spellCheck: false };
  return h("span", { className: "pw-number" }, step("ArrowLeft", "−", "down"), h("input", { ...input, onChange: (event) => typed(event.target.value), onBlur: () => setText(null) }), step("ArrowRight", "+", "up"));
}

function Body({ run, view, disabled }) {
  const [k, change] = useTried(view);
  const { line, names, rows, bins, n, budget } = view;
  const top = topOf([line.used, line.estimate, line.safe, ...bins.map(([, end]) => end)]);
  const row = rowOf(rows, k);
  const option = (name) => h("option", { key: name, value: name }, name);
  const pick = (event) => go({ show: event.target.value }, true);
  return h(
    "div",
    { className: "pw-k-whatif", "data-constraint": line.name, "data-k": kText(k), "data-share": row.share === null ? "" : row.share },
    h("div", { className: "pw-k-asks", onKeyDown: (event) => event.stopPropagation() }, h("label", null, "Constraint ", h("select", { className: "pw-input", value: line.name, onChange: pick }, names.map(option))), h("label", null, "k "), h(KNumber, { k, change, rows }), h("button", { type: "button", className: "pw-button", disabled: k === line.used, onClick: () => change(line.used) }, `Back to ${kText(line.used)}`)),
    h(Chart, { view, k, change, top }),
    h("p", { className: "pw-k-answer", role: "status" }, h("b", null, `k = ${kText(k)}: `), k === null ? "" : `${lossText(row, n)}; `, waitText(k, view), "."),
    h("p", { className: "pw-dim" }, "Bars: how many distances of each length, on a logarithmic scale; red and hatched those above the k that is tried."),
    budget && row.above > 0 && h(Budget, { row, budget, run, name: line.name, k, disabled })
  );
}

/** @param {{id: string, run: string, drawing: any, disabled: string}} props */
const KWhatIf = ({ id, run, drawing: view, disabled }) => h("div", { id }, view && h(Body, { key: `${run}|${view.line.name}`, run, view, disabled }));

Object.assign(components, { KWhatIf });
