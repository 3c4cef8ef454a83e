/* Where the cards of a plan go: pure functions from (plan, width) to places. No DOM.

   A chain folds into rows read like a snake, so every edge is short; rows hold about the same
   number of cards. A plan without early drop is a band: its constructs all look at every tuple. */
const CARD = { low: 128, high: 164, height: 88 };
const GAP = { low: 54, high: 96, row: 40, band: 14 };
const PAD = 6;
const BAND_TOP = 34;

function fold(count, width) {
  const fits = Math.max(1, Math.floor((width - 2 * PAD + GAP.low) / (CARD.low + GAP.low)));
  const rows = Math.ceil(count / fits);
  return { rows, columns: Math.ceil(count / rows) };
}

function chain(nodes, width) {
  const { rows, columns } = fold(nodes.length, width);
  const inner = width - 2 * PAD;
  const gaps = Math.max(1, columns - 1);
  const card = Math.max(CARD.low, Math.min(CARD.high, (inner - gaps * GAP.low) / columns));
  const gap = columns > 1 ? Math.max(GAP.low, Math.min(GAP.high, (inner - columns * card) / gaps)) : 0;
  const used = columns * card + (columns - 1) * gap;
  const left = PAD + Math.max(0, (inner - used) / 2);
  const places = {};
  nodes.forEach((node, index) => {
    const row = Math.floor(index / columns);
    const step = index % columns;
    const column = row % 2 === 0 ? step : columns - 1 - step;
    places[node.id] = {
      x: left + column * (card + gap),
      y: PAD + 12 + row * (CARD.height + GAP.row),
      w: card,
      h: CARD.height,
    };
  });
  return { places, band: null, height: 2 * PAD + 12 + rows * CARD.height + (rows - 1) * GAP.row };
}

function band(nodes, width) {
  const first = nodes[0];
  const last = nodes[nodes.length - 1];
  const inside = nodes.slice(1, -1);
  const room = width - 2 * (PAD + CARD.low + GAP.low);
  const columns = Math.max(1, Math.min(inside.length, Math.floor(room / (CARD.low + GAP.band))));
  const rows = Math.max(1, Math.ceil(inside.length / columns));
  const card = Math.min(CARD.high, (room - GAP.band) / columns - GAP.band);
  const box = { x: PAD + CARD.low + GAP.low, y: PAD, w: room };
  box.h = BAND_TOP + rows * (CARD.height + GAP.band) + 2;
  const places = {};
  inside.forEach((node, index) => {
    places[node.id] = {
      x: box.x + GAP.band + (index % columns) * (card + GAP.band),
      y: box.y + BAND_TOP + Math.floor(index / columns) * (CARD.height + GAP.band),
      w: card,
      h: CARD.height,
    };
  });
  const middle = box.y + (box.h - CARD.height) / 2;
  places[first.id] = { x: PAD, y: middle, w: CARD.low, h: CARD.height };
  places[last.id] = { x: width - PAD - CARD.low, y: middle, w: CARD.low, h: CARD.height };
  return { places, band: box, height: box.h + 2 * PAD };
}

/** Places of all nodes: {places: {id: {x, y, w, h}}, band: rectangle or null, height}. */
export function layoutPlan(plan, width) {
  if (!plan || !plan.nodes.length) return { places: {}, band: null, height: 0 };
  const wide = Math.max(width, CARD.low + 2 * PAD);
  const branchFree = plan.kind === "no early drop" && plan.nodes.length > 2 && wide > 5 * CARD.low;
  return branchFree ? band(plan.nodes, wide) : chain(plan.nodes, wide);
}

/** The line from one rectangle to the next: {path, x, y} with the middle for its labels. */
export function edgeLine(from, to) {
  const a = { x: from.x + from.w / 2, y: from.y + from.h / 2 };
  const b = { x: to.x + to.w / 2, y: to.y + to.h / 2 };
  const across = Math.abs(b.x - a.x) >= (from.w + to.w) / 2;
  const tip = 7;
  if (across) {
    const way = Math.sign(b.x - a.x);
    const start = { x: a.x + (way * from.w) / 2, y: a.y };
    const end = { x: b.x - way * (to.w / 2 + tip), y: b.y };
    const bend = (end.x - start.x) / 2;
    const curve = `C${start.x + bend},${start.y} ${end.x - bend},${end.y}`;
    return line(start, end, curve, false);
  }
  const way = Math.sign(b.y - a.y) || 1;
  const start = { x: a.x, y: a.y + (way * from.h) / 2 };
  const end = { x: b.x, y: b.y - way * (to.h / 2 + tip) };
  const bend = (end.y - start.y) / 2;
  return line(start, end, `C${start.x},${start.y + bend} ${end.x},${end.y - bend}`, true);
}

function line(start, end, curve, upright) {
  const straight = start.x === end.x || start.y === end.y;
  const path = `M${start.x},${start.y} ${straight ? "L" : curve + " "}${end.x},${end.y}`;
  return { path, x: (start.x + end.x) / 2, y: (start.y + end.y) / 2, upright };
}
