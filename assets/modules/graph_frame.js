/* The frame a map is seen through: wheel and pinch zoom at the pointer, a drag moves it, f shows all of it.
   With the focus on the frame, + and - zoom and arrows move. React hooks. */
import { on } from "./core.js";
import { layoutPlan } from "./graph_layout.js";
import { MiniMap } from "./graph_minimap.js";
import { RISE } from "./graph_skips.js";
import { fitScale, inFrame, isWholeMap, mapShowing, MOST_SCREENS, openingLevel, pannedMap, wholeMap, zoomedMap } from "./graph_zoom.js";
import { h, useEffect, useMemo, useRef, useState } from "./react.js";

const LEAST_PX = 260; // of a frame while it is zoomed: all of a plan has no more than it takes
const STEP = 1.3; // of a press
const MOVE_PX = 80;
const DRAG_PX = 4; // less is a click
const PER_PX = { wheel: 0.0022, pinch: 0.012 };
const LINE_PX = 16;
const SCROLLED_MS = 400; // a wheel that scrolls the page goes on doing so over the map

/** The layouts of a plan by level, made when they are needed; of a chain null.
    @returns {((level: any) => any) | null} */
function useLayouts(plan, path, width, library) {
  return useMemo(() => {
    if (path || !library || !plan.nodes.length || !width) return null;
    const made = new Map();
    const more = plan.skips.length ? RISE : 0;
    return (level) => {
      if (!made.has(level)) {
        const layout = layoutPlan(plan, width, library, level);
        made.set(level, { ...layout, height: layout.height + more });
      }
      return made.get(level);
    };
  }, [plan.hash, path, width, library]);
}

/* The level and the frame a plan opens with, and all of it in there. */
function openingOf(layouts, plan, width) {
  const screen = window.innerHeight;
  const level = openingLevel(layouts, plan.nodes.length, width, screen);
  const layout = layouts(level);
  const scale = fitScale(layout, width, screen);
  const high = layout.height * scale;
  const frame = { w: width, h: Math.ceil(Math.min(MOST_SCREENS * screen, high)) };
  return { frame, zoomed: level === "tree" ? frame : { w: width, h: Math.max(LEAST_PX, frame.h) }, opening: wholeMap(layout, scale, frame) };
}

/** What is seen of a plan that is no chain, and what changes it; null for a chain.
    @returns {any} {layouts, layout, frame, opening, view, set} */
export function useMap(plan, path, width, library) {
  const layouts = useLayouts(plan, path, width, library);
  const opened = useMemo(() => layouts && openingOf(layouts, plan, width), [layouts]);
  const [chosen, choose] = useState({ of: "", view: null }); // null: all of it
  const of = `${plan.run} ${plan.part}`;
  if (!layouts || !opened) return null;
  const { opening } = opened;
  const own = chosen.of === of ? chosen.view : null;
  const frame = own ? opened.zoomed : opened.frame;
  const view = own ? inFrame(own, layouts(own.level), frame) : opening;
  const set = (change) => choose((last) => ({ of, view: change(last.of === of && last.view ? inFrame(last.view, layouts(last.view.level), frame) : opening) }));
  return { layouts, layout: layouts(view.level), frame, opening, view, set };
}

const zoomAt = (map, at, factor) => map.set((view) => zoomedMap(view, map.opening, map.layouts, map.frame, at, factor));
const move = (map, right, down) => isWholeMap(map.view, map.layout, map.frame) || map.set((view) => pannedMap(view, map.layouts(view.level), map.frame, right, down));
const middleOf = ({ frame }) => ({ x: frame.w / 2, y: frame.h / 2 });

/** Have a node in sight.
    @param {any} map
    @param {string} id */
export function bringIn(map, id) {
  if (!map || !map.layout.places[id] || isWholeMap(map.view, map.layout, map.frame)) return;
  map.set((view) => mapShowing(view, map.layouts(view.level), map.frame, map.layouts(view.level).places[id]));
}

/** The gestures of a frame.
    @param {{current: any}} map what there is now
    @returns {{current: Element | null}} for the frame */
function useGestures(map) {
  const ref = useRef(null);
  useEffect(() => {
    const frame = ref.current;
    const offs = [wheeling(frame, map), dragging(frame, map), on("fit", () => map.current.set(() => null))];
    return () => offs.forEach((off) => off());
  }, []);
  return ref;
}

const within = (frame, { clientX, clientY }) => {
  const { left, top } = frame.getBoundingClientRect();
  return { x: clientX - left, y: clientY - top };
};

