/* What of a map is in sight: pure functions from a view and a gesture to the next view. No DOM.

   A view is a level of detail, its scale, and the point of the layout at the upper left of the frame.
   Each level has a range of scales; beyond its end the next level goes on, and the node that is
   nearest to the pointer stays below it. */
import { LEVELS } from "./graph_layers.js";

/** @typedef {import("./graph_layers.js").Level} Level */
/** @typedef {{level: Level, scale: number, x: number, y: number}} View */
/** @typedef {{w: number, h: number}} Frame */
/** @typedef {{x: number, y: number}} Point */
/** @typedef {(level: Level) => any} Layouts */

/** Scales of a level: below the first its words are too small to read. */
export const MAP_SCALES = { dot: [0.5, 1.8], chip: [0.76, 1.7], card: [0.75, 2], tree: [0.75, 2] };
/** Screens that a plan may take at most, its dots smaller where they would take more. */
export const MOST_SCREENS = 1.5;

/* Screens that the whole plan may take when it opens; a tree, which says most, less. */
const SCREENS = { tree: 0.75, chip: MOST_SCREENS };
const MOST_IN_TREE = 40;

/* Largest scales at which a level opens. */
const OPENS = { dot: 1.4, chip: 1, card: 1, tree: 1 };

/** The scale at which all of a layout is in sight.
    @param {any} layout
    @param {number} wide
    @param {number} screen height of the window */
export function fitScale({ drawn, height, level }, wide, screen) {
  const scale = Math.min(OPENS[level], wide / drawn);
  return level === "dot" ? Math.min(scale, (MOST_SCREENS * screen) / height) : scale;
}

/** How a plan opens: as a tree or with chips where it fits, else with dots.
    @param {Layouts} layouts
    @param {number} n nodes
    @param {number} wide
    @param {number} screen height of the window
    @returns {Level} */
export function openingLevel(layouts, n, wide, screen) {
  const fits = (level) => {
    if (level === "tree" && n > MOST_IN_TREE) return false;
    const scale = fitScale(layouts(level), wide, screen);
    return scale >= MAP_SCALES[level][0] && layouts(level).height * scale <= SCREENS[level] * screen;
  };
  return Object.keys(SCREENS).find(fits) || "dot";
}

/** All of a layout at its scale, in the middle of the frame.
    @param {any} layout
    @param {number} scale
    @param {Frame} frame
    @returns {View} */
export function wholeMap(layout, scale, { w, h }) {
  const { level } = layout;
  return { level, scale, x: (layout.width - w / scale) / 2, y: Math.min(0, layout.height - h / scale) / 2 };
}

/** The view with its layout in the frame: no side of it is further in than the middle.
    @param {View} view
    @param {any} layout
    @param {Frame} frame
    @returns {View} */
export function inFrame(view, layout, frame) {
  const within = (at, size, seen) => Math.min(Math.max(at, Math.min(0, size - seen) - seen / 2), Math.max(0, size - seen) + seen / 2);
  const left = (layout.width - layout.drawn) / 2;
  return {
    ...view,
    x: left + within(view.x - left, layout.drawn, frame.w / view.scale),
    y: within(view.y, layout.height, frame.h / view.scale),
  };
}

/** Zoomed at a point of the frame; the opening view is the furthest.
    @param {View} view
    @param {View} opening
    @param {Layouts} layouts
    @param {Frame} frame
    @param {Point} at
    @param {number} factor
    @returns {View | null} null: the opening view */
export function zoomedMap(view, opening, layouts, frame, at, factor) {
  const scale = view.scale * factor;
  const [low, high] = MAP_SCALES[view.level];
  const place = LEVELS.indexOf(view.level);
  const first = LEVELS.indexOf(opening.level);
  const nearer = place < 0 ? undefined : LEVELS[place + 1]; // a tree has none
  if (factor > 1 && scale > high && nearer) return stepped(view, nearer, 0, layouts, frame, at);
  if (factor < 1 && place > first && scale < low) return stepped(view, LEVELS[place - 1], 1, layouts, frame, at);
  if (place === first && scale <= opening.scale) return null;
  const next = Math.min(scale, high);
  const moved = { ...view, scale: next, x: view.x + at.x / view.scale - at.x / next, y: view.y + at.y / view.scale - at.y / next };
  return inFrame(moved, layouts(view.level), frame);
}

/* At the next level, at that end of its range; the node nearest to the point stays where it is. */
function stepped(view, level, end, layouts, frame, at) {
  const [before, after] = [layouts(view.level), layouts(level)];
  const id = nearest(before.places, { x: view.x + at.x / view.scale, y: view.y + at.y / view.scale });
  const [old, now] = [middle(before.places[id]), middle(after.places[id])];
  const scale = MAP_SCALES[level][end];
  const seen = { x: (old.x - view.x) * view.scale, y: (old.y - view.y) * view.scale };
  return inFrame({ level, scale, x: now.x - seen.x / scale, y: now.y - seen.y / scale }, after, frame);
}

const middle = ({ x, y, w, h }) => ({ x: x + w / 2, y: y + h / 2 });

function nearest(places, point) {
  const far = (id) => Math.hypot(middle(places[id]).x - point.x, middle(places[id]).y - point.y);
  return Object.keys(places).reduce((best, id) => (far(id) < far(best) ? id : best));
}

/** Moved by so many pixels of the frame.
    @param {View} view
    @param {any} layout
    @param {Frame} frame
    @param {number} right
    @param {number} down */
export const pannedMap = (view, layout, frame, right, down) => inFrame({ ...view, x: view.x - right / view.scale, y: view.y - down / view.scale }, layout, frame);

/** With a point of the layout in the middle of the frame.
    @param {View} view
    @param {any} layout
    @param {Frame} frame
    @param {Point} point */
export const centredMap = (view, layout, frame, { x, y }) => inFrame({ ...view, x: x - frame.w / view.scale / 2, y: y - frame.h / view.scale / 2 }, layout, frame);

/** With a place in sight: as it is where it is seen, else with the place in its middle.
    @param {View} view
    @param {any} layout
    @param {Frame} frame
    @param {import("./graph_layout.js").Rect} place */
export function mapShowing(view, layout, frame, place) {
  const [w, h] = [frame.w / view.scale, frame.h / view.scale];
  const seen = place.x >= view.x && place.y >= view.y && place.x + place.w <= view.x + w && place.y + place.h <= view.y + h;
  return seen ? view : centredMap(view, layout, frame, middle(place));
}

/** Whether all of a layout is in sight. */
export const isWholeMap = (view, layout, frame) => layout.drawn * view.scale <= frame.w + 1 && layout.height * view.scale <= frame.h + 1;
