/* EddyHub: an eddy with its states around it and the routes in force as ribbons; a Dash component.

   Every state is an arc with a place for each origin, so that ribbons never lie on each other there: a
   ribbon comes from the origin's own arc, touches that of each state it goes past, and ends in the
   eddy with what comes out. A route that is switched glides: its paths keep their form, and CSS takes
   their `d` from the old one to the new one.

   Props: drawing (eddies, see hub_view.py). */
import { components } from "./dash.js";
import { fit, SIZES, textWidth } from "./fitting.js";
import { show } from "./format.js";
import { h, useState, useWidth } from "./react.js";

const WIDEST = 22; // of a ribbon, px
const DISC = 46; // radius of the eddy, where there is room
const PULL = 0.3; // of ribbons to the middle
const PILL = 15;
const MOST_LABELLED = 4; // states up to which all steps tell their fan-out at once, where there is room
const ROOMY = 130; // radius, px

const isKnown = (value) => value !== null && value !== undefined;
const times = (value) => (value >= 9.995 ? show(value, "si") : value >= 0.095 || value < 1e-6 ? show(value, "f2") : String(Number(value.toPrecision(2))));
const place = (angle, radius) => [radius * Math.cos(angle), radius * Math.sin(angle)];
const cell = (origin, hub) => `pw-cell-${hub.states.indexOf(origin.name) % 6}`;

/* Where the place of an origin is on the arc of a state: its own in the middle, others on their side. */
function slotAngle(state, origin, n, arc) {
  const away = (origin - state + n) % n;
  const half = Math.floor(n / 2);
  const slot = away === 0 ? n - 1 - half : away > half ? n - 1 - away : n - away;
  return angleOf(state, n) + ((slot + 0.5) / n - 0.5) * arc;
}

const angleOf = (state, n) => (2 * Math.PI * state) / n - Math.PI / 2;

/* A ribbon from one place of the ring to another; to the eddy where there is none. */
function curve(from, to, radius) {
  const ends = to === null ? [place(from, 0.2 * radius), place(from, 0.1 * radius)] : [place(to, PULL * radius), place(to, radius)];
  const points = [place(from, radius), place(from, PULL * radius), ...ends];
  return `M${points[0].map(round)} C${points.slice(1).map((point) => point.map(round)).join(" ")}`;
}

const round = (value) => Number(value.toFixed(1));

/* The ribbons of an origin: its steps, and what comes out. */
function ribbonsOf(hub, origin, ring) {
  const { n, arc, radius } = ring;
  const own = hub.states.indexOf(origin.name);
  const at = (name) => slotAngle(hub.states.indexOf(name), own, n, arc);
  const stops = [origin.name, ...origin.steps.map((step) => step.state)].map(at);
  const flows = [...origin.steps.map((step) => step.requests), origin.results];
  return flows.map((flow, step) => ({ flow, end: step + 1 < stops.length ? stops[step + 1] : null, d: curve(stops[step], step + 1 < stops.length ? stops[step + 1] : null, radius) }));
}

function Ribbons({ hub, origin, ring, most }) {
  const width = (flow) => (isKnown(flow) && most ? Math.max(1.5, (WIDEST * flow) / most) : 3);
  const path = ({ flow, d }, step) => h("path", { key: step, className: "pw-hub-ribbon", "data-step": step + 1, d, style: { d: `path("${d}")`, strokeWidth: width(flow) } });
  return h("g", { className: cell(origin, hub) }, ribbonsOf(hub, origin, ring).map(path));
}

function Pills({ hub, origin, ring }) {
  const ribbons = ribbonsOf(hub, origin, ring);
  return h("g", { className: cell(origin, hub) }, origin.steps.map((step, at) => isKnown(step.fan_out) && pill(step, at, ribbons[at].end, ring)));
}