function wheeling(frame, map) {
  let scrolled = -Infinity;
  const scroll = () => (scrolled = performance.now());
  const wheel = (event) => {
    const { view, opening } = map.current;
    const down = event.deltaY * (event.deltaMode === 1 ? LINE_PX : 1);
    const pinch = event.ctrlKey;
    const passes = down > 0 ? view === opening : performance.now() - scrolled < SCROLLED_MS;
    if (!down || (passes && !pinch)) return;
    event.preventDefault();
    zoomAt(map.current, within(frame, event), Math.exp(-down * (pinch ? PER_PX.pinch : PER_PX.wheel)));
  };
  window.addEventListener("scroll", scroll, { passive: true });
  frame.addEventListener("wheel", wheel, { passive: false });
  return () => {
    window.removeEventListener("scroll", scroll);
    frame.removeEventListener("wheel", wheel);
  };
}

/* How far two pointers are apart, and the middle between them. */
function spread(held) {
  const [a, b] = [...held.values()];
  return { far: Math.hypot(a.x - b.x, a.y - b.y) || 1, center: { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 } };
}

/* A pointer moves the map, two zoom it; what follows a drag is no click. */
function dragging(frame, map) {
  const held = new Map();
  let dragged = false;
  const down = (event) => {
    if (event.button) return;
    held.set(event.pointerId, within(frame, event));
    dragged = held.size > 1;
  };
  const moved = (event) => {
    const before = held.get(event.pointerId);
    if (!before) return;
    const at = within(frame, event);
    if (!dragged && Math.hypot(at.x - before.x, at.y - before.y) < DRAG_PX) return;
    if (!dragged) frame.setPointerCapture(event.pointerId);
    dragged = true;
    const far = held.size === 2 && spread(held).far;
    held.set(event.pointerId, at);
    if (far) zoomAt(map.current, spread(held).center, spread(held).far / far);
    else if (held.size === 1) move(map.current, at.x - before.x, at.y - before.y);
  };
  const up = (event) => held.delete(event.pointerId);
  const click = (event) => {
    if (dragged) event.stopPropagation();
    dragged = false;
  };
  const heard = { pointerdown: down, pointermove: moved, pointerup: up, pointercancel: up };
  for (const [name, listener] of Object.entries(heard)) frame.addEventListener(name, listener);
  frame.addEventListener("click", click, { capture: true });
  return () => {
    for (const [name, listener] of Object.entries(heard)) frame.removeEventListener(name, listener);
    frame.removeEventListener("click", click, { capture: true });
  };
}

const WAYS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const PRESSES = { "+": STEP, "=": STEP, "-": 1 / STEP };

/* Keys while the frame itself has the focus. */
function pressed(map, event) {
  if (event.target !== event.currentTarget) return;
  const way = WAYS[event.key];
  if (PRESSES[event.key]) zoomAt(map, middleOf(map), PRESSES[event.key]);
  else if (way) move(map, MOVE_PX * way[0], MOVE_PX * way[1]);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

const button = (key, words, sign, act, disabled) => h("button", { key, type: "button", className: "pw-button", "aria-label": words, title: words, onClick: act, disabled }, sign);

/** The frame with the drawing in it, what lies over it, and the buttons that zoom.
    @param {{map: any, drawn: any, tip: any, heatOf: (id: string) => number | null}} properties */
export function MapFrame({ map, drawn, tip, heatOf }) {
  const now = useRef(map);
  now.current = map;
  const ref = useGestures(now);
  const { view, opening, frame, layout } = map;
  const all = isWholeMap(view, layout, frame);
  const focused = (event) => {
    const card = event.target.closest("[data-id]");
    if (!card) return;
    bringIn(map, card.dataset.id);
    window.requestAnimationFrame(() => card.scrollIntoView({ block: "nearest" })); // where it was, the page went
  };
  const properties = { className: `pw-graph-frame${all ? "" : " pw-graph-moves"}`, ref, tabIndex: 0, role: "region", "aria-label": "Plan", style: { height: frame.h }, "data-level": view.level, "data-whole-plan": all ? "1" : "0" };
  const zoom = (factor) => () => zoomAt(map, middleOf(map), factor);
  const zooming = h(
    "div",
    { key: "zoom", className: "pw-graph-zoom", role: "group", "aria-label": "Zoom" },
    button("out", "Zoom out", "−", zoom(1 / STEP), view === opening),
    button("in", "Zoom in", "+", zoom(STEP)),
    button("fit", "All of it (f)", "⤢", () => map.set(() => null), view === opening)
  );
  const seen = h("div", { ...properties, onKeyDown: (event) => pressed(map, event), onFocus: focused }, drawn);
  return [zooming, h("div", { key: "stage", className: "pw-graph-stage" }, seen, !all && h(MiniMap, { map, heatOf }), tip)];
}
