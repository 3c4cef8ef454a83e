/* HistoryChart: one property over batches, small and live; a Dash component.

   Props: title, unit, form, entity, property, points [[batch, value]…], at (batch of the moment),
   height. Hover or focus + arrows reads values; a click holds a reading and offers to go there, Enter
   goes: the moment moves by no accident. */
import { on } from "./core.js";
import { show } from "./format.js";
import { currentMode, go, moment } from "./moment.js";
import { areaPoints, linePoints, nearest, scale } from "./paths.js";
import { valueOf } from "./points.js";
import { robustTop } from "./times.js";
import { viewRange } from "./view_range.js";
import { h, useEffect, useState, useWidth } from "./react.js";

const LIMIT = 240;
const EDGE = { left: 2, right: 58, top: 8, bottom: 16 };

/* The points of the server, continued by the deltas while LIVE. */
function useSeries(props) {
  const { entity, property, points } = props;
  const [grown, setGrown] = useState([]);
  useEffect(() => {
    setGrown([]);
    return on("points", (recent) =>
      setGrown(recent.map(({ b, v }) => [b, valueOf(v, entity, property)]).filter((point) => typeof point[1] === "number"))
    );
  }, [entity, property]);
  const known = points.filter((point) => point[1] !== null);
  if (currentMode() !== "live") return known;
  const newest = known.length ? known[known.length - 1][0] : -1;
  return [...known, ...grown.filter((point) => point[0] > newest)].slice(-LIMIT);
}

function scales(points, width, height) {
  const known = points.filter((point) => point[1] !== null);
  const numbers = known.map((point) => point[1]);
  const low = Math.min(0, ...numbers); // from zero: noise looks as small as it is
  const most = Math.max(...numbers);
  const { top: high, cut } = robustTop(numbers);
  const peak = known.find((point) => point[1] > high);
  const [first, last] = [points[0][0], Math.max(points[0][0] + 1, points[points.length - 1][0])];
  const base = height - EDGE.bottom;
  const x = scale([first, last], [EDGE.left, width - EDGE.right]);
  const y = high === low ? () => base : (value) => scale([low, high], [base, EDGE.top])(Math.min(high, value));
  const batch = scale([EDGE.left, width - EDGE.right], [first, last]);
  return { known, low, least: Math.min(...numbers), high, most, cut, peak, first, last, x, y, batch, base };
}

/* How many points the scale cuts off: in the half where the first of them is not. */
function cutNote({ cut, peak, most, x }, width, form) {
  const right = width - EDGE.right;
  const place = x(peak[0]) > right / 2 ? { x: EDGE.left + 2 } : { x: right - 12, textAnchor: "end" };
  return h("text", { key: "above", className: "pw-tick pw-tick-above", y: EDGE.top + 8, ...place }, `${cut} above, up to ${show(most, form)}`);
}

function plot(s, width, height, at, focus, form) {
  const { base } = s;
  const cursor = at !== null && at !== undefined && at >= s.first && at <= s.last ? s.x(at) : null;
  return [
    h("line", { key: "base", className: "pw-axis", x1: EDGE.left, x2: width - EDGE.right, y1: base, y2: base }),
    h("polygon", { key: "area", className: "pw-area", points: areaPoints(s.known, s.x, s.y, base) }),
    h("polyline", { key: "line", className: "pw-line", points: linePoints(s.known, s.x, s.y) }),
    h("text", { key: "first", className: "pw-tick", x: EDGE.left, y: height - 3 }, `batch ${show(s.first, "int")}`),
    h("text", { key: "last", className: "pw-tick", x: width - EDGE.right, y: height - 3, textAnchor: "end" }, show(s.last, "int")),
    s.high !== s.low && h("text", { key: "high", className: "pw-tick", x: width - EDGE.right + 6, y: EDGE.top + 8 }, show(s.high, form)),
    h("text", { key: "low", className: "pw-tick", x: width - EDGE.right + 6, y: base }, show(s.low, form)),
    s.cut > 0 && cutNote(s, width, form),
    cursor !== null && h("line", { key: "at", className: "pw-cursor-line", x1: cursor, x2: cursor, y1: EDGE.top, y2: base }),
    focus && h("circle", { key: "focus", className: "pw-dot", cx: s.x(focus[0]), cy: s.y(focus[1]), r: 3.5 }),
  ];
}

function heading({ title, unit }, number, reading, focus, held) {
  const jump = held && h("button", { type: "button", className: "pw-go", onClick: () => go({ at: held[0] }) }, `go to batch ${show(held[0], "int")}`);
  return h(
    "div",
    { className: "pw-history-head" },
    h("span", { className: "pw-history-title" }, jump || title),
    h("span", { className: "pw-history-value", "data-as-of": reading && !focus ? reading[0] : undefined }, h("b", null, number), unit ? " " + unit : "", focus ? h("small", null, ` batch ${show(focus[0], "int")}`) : "")
  );
}

const describe = ({ title, unit, form }, number, s) =>
  `${title}: ${number} ${unit}; batches ${s.first} to ${s.last}, lowest ${show(s.least, form)}, highest ${show(s.most, form)}`;

/* Reading by pointer or arrows; a click holds the reading, or lets it go. */
function readingHandlers(points, s, { focus, setFocus, held, setHeld }) {
  const locate = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    return nearest(points, s.batch(event.clientX - box.left));
  };
  const step = (by) => {
    const index = points.indexOf(focus || points[points.length - 1]);
    setFocus(points[Math.min(points.length - 1, Math.max(0, index + by))]);
  };
  const onKeyDown = (event) => {
    const keys = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key in keys) step(keys[event.key]);
    else if (event.key === "Enter" && focus) go({ at: focus[0] });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return {
    onMouseMove: (event) => setFocus(locate(event)),
    onMouseLeave: () => setFocus(null),
    onBlur: () => setFocus(null),
    onClick: (event) => setHeld(held ? null : locate(event)),
    onKeyDown,
  };
}

export function HistoryChart(props) {
  const { form, height = 96 } = props;
  const [ref, width] = useWidth();
  const [focus, setFocus] = useState(null);
  const [held, setHeld] = useState(null);
  const [, again] = useState(0);
  const moved = () => {
    setHeld(null);
    again((count) => count + 1);
  };
  useEffect(() => on("moment", moved), []);
  useEffect(() => on("shell", () => again((count) => count + 1)), []); // it may come after the page
  const { first, last } = viewRange();
  const points = useSeries(props).filter(([batch]) => moment.span === null || (batch >= first && batch <= last));
  const reading = held || focus || (points.length ? points[points.length - 1] : null);
  const number = reading ? show(reading[1], form) : "—";
  const shell = (...body) =>
    h(
      "div",
      { id: props.id, className: "pw-history", ref, "data-live-history": `${props.entity}|${props.property}`, "data-points": points.length },
      heading(props, number, reading, held || focus, held),
      body
    );
  if (points.length < 2 || width === 0) return shell(h("p", { key: "none", className: "pw-history-none" }, "Not enough batches yet."));

  const s = scales(points, width, height);
  const handlers = readingHandlers(points, s, { focus, setFocus, held, setHeld });
  return shell(
    h(
      "svg",
      { key: "plot", width, height, role: "img", tabIndex: 0, "aria-label": describe(props, number, s), ...handlers },
      plot(s, width, height, props.at, held || focus, form)
    )
  );
}
