/* The headline of the Plan page: a figure whose digits roll, and the curve of what was gained. */
import { show } from "./format.js";
import { go } from "./moment.js";
import { areaPoints, linePoints, nearest, scale } from "./paths.js";
import { h, useState, useWidth } from "./react.js";

const DIGITS = [..."0123456789"];
const HEIGHT = 104;
const EDGE = { left: 0, right: 4, top: 14, bottom: 4 };

const reel = (digit, place) =>
  h("span", { key: place, className: "pw-reel" }, h("span", { className: "pw-reel-digits", style: { transform: `translateY(${-DIGITS.indexOf(digit)}em)` } }, DIGITS.map((one) => h("i", { key: one }, one))));

/** @param {{text: string}} props */
export function Rolling({ text }) {
  const signs = [...text].map((sign, place, all) => (DIGITS.includes(sign) ? reel(sign, place - all.length) : h("span", { key: place - all.length }, sign)));
  return h("span", { className: "pw-rolling" }, h("span", { className: "pw-sr" }, text), h("span", { "aria-hidden": "true" }, signs));
}

function scales(points, width) {
  const known = points.flatMap(([, value, low, high]) => [value, low ?? value, high ?? value]);
  const [first, last] = [points[0][0], points[points.length - 1][0]];
  const x = scale([first, last], [EDGE.left, width - EDGE.right]);
  const y = scale([Math.min(0, ...known), Math.max(0, ...known) || 1], [HEIGHT - EDGE.bottom, EDGE.top]);
  return { x, y, batch: scale([EDGE.left, width - EDGE.right], [first, last]) };
}

/* The 95 % band as one polygon: along its upper edge, and back along the lower. */
function bandPoints(points, x, y) {
  const banded = points.filter((point) => point[2] !== null);
  const edge = (place) => banded.map((point) => [point[0], point[place]]);
  return banded.length < 2 ? "" : `${linePoints(edge(3), x, y)} ${linePoints(edge(2).reverse(), x, y)}`;
}

const words = ([batch, value, low, high], form) =>
  [`batch ${show(batch, "int")}: ${show(value, form)}`, low === null ? "" : `95 %: ${show(low, form)} … ${show(high, form)}`].filter(Boolean);

/* Read by the pointer or the arrow keys; Enter goes to the batch that is read. */
function readers(points, s, focus, setFocus) {
  const onKeyDown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const at = points.indexOf(focus ? nearest(points, focus[0]) : points[points.length - 1]); // they may be new ones
    if (step) setFocus(points[Math.min(points.length - 1, Math.max(0, at + step))]);
    else if (event.key === "Enter" && focus) go({ at: focus[0] });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return {
    onMouseMove: (event) => setFocus(nearest(points, s.batch(event.clientX - event.currentTarget.getBoundingClientRect().left))),
    onMouseLeave: () => setFocus(null),
    onFocus: () => setFocus(points[points.length - 1]),
    onBlur: () => setFocus(null),
    onKeyDown,
  };
}

function tip(focus, form, x, width) {
  const [head, ...rest] = words(focus, form);
  const left = Math.min(Math.max(0, x - 80), Math.max(0, width - 190));
  return h("div", { className: "pw-tip pw-gain-tip", style: { left }, "aria-hidden": "true" }, h("b", null, head), rest.map((line) => h("div", { key: line }, line)));
}

/** @param {{points: [number, number, number | null, number | null][], what: string, form: string, tone: string}} props */
export function GainCurve({ points, what, form, tone }) {
  const [ref, width] = useWidth();
  const [focus, setFocus] = useState(null);
  const s = width > 0 && scales(points, width);
  const last = points[points.length - 1];
  const label = `${what} over the run; ${words(focus || last, form).join(", ")}`;
  const drawn = s && [
    h("polygon", { key: "area", className: "pw-gain-area", points: areaPoints(points, s.x, s.y, s.y(0)) }),
    h("polygon", { key: "band", className: "pw-gain-band", points: bandPoints(points, s.x, s.y) }),
    h("line", { key: "zero", className: "pw-axis", x1: 0, x2: width, y1: s.y(0), y2: s.y(0) }),
    h("polyline", { key: "line", className: "pw-gain-line", points: linePoints(points, s.x, s.y) }),
    h("circle", { key: "now", className: "pw-gain-dot", cx: s.x((focus || last)[0]), cy: s.y((focus || last)[1]), r: 4 }),
  ];
  return h(
    "div",
    { className: "pw-gain-curve", ref, "data-tone": tone },
    h("span", { className: "pw-gain-what" }, `${what} `, h("b", null, show((focus || last)[1], form))),
    s && h("svg", { width, height: HEIGHT, role: "img", tabIndex: 0, "aria-label": label, ...readers(points, s, focus, setFocus) }, drawn),
    focus && s && tip(focus, form, s.x(focus[0]), width)
  );
}