/* Which step it is, and what comes out of the state for each that goes in; inside of its arc. */
function pill({ fan_out: fanOut, state }, at, angle, { radius }) {
  const text = `×${times(fanOut)}`;
  const w = textWidth(`${at + 1} ${text}`) + 6;
  const [x, y] = place(angle, radius - 18);
  return h(
    "g",
    { key: `pill-${at}`, className: "pw-hub-pill", style: { transform: `translate(${round(x)}px,${round(y)}px)` } },
    h("title", null, `step ${at + 1}: ${times(fanOut)} come out of ${state} for each that goes in`),
    h("rect", { x: -w / 2, y: -PILL / 2, width: w, height: PILL, rx: PILL / 2 }),
    h("text", { textAnchor: "middle", y: 4 }, h("tspan", { className: "pw-hub-step" }, `${at + 1} `), text)
  );
}

/* What is explored: a dashed way into the eddy; of the origin in focus its other routes in full. */
function Explored({ hub, origin, ring, whole }) {
  if (!origin.explored) return null;
  const { n, arc, radius } = ring;
  const own = hub.states.indexOf(origin.name);
  const angle = slotAngle(own, own, n, arc) + arc / n / 2;
  const routes = whole ? origin.others.map(({ states }) => ribbonsOf(hub, { ...origin, steps: states.map((state) => ({ state })) }, ring).slice(0, -1)) : [[{ d: curve(angle, null, radius) }]];
  const [x, y] = place(angle, radius * 0.62);
  return h(
    "g",
    { className: `pw-hub-explored ${cell(origin, hub)}` },
    routes.flatMap((ribbons, route) => ribbons.map(({ d }, step) => h("path", { key: `${whole}${route}.${step}`, d }))),
    !whole && radius >= ROOMY && h("text", { x: round(x), y: round(y) + 4, textAnchor: "middle" }, show(origin.explored, "pct"))
  );
}

/* A state with its name and what comes from it. */
function State({ hub, name, ring }) {
  const { n, arc, radius, room } = ring;
  const state = hub.states.indexOf(name);
  const angle = angleOf(state, n);
  const [from, to] = [angle - arc / 2, angle + arc / 2].map((end) => place(end, radius + 5).map(round));
  const [x, y] = place(angle, radius + 18);
  const side = Math.abs(x) < 20 ? "middle" : x < 0 ? "end" : "start";
  const origin = hub.origins.find((origin) => origin.name === name);
  const width = side === "middle" ? 2 * radius : room;
  const number = origin && isKnown(origin.elements) ? show(origin.elements, "int") : "";
  const traffic = number && `${number} elements`;
  const down = y < -20 ? -14 : y > 20 ? 10 : -2;
  return h(
    "g",
    { className: `pw-hub-state pw-cell-${state % 6}` },
    h("title", null, `${name}${traffic && `: ${traffic} of it in the batch`}`),
    h("path", { d: `M${from} A${radius + 5} ${radius + 5} 0 0 1 ${to}` }),
    h("text", { className: "pw-hub-name", x, y: y + down, textAnchor: side }, fit(name, width, SIZES.body)),
    h("text", { x, y: y + down + 14, textAnchor: side }, textWidth(traffic) > width ? number : traffic)
  );
}

/* In words, for screen readers. */
const routeWords = (origin) => [origin.name, ...origin.steps.map((step) => step.state)].join(" → ");

