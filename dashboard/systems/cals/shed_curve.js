/* ShedCurve: accuracy over memory of each window, with its limit as a line to drag; a Dash component.

   Props: run, drawing {windows, knob} (see curve.py), disabled (why the knob cannot be turned, or ''). Moving
   the line changes nothing; applying is a turn of the knob like any other. */
import { components } from "./dash.js";
import { keyedLimit, limitAt, pointAt, wholeOf } from "./curve_points.js";
import { byKeys, byPointer } from "./dragged.js";
import { show } from "./format.js";
import { answerChip, useTurns } from "./knob_card.js";
import { send } from "./knob_turns.js";
import { h, useRef, useState } from "./react.js";

const int = (value) => show(value, "int");
const share = (value) => show(value, "f2");
const percent = (value) => `${(100 * value).toFixed(2)}%`;
const limitText = (limit) => (limit ? `${int(limit)} tuples` : "no limit");
const tuplesText = (n) => `${int(n)} ${Math.round(n) === 1 ? "tuple" : "tuples"}`;

/* Lines of the figure: 100 wide, 100 high, drawn over the whole box. */
function line(points, name, whole) {
  const at = points.filter((one) => one[name] !== null).map((one) => `${((100 * one.limit) / whole).toFixed(2)},${(100 - 100 * one[name]).toFixed(2)}`);
  return at.join(" ");
}

function Figure({ window: own, limit, change }) {
  const box = useRef(null);
  const { points, accuracy, resident } = own;
  const whole = wholeOf(points);
  const tried = pointAt(points, limit);
  const place = limit ? Math.min(1, limit / whole) : 1;
  const edge = {
    className: "pw-curve-edge",
    role: "slider",
    tabIndex: 0,
    "aria-label": `Limit of ${own.title}`,
    "aria-valuemin": 1,
    "aria-valuemax": whole,
    "aria-valuenow": limit || whole,
    "aria-valuetext": `${limitText(limit)}: accuracy ${share(tried.accuracy)}`,
    style: { left: percent(place) },
    ...byKeys((key) => keyedLimit(points, key, limit) ?? undefined, change),
  };
  const now = accuracy !== null && h("i", { className: "pw-curve-now", style: { left: percent(Math.min(1, resident / whole)), bottom: percent(accuracy) }, title: `now: ${tuplesText(resident)} kept, accuracy ${share(accuracy)}` });
  const held = h("i", { className: "pw-curve-tried", style: { left: percent(place), bottom: percent(tried.accuracy) } });
  const label = h("span", { className: "pw-curve-edge-words", style: { transform: `translateX(${place > 0.8 ? "-100%" : place < 0.2 ? "0" : "-50%"})` } }, limitText(limit));
  return h(
    "div",
    { className: "pw-curve" },
    h("div", { className: "pw-curve-scale", "aria-hidden": true }, [1, 0.75, 0.5, 0.25, 0].map((mark) => h("span", { key: mark, style: { bottom: percent(mark) } }, show(mark, "f2")))),
    h(
      "div",
      { className: "pw-curve-box", ref: box, ...byPointer(box, (at) => change(limitAt(points, at))) },
      lines(points, whole),
      now,
      held,
      h("div", edge, label)
    ),
    h("div", { className: "pw-curve-axis", "aria-hidden": true }, [0, 0.25, 0.5, 0.75, 1].map((mark) => h("span", { key: mark }, int(mark * whole))))
  );
}

function lines(points, whole) {
  const settled = line(points, "accuracy", whole);
  const drawn = (className, at) => h("polyline", { className, points: at, vectorEffect: "non-scaling-stroke" });
  return h("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" }, h("polygon", { className: "pw-curve-area", points: `0,100 ${settled} 100,100` }), [25, 50, 75].map((y) => h("line", { key: y, className: "pw-curve-grid", x1: 0, x2: 100, y1: y, y2: y, vectorEffect: "non-scaling-stroke" })), drawn("pw-curve-settled", settled), drawn("pw-curve-at-once", line(points, "at_once", whole)));
}

const LEGEND = [
  ["settled", "accuracy in the long run"],
  ["at-once", "at once, of what is in memory"],
  ["now", "now"],
];

const legend = () => h("ul", { className: "pw-shed-keys" }, LEGEND.map(([name, words]) => h("li", { key: name }, h("i", { className: `pw-curve-key-${name}` }), words)));

/** What a limit would do, in words. */
function answer({ points, resident, accuracy }, limit) {
  const tried = pointAt(points, limit);
  const then = `${share(tried.accuracy)} in the long run`;
  const now = accuracy === null ? "" : `; it is ${share(accuracy)} now`;
  const gone = limit ? resident - limit : 0;
  if (gone < 1) return `nothing goes, and nothing that was shed comes back; accuracy about ${then}${now}.`;
  const values = tried.going.slice(0, 3).map(([value, n]) => `${value} (${int(n)})`);
  const of = values.length ? `, most of them of ${values.join(", ")}` : "";
  const at = tried.at_once === null ? "" : `${share(tried.at_once)} at once, `;
  return `${tuplesText(gone)} of ${int(resident)} in a shard would go at once${of}; accuracy about ${at}${then}${now}.`;
}

function Take({ run, knob: served, own, draft, limit, change, disabled }) {
  const { request, queue, row: knob, wanted } = useTurns(run, served, null);
  const same = draft === null || limit === Number(wanted);
  const apply = () => send(run, knob, limit, `accuracy over memory of ${own.title}`, knob.version);
  const pooled = own.pooled && h("span", { className: "pw-dim" }, `memory that is shared allows ${limitText(own.limit)}`);
  return h(
    "p",
    { className: "pw-curve-take" },
    h("button", { type: "button", className: "pw-button pw-primary", disabled: Boolean(disabled) || same, title: disabled || null, onClick: apply }, limit ? `Keep at most ${limitText(limit)}` : "Keep all tuples"),
    h("button", { type: "button", className: "pw-button", disabled: same, onClick: () => change(null) }, `Back to ${limitText(Number(wanted))}`),
    request && answerChip(request, queue),
    pooled,
    disabled && h("span", { className: "pw-knob-note" }, disabled)
  );
}

function Curve({ run, own, knob, disabled }) {
  const [draft, change] = useState(null);
  const limit = draft === null ? own.limit : draft;
  return h(
    "section",
    { "data-window": own.id, "data-limit": limit, "aria-label": `Accuracy over memory of ${own.title}` },
    h("h3", null, own.title, h("span", { className: "pw-dim" }, ` ${own.name}, as of batch ${own.batch}, of ${tuplesText(own.looked)} looked at`)),
    h(Figure, { window: own, limit, change }),
    legend(),
    h("p", { className: "pw-curve-answer", role: "status" }, h("b", null, `M = ${limitText(limit)}: `), answer(own, limit)),
    knob && h(Take, { run, knob, own, draft, limit, change, disabled })
  );
}

/** @param {{id: string, run: string, drawing: any, disabled: string}} props */
const ShedCurve = ({ id, run, drawing, disabled }) => h("div", { id, className: "pw-shed-curves" }, drawing && drawing.windows.map((own) => h(Curve, { key: `${run}|${own.id}`, run, own, knob: drawing.knob, disabled })));

Object.assign(components, { ShedCurve });
