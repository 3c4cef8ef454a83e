/* Lines over an axis: scales, and the points of polylines and areas. Pure. */

/** A function from one range of numbers to another; an empty range leads to the begin of the other.
    @param {[number, number]} from
    @param {[number, number]} to
    @returns {(value: number) => number} */
export const scale = ([low, high], [begin, end]) => (value) => begin + ((value - low) / (high - low || 1)) * (end - begin);

/** The points of a polyline.
    @param {[number, number][]} points
    @param {(u: number) => number} x
    @param {(v: number) => number} y */
export const linePoints = (points, x, y) => points.map(([u, v]) => `${x(u).toFixed(1)},${y(v).toFixed(1)}`).join(" ");

/** The points of the polygon between a line and its base, '' without a point.
    @param {[number, number][]} points
    @param {(u: number) => number} x
    @param {(v: number) => number} y
    @param {number} base */
export function areaPoints(points, x, y, base) {
  if (!points.length) return "";
  const foot = (point) => `${x(point[0]).toFixed(1)},${base}`;
  return `${foot(points[0])} ${linePoints(points, x, y)} ${foot(points[points.length - 1])}`;
}

/** The point whose first number is nearest to u.
    @param {[number, number][]} points
    @param {number} u */
export const nearest = (points, u) => points.reduce((best, point) => (Math.abs(point[0] - u) < Math.abs(best[0] - u) ? point : best), points[0]);

/** Points of a sparkline in a box, '' with fewer than two known numbers. Noise stays small: the box
    is at least a quarter of the highest number high.
    @param {number[]} numbers
    @param {number} width
    @param {number} height */
export function sparkPoints(numbers, width, height) {
  const kept = (numbers || []).filter((value) => typeof value === "number" && !Number.isNaN(value));
  if (kept.length < 2) return "";
  const [low, high] = [Math.min(...kept), Math.max(...kept)];
  const span = Math.max(high - low, 0.25 * Math.abs(high)) || 1;
  const middle = (high + low) / 2;
  const y = scale([middle - span / 2, middle + span / 2], [height, 0]);
  return linePoints(kept.map((value, i) => [i, value]), scale([0, kept.length - 1], [0, width]), y);
}
