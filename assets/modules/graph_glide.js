/* What a new plan looks like: every card travels from its old to its new place, and the old places
   stay in sight for a while. React hooks, and the ghosts. */
import { still } from "./core.js";
import { movedSince } from "./graph_layout.js";
import { h, useEffect, useLayoutEffect, useRef, useState } from "./react.js";

const GLIDE_MS = 600;
const STEP_MS = 30; // each step draws the whole graph: every other frame is enough
const ease = (t) => (t < 0.5 ? 4 * t * t * t : 1 - Math.pow(-2 * t + 2, 3) / 2);

function between(from, to, t) {
  const places = {};
  for (const [id, end] of Object.entries(to)) {
    const start = from[id];
    if (!start) {
      places[id] = { ...end, opacity: t };
      continue;
    }
    const mix = (key) => start[key] + (end[key] - start[key]) * t;
    places[id] = { x: mix("x"), y: mix("y"), w: mix("w"), h: mix("h"), opacity: 1 };
  }
  return places;
}

/** Places to draw now, and whether cards are on their way. ``key`` names the plan: only its
    change glides; a new width or a user who asked for less motion jumps. */
export function useGlide(target, key) {
  const [frame, setFrame] = useState(null);
  const shown = useRef({ key, places: target });

  useLayoutEffect(() => {
    const from = shown.current.places;
    const moves = shown.current.key !== key && Object.keys(from).length > 0 && !still();
    shown.current.key = key;
    if (!moves) {
      shown.current.places = target;
      setFrame(null);
      return undefined;
    }
    let request = 0;
    let begun = null;
    let drawn = 0;
    const step = (now) => {
      begun = begun === null ? now : begun;
      const t = Math.min(1, (now - begun) / GLIDE_MS);
      request = t < 1 ? window.requestAnimationFrame(step) : 0;
      if (t < 1 && now - drawn < STEP_MS) return;
      drawn = now;
      const places = between(from, target, ease(t));
      shown.current.places = places;
      setFrame(t < 1 ? places : null);
    };
    setFrame(between(from, target, 0));
    request = window.requestAnimationFrame(step);
    return () => window.cancelAnimationFrame(request);
  }, [target, key]);

  return { places: frame || target, gliding: frame !== null };
}

const GHOST_MS = 3000;
const GOING_MS = 600; // as in d_graph_lane.css
const MOST_ARROWS = 3;

/** Old places after a change of the plan, for three seconds: {id, name, position, from, to}; to: the new
    place, or undefined for what is gone; going: they fade. An animation that waits for its turn is
    drawn at each frame, so it is begun when it is due. None for a new width, and for who asked for
    less motion.
    @returns {any[]} */
export function useGhosts(plan, layout) {
  const [ghosts, setGhosts] = useState([]);
  const known = useRef(null);
  const timer = useRef(0);
  useEffect(() => {
    const before = known.current;
    known.current = { plan, layout };
    if (!before) return;
    window.clearTimeout(timer.current);
    const old = before.plan; // one folded, or seen in part, is of the same version
    const other = old.run === plan.run && old.part === plan.part && old.version !== plan.version && old.hash !== plan.hash && !still();
    setGhosts(other ? movedSince(before, { plan, layout }) : []);
    const gone = () => setGhosts([]);
    const go = () => {
      setGhosts((ghosts) => ghosts.map((ghost) => ({ ...ghost, going: true })));
      timer.current = window.setTimeout(gone, GOING_MS);
    };
    if (other) timer.current = window.setTimeout(go, GHOST_MS - GOING_MS);
  }, [plan.run, plan.version, plan.hash, layout]);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  return ghosts;
}

/** The old places: outlines; in a lane below it, with arrows to the new places of the few that went
    furthest. */
export function graphGhosts({ ghosts, layout }) {
  const furthest = [...ghosts].sort((a, b) => b.far - a.far).slice(0, MOST_ARROWS);
  const drawn = layout.columns ? [...furthest.map(laneArrow), ...ghosts.map(laneGhost)] : ghosts.map(outline);
  const going = ghosts.some((ghost) => ghost.going) ? " pw-ghosts-going" : "";
  return h("g", { className: `pw-ghosts${going}`, "aria-hidden": "true" }, drawn);
}

const NAMED = 40; // px high: a card

const outline = ({ id, name, from }) =>
  h("g", { key: id, className: "pw-ghost", "data-ghost": id }, h("rect", { x: from.x, y: from.y, width: from.w, height: from.h, rx: 8 }), from.h > NAMED && h("text", { x: from.x + 12, y: from.y + 19 }, name));

const below = (place) => ({ x: place.x + place.w / 2, y: place.y + place.h + 14 });

function laneGhost({ id, position, from }) {
  const { x, y } = below(from);
  return h("g", { key: id, className: "pw-ghost", "data-ghost": id }, h("rect", { x: x - 15, y: y - 9, width: 30, height: 18, rx: 9 }), h("text", { x, y: y + 4, textAnchor: "middle" }, String(position)));
}

function laneArrow({ id, from, to }) {
  if (!to || to.y !== from.y) return null;
  const [begin, end] = [below(from), below(to)];
  const way = Math.sign(end.x - begin.x);
  const d = `M${begin.x},${begin.y} H${end.x - 8 * way} q${8 * way},0 ${8 * way},-8 v-1`;
  return h("g", { key: `${id} arrow`, className: "pw-ghost" }, h("path", { d, markerEnd: "url(#pw-ghost-tip)" }));
}
