/* The band of a lane: as thick as the share of the batch's tuples that is still alive, and the ways of
   tuples in it. Pure functions, no DOM. */
import { edgeShare } from "./graph_values.js";
import { sizesOf } from "./points.js";

export const DOTS = 12; // tuples that are shown on their way
const THIN = 2; // what little is left can still be seen
const [FALL, LANDED] = [0.28, 0.78]; // of a column: where the band begins to fall, and where it has

/** Shares of the batch's tuples on the edges of a path, [0, 1], or null where unknown. What has no
    share is told by its queue, relative to the fullest; without early drop all tuples stay to the end.
    @param {{nodes: any[], edges: any[], band?: boolean}} plan
    @param {any[]} path
    @param {any} facts */
export function sharesOf(plan, path, facts) {
  const leaving = new Map(plan.edges.map((edge) => [edge.source, edge]));
  const flow = (node) => sizesOf(facts.values[leaving.get(node.id).queue]).size ?? null;
  const most = Math.max(1, ...path.slice(0, -1).map(flow));
  const last = path[path.length - 2];
  return path.slice(0, -1).map((node) => {
    if (plan.band && node !== last) return facts.n > 0 ? 1 : null;
    const share = edgeShare(node, facts);
    if (share !== undefined) return share;
    const size = flow(node);
    return size === null ? null : size / most;
  });
}

/** Shares in front of and behind each card; unknown ones as the last that is known.
    @param {(number | null)[]} shares of the edges
    @returns {[number, number][]} */
export function through(shares) {
  let last = 1;
  const known = shares.map((share) => (last = share === null ? last : share));
  return [...known, last].map((share, place) => [place ? known[place - 1] : share, share]);
}

const thick = (share, most) => Math.max(THIN, share * most);

/* Where the band falls in a column, how thick it is before and after, and the way there. */
function fallOf({ x, w, y, most }, [before, after]) {
  const [a, b] = [thick(before, most) / 2, thick(after, most) / 2];
  const [from, to] = [x + FALL * w, x + LANDED * w];
  const middle = (from + to) / 2;
  const down = (way) => `C${middle},${y + way * a} ${middle},${y + way * b} ${to},${y + way * b}`;
  const up = `C${middle},${y + b} ${middle},${y + a} ${from},${y + a}`;
  return { x, end: x + w, y, a, b, from, to, down, up };
}

/** Outline of the band of one lane.
    @param {{x: number, w: number, y: number, most: number}[]} columns
    @param {[number, number][]} alive */
export function bandPath(columns, alive) {
  const falls = columns.map((column, place) => fallOf(column, alive[place]));
  const [first, last] = [falls[0], falls[falls.length - 1]];
  const over = falls.map(({ from, down, end }) => `H${from} ${down(-1)} H${end}`);
  const under = falls.map(({ to, up, x }) => `H${to} ${up} H${x}`).reverse();
  return `M${first.x},${first.y - first.a} ${over.join(" ")} V${last.y + last.b} ${under.join(" ")} Z`;
}

/** What a card bites out of the band, above and below; '' where nearly nothing.
    @param {{x: number, w: number, y: number, most: number}} column
    @param {[number, number]} shares */
export function bitePath(column, shares) {
  const { y, a, b, from, down } = fallOf(column, shares);
  const bite = (way) => `M${from},${y + way * a} ${down(way)} V${y + way * a} Z`;
  return a - b < 0.5 ? "" : `${bite(-1)} ${bite(1)}`;
}

/** Ways of dots through the first lane: of a share of q, a dot falls out of the band in the column where
    less than q is left. Points are [x, y]; fell: it did.
    @param {{x: number, w: number, y: number, most: number, row: number}[]} columns
    @param {[number, number][]} alive shares in front of and behind each card
    @returns {{points: [number, number][], fell: boolean}[]} */
export function laneWays(columns, alive) {
  const lane = columns.filter(({ row }) => row === 0);
  return Array.from({ length: DOTS }, (_, dot) => {
    const q = (dot + 0.5) / DOTS;
    const aside = (((dot * 5) % DOTS) / (DOTS - 1) - 0.5) * 0.7;
    const last = lane.findIndex((_, place) => alive[place][1] < q);
    const kept = last < 0 ? lane : lane.slice(0, last + 1);
    const points = kept.map(({ x, y, most }, place) => [x, y + aside * most * alive[place][0]]);
    const end = kept[kept.length - 1];
    const fall = aside < 0 ? -1 : 1;
    points.push(last < 0 ? [end.x + end.w, end.y] : [end.x + 0.75 * end.w, end.y + fall * (end.most * alive[last][0] * 0.5 + 6)]);
    return { points, fell: last >= 0 };
  });
}
