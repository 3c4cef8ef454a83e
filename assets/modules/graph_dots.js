/* Tuples of a batch on their way, while LIVE: a dozen dots that end where tuples are dropped. They are
   elements moved by the compositor, gone when they arrived, and none fly for who asked for less motion
   or while the page is hidden. */
import { still } from "./core.js";
import { through, sharesOf } from "./graph_flow.js";
import { currentMode } from "./moment.js";
import { sizesOf } from "./points.js";
import { h, useEffect, useRef } from "./react.js";

const MOST = 12;
const FLIGHT_MS = 1500;
const REST_MS = 2500; // between two flocks: what is always in motion costs power
const APART_MS = 60;
const SAMPLES = 6; // of a curved line

/** Ways of dots through the first lane: of a share of q, a dot falls out of the band in the column where
    less than q is left. Points are [x, y]; fell: it did.
    @param {{x: number, w: number, y: number, most: number, row: number}[]} columns
    @param {[number, number][]} alive shares in front of and behind each card
    @returns {{points: [number, number][], fell: boolean}[]} */
export function laneWays(columns, alive) {
  const lane = columns.filter(({ row }) => row === 0);
  return Array.from({ length: MOST }, (_, dot) => {
    const q = (dot + 0.5) / MOST;
    const aside = (((dot * 5) % MOST) / (MOST - 1) - 0.5) * 0.7;
    const last = lane.findIndex((_, place) => alive[place][1] < q);
    const kept = last < 0 ? lane : lane.slice(0, last + 1);
    const points = kept.map(({ x, y, most }, place) => [x, y + aside * most * alive[place][0]]);
    const end = kept[kept.length - 1];
    const fall = aside < 0 ? -1 : 1;
    points.push(last < 0 ? [end.x + end.w, end.y] : [end.x + 0.75 * end.w, end.y + fall * (end.most * alive[last][0] * 0.5 + 6)]);
    return { points, fell: last >= 0 };
  });
}

/* Along the lines on which most was handed over. */
function edgeWays({ plan, facts }, svg) {
  const flows = plan.edges.filter(({ queue }) => queue).map((edge) => [sizesOf(facts.values[edge.queue]).size || 0, edge]);
  const busy = flows.filter(([size]) => size > 0).sort((a, b) => b[0] - a[0]).slice(0, MOST);
  const lines = busy.map(([, { source, target }]) => svg.querySelector(`[data-edge="${CSS.escape(source)}>${CSS.escape(target)}"] path`)).filter(Boolean);
  return lines.map((line) => {
    const length = line.getTotalLength();
    const at = (place) => line.getPointAtLength((length * place) / (SAMPLES - 1));
    return { points: Array.from({ length: SAMPLES }, (_, place) => [at(place).x, at(place).y]), fell: false };
  });
}

function fly(frame, { points, fell }, place, scale) {
  const dot = document.createElement("i");
  frame.append(dot);
  const moves = points.map(([x, y], step) => ({
    transform: `translate(${(x * scale).toFixed(1)}px,${(y * scale).toFixed(1)}px)`,
    opacity: step === points.length - 1 ? 0 : fell && step === points.length - 2 ? 0.9 : 1,
  }));
  const flight = dot.animate(moves, { duration: FLIGHT_MS * (0.35 + 0.65 * Math.min(1, points.length / 10)), delay: place * APART_MS, fill: "backwards" });
  const gone = () => dot.remove();
  flight.finished.then(gone, gone);
}

/** The dots over a drawing of the plan. scene: see plan_graph.js; scale: of the drawing. */
export function TupleDots({ scene, scale }) {
  const frame = useRef(null);
  const last = useRef({ batch: scene.live.batch, at: 0 });
  const { batch } = scene.live;
  useEffect(() => {
    const fresh = batch !== last.current.batch && Date.now() - last.current.at > FLIGHT_MS + REST_MS;
    const seen = currentMode() === "live" && !document.hidden && !still() && !scene.glide.gliding;
    if (!fresh || !seen) return;
    last.current = { batch, at: Date.now() };
    const { plan, path, layout, facts } = scene;
    const ways = layout.columns ? laneWays(layout.columns, through(sharesOf(plan, path, facts))) : edgeWays(scene, frame.current.parentNode);
    ways.forEach((way, place) => fly(frame.current, way, place, scale));
  }, [batch]);
  return h("div", { className: "pw-dots", ref: frame, "aria-hidden": "true" });
}
