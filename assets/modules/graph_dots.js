/* Tuples of a batch on their way, while LIVE: a dozen dots that end where tuples are dropped. They are
   elements moved by the compositor, gone when they arrived, and none fly for who asked for less motion
   or while the page is hidden. */
import { on, still } from "./core.js";
import { DOTS, laneWays, sharesOf, through } from "./graph_band.js";
import { currentMode, isUntouched } from "./moment.js";
import { sizesOf } from "./points.js";
import { h, useEffect, useRef } from "./react.js";

/* All dots step at once, as in a film, and rest between two flocks: what is always in motion costs. */
const FRAME_MS = 42;
const FRAMES = 36; // of the longest flight
const APART = 2; // frames between two dots
const REST_MS = 10000;
const SAMPLES = 6; // of a curved line

/* Along the lines on which most was handed over. */
function edgeWays({ plan, facts }, svg) {
  const flows = plan.edges.filter(({ queue }) => queue).map((edge) => [sizesOf(facts.values[edge.queue]).size || 0, edge]);
  const busy = flows.filter(([size]) => size > 0).sort((a, b) => b[0] - a[0]).slice(0, DOTS);
  const lines = busy.map(([, { source, target }]) => svg.querySelector(`[data-edge="${CSS.escape(source)}>${CSS.escape(target)}"] path`)).filter(Boolean);
  return lines.map((line) => {
    const length = line.getTotalLength();
    const at = (place) => line.getPointAtLength((length * place) / (SAMPLES - 1));
    return { points: Array.from({ length: SAMPLES }, (_, place) => [at(place).x, at(place).y]), fell: false };
  });
}

function fly(frame, { points, fell }, place, view) {
  const dot = document.createElement("i");
  frame.append(dot);
  const moves = points.map(([x, y], step) => ({
    transform: `translate(${((x - view.x) * view.scale).toFixed(1)}px,${((y - view.y) * view.scale).toFixed(1)}px)`,
    opacity: step === points.length - 1 ? 0 : fell && step === points.length - 2 ? 0.9 : 1,
  }));
  const frames = Math.round(FRAMES * (0.35 + 0.65 * Math.min(1, points.length / 10)));
  const flight = dot.animate(moves, { duration: frames * FRAME_MS, easing: `steps(${frames})`, delay: place * APART * FRAME_MS, fill: "backwards" });
  const gone = () => dot.remove();
  flight.finished.then(gone, gone);
}

/** The dots over a drawing of the plan. scene: see plan_graph.js; view: what of it is seen. */
export function TupleDots({ scene, view }) {
  const frame = useRef(null);
  const last = useRef({ batch: scene.live.batch, at: -Infinity });
  const { batch } = scene.live;
  useEffect(() => {
    const rest = isUntouched() ? 2 * REST_MS : REST_MS;
    const fresh = batch !== last.current.batch && performance.now() - last.current.at > FRAMES * FRAME_MS + rest;
    const seen = currentMode() === "live" && !document.hidden && !still() && !scene.glide.gliding;
    if (!fresh || !seen) return;
    last.current = { batch, at: performance.now() };
    const { plan, path, layout, facts } = scene;
    const ways = layout.columns ? laneWays(layout.columns, through(sharesOf(plan, path, facts))) : edgeWays(scene, frame.current.parentNode);
    ways.forEach((way, place) => fly(frame.current, way, place, view));
  }, [batch]);
  useEffect(() => on("moment", () => currentMode() !== "live" && frame.current.replaceChildren()), []); // time stands still
  return h("div", { className: "pw-dots", ref: frame, "aria-hidden": "true" });
}