function Hub({ hub, width, titled }) {
  const [pinned, setPinned] = useState("");
  const [pointed, setPointed] = useState("");
  const focus = pointed || pinned;
  const drawn = Math.max(280, Math.min(620, width));
  const n = hub.states.length;
  const radius = Math.max(86, Math.min(164, drawn / 2 - 118));
  const ring = { n, radius, room: drawn / 2 - radius - 22, arc: Math.min(1.9, (2 * Math.PI * 0.84) / n) };
  const flows = hub.origins.flatMap((origin) => [...origin.steps.map((step) => step.requests), origin.results]).filter(isKnown);
  const most = Math.max(0, ...flows);
  const high = 2 * radius + 92;
  const shade = (origin) => ({ key: origin.name, "data-origin": origin.name, className: !focus || focus === origin.name ? "pw-hub-origin" : "pw-hub-origin pw-hub-faded", onMouseEnter: () => setPointed(origin.name), onMouseLeave: () => setPointed("") });
  const ribbon = (origin) => h("g", shade(origin), h(Explored, { hub, origin, ring, whole: focus === origin.name }), h(Ribbons, { hub, origin, ring, most }));
  const label = (origin) => h(Pills, { key: origin.name, hub, origin, ring });
  const results = hub.origins.map((origin) => origin.results).filter(isKnown);
  const row = (origin) => h(Origin, { key: origin.name, origin, hub, pinned: pinned === origin.name, onPoint: setPointed, onPin: () => setPinned(pinned === origin.name ? "" : origin.name) });
  return h(
    "section",
    { className: "pw-hub", "aria-label": `Eddy ${hub.title}` },
    titled && h("h3", null, hub.title),
    h(
      "svg",
      { width: drawn, height: high, viewBox: `${-drawn / 2} ${-high / 2} ${drawn} ${high}`, role: "img", "aria-label": `Routes in force: ${hub.origins.map(routeWords).join("; ")}` },
      hub.origins.map(ribbon),
      h("circle", { className: "pw-hub-disc", r: Math.min(DISC, 0.42 * radius) }),
      h("text", { className: "pw-hub-name", textAnchor: "middle", y: results.length ? -4 : 5 }, "eddy"),
      results.length > 0 && h("text", { textAnchor: "middle", y: 12 }, `${show(results.reduce((sum, n) => sum + n, 0), "si")} out`),
      hub.states.map((name) => h(State, { key: name, hub, name, ring })),
      hub.origins.filter((origin) => focus === origin.name || (!focus && n <= MOST_LABELLED && radius >= ROOMY)).map(label)
    ),
    h("ul", { className: "pw-hub-routes", "aria-label": "Routes in force" }, hub.origins.map(row))
  );
}

/* A route in force with its numbers; pressed, its ribbon alone stands out. */
function Origin({ origin, hub, pinned, onPoint, onPin }) {
  const { elements, price, ratio, explored, others } = origin;
  const facts = [
    isKnown(elements) && `${show(elements, "int")} elements`,
    isKnown(price) && `price ${show(price, "f2")} an element`,
    isKnown(ratio) && (ratio > 1.0005 ? `${show(ratio, "f2")} × the cheapest` : "the cheapest"),
    isKnown(explored) && (explored ? `${show(explored, "pct")} explore` : "none explore"),
  ].filter(Boolean);
  const other = ({ states, share }) => h("li", { key: states.join() }, h("i", { "aria-hidden": true }), `${states.join(" → ")} `, h("b", null, show(share, "pct")));
  return h(
    "li",
    { "data-origin": origin.name },
    h(
      "button",
      { type: "button", className: "pw-hub-route", "aria-pressed": pinned, onClick: onPin, onMouseEnter: () => onPoint(origin.name), onMouseLeave: () => onPoint(""), onFocus: () => onPoint(origin.name), onBlur: () => onPoint("") },
      h("i", { className: `pw-hub-swatch ${cell(origin, hub)}`, "aria-hidden": true }),
      h("b", null, routeWords(origin)),
      h("span", null, facts.join(" · ").replaceAll("\u2009", "\u202f"))
    ),
    pinned && others.length > 0 && h("ul", { className: "pw-hub-others" }, others.map(other))
  );
}

/** @param {{id: string, drawing: any[] | null}} props */
function EddyHub({ id, drawing: eddies }) {
  const [ref, width] = useWidth();
  return h("div", { id, ref, className: "pw-hubs" }, width > 0 && (eddies || []).map((hub) => h(Hub, { key: hub.title, hub, width, titled: eddies.length > 1 })));
}

Object.assign(components, { EddyHub });
