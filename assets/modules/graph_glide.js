/* The glide: on a new plan every card travels from its old to its new place. A React hook. */
import { still } from "./core.js";
import { useLayoutEffect, useRef, useState } from "./react.js";

const GLIDE_MS = 600;
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
    const step = (now) => {
      begun = begun === null ? now : begun;
      const t = Math.min(1, (now - begun) / GLIDE_MS);
      const places = between(from, target, ease(t));
      shown.current.places = places;
      setFrame(t < 1 ? places : null);
      if (t < 1) request = window.requestAnimationFrame(step);
    };
    setFrame(between(from, target, 0));
    request = window.requestAnimationFrame(step);
    return () => window.cancelAnimationFrame(request);
  }, [target, key]);

  return { places: frame || target, gliding: frame !== null };
}
