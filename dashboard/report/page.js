/* The page of a post-mortem: plan, story, timeline and decisions as of the moment of the slider. Its records
   are in the file; dagre, which lays out graphs, is defined before this script. */
import { bandPath, through } from "./graph_band.js";
import { edgeKey, isState } from "./graph_layers.js";
import { layoutPlan, pathOf } from "./graph_layout.js";

/* global dagre */
const records = JSON.parse(document.getElementById("records").textContent);
const SVG = "http://www.w3.org/2000/svg";
const $ = (query) => document.querySelector(query);

function draw(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== ""));
  return node;
}

const batches = records.frames; // the plan is told of these, as it was in each
const [begin, end] = [batches[0] ?? 0, batches[batches.length - 1] ?? 0];
const number = (value) => (value === null || value === undefined ? "—" : Number(value).toLocaleString("en", { maximumSignificantDigits: 4 }));
const clock = (time) => (time === null ? "" : new Date(time * 1000).toISOString().slice(11, 19));

/* The newest value of a series at a batch. */
function valueAt(series, batch) {
  let low = 0;
  let high = series.batch.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (series.batch[middle] <= batch) low = middle + 1;
    else high = middle;
  }
  return low ? series.value[low - 1] : null;
}

const parts = new Map(records.parts.map((one) => [`${one.part}|${one.name}`, one]));
const places = new Map(batches.map((batch, place) => [batch, place]));
const partAt = (part, name, batch) => (parts.has(`${part}|${name}`) ? parts.get(`${part}|${name}`).value[places.get(batch)] : null);

function wordsOf(part, batch) {
  const drop = partAt(part, "drop_prob", batch);
  if (drop !== null) return [`${(100 * drop).toFixed(1)} %`, "dropped"];
  const size = partAt(part, "size_tuples", batch);
  if (size !== null) return [number(size), "held"];
  const reached = partAt(part, "reached_tuples", batch);
  return reached === null ? ["", ""] : [number(reached), "tuples"];
}

/* Shares of the batch's tuples on the edges of a chain: those that come to anything behind, as some pass a step by;
   without early drop all stay to the end. */
function sharesOf(plan, path, batch) {
  const reached = path.map(({ id }) => partAt(id, "reached_tuples", batch));
  const first = reached.find((n) => n > 0) || 0;
  const behind = (place) => Math.max(-1, ...reached.slice(place + 1).filter((n) => n !== null));
  const alive = (place) => (behind(place) < 0 ? null : behind(place));
  const next = (place) => (plan.kind === "no early drop" && place < path.length - 2 ? first : alive(place));
  return path.slice(0, -1).map((_, place) => (first && next(place) !== null ? Math.min(1, next(place) / first) : null));
}

function card(node, place) {
  const words = [make("strong", ""), make("span", "")];
  const head = make("b", "", node.sign && !place && node.role !== "source" && node.role !== "output" ? `${node.sign} ` : "", ...node.name.split(/(?<=[_.])/).flatMap((piece, i) => (i ? [document.createElement("wbr"), piece] : [piece])));
  const box = make("div", isState(node.role) ? "card state" : place ? "card step" : "card", head, make("div", "", ...words), place ? "" : make("small", "", node.word));
  box.title = node.name;
  return { box, words };
}

/* The lines of a layout, state that is read dashed, and around the steps of a plan without early drop. */
function linesOf(graph, layout) {
  const states = new Set(graph.nodes.filter(({ role }) => isState(role)).map(({ id }) => id));
  const found = layout.boxes.map(({ x, y, w, h }) => draw("rect", { class: "all", x, y, width: w, height: h, rx: 10 }));
  for (const edge of graph.edges) {
    const d = layout.lines[edgeKey(edge)]?.path;
    const looks = states.has(edge.source) || states.has(edge.target);
    if (d) found.push(draw("path", { class: looks ? "edge looks" : "edge", d, ...(looks || layout.columns ? {} : { "marker-end": "url(#tip)" }) }));
  }
  return found;
}

/* A path for the band of each lane. */
function bandsOf({ columns }) {
  const rows = columns ? [...new Set(columns.map(({ row }) => row))] : [];
  return rows.map((row) => ({ path: draw("path", { class: "band" }), columns: columns.filter((one) => one.row === row), first: columns.findIndex((one) => one.row === row) }));
}

function frameOf(plan, graph, layout, box) {
  const order = graph.nodes.filter(({ id }) => plan.order.includes(id)).sort((a, b) => plan.order.indexOf(a.id) - plan.order.indexOf(b.id));
  const frame = make("div", layout.columns ? "" : "frame", box);
  if (!layout.columns) frame.tabIndex = 0; // it scrolls
  frame.setAttribute("role", "img");
  frame.setAttribute("aria-label", `${plan.title}: ${order.map(({ name }) => name).join(", then ")}`);
  return frame;
}

/* A plan as drawn for a width: its cards, and the bands of its lanes, which follow the moment. */
function drawnPlan(plan, width) {
  const graph = records.graphs[plan.graph];
  const path = pathOf(graph);
  const layout = layoutPlan({ ...graph, band: plan.kind === "no early drop" }, width, dagre);
  const tip = draw("marker", { id: "tip", viewBox: "0 0 8 8", refX: 1, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, draw("path", { d: "M0,0 L8,4 L0,8 z" }));
  const bands = bandsOf(layout);
  const svg = draw("svg", { width: layout.width, height: layout.height, "aria-hidden": true }, draw("defs", {}, tip), ...bands.map((band) => band.path), ...linesOf(graph, layout));
  const narrow = layout.columns && layout.columns[0].w < 84;
  const box = make("div", `graph${layout.columns ? " lane" : ""}${narrow ? " narrow" : ""}`, svg);
  box.style.cssText = `width:${layout.width}px;height:${layout.height}px`;
  const cards = graph.nodes.map((node) => {
    const place = layout.columns ? plan.order.indexOf(node.id) + 1 : 0;
    const { box: own, words } = card(node, place);
    const { x, y, w, h } = layout.places[node.id];
    own.style.cssText = `left:${x}px;top:${y}px;width:${w}px;height:${h}px`;
    box.append(own);
    if (place) svg.append(draw("text", { class: "place", x: x + w / 2, y: y - 9, "text-anchor": "middle" }, String(place)));
    return { id: node.id, box: own, words };
  });
  const follow = (batch) => {
    for (const { id, box: own, words } of cards) {
      wordsOf(id, batch).forEach((text, i) => (words[i].textContent = text));
      own.style.setProperty("--heat", String(partAt(id, "drop_prob", batch) ?? 0));
    }
    if (!bands.length) return;
    const alive = through(sharesOf(plan, path, batch));
    for (const { path: band, columns, first } of bands) band.setAttribute("d", bandPath(columns, alive.slice(first, first + columns.length)));
  };
  return { frame: frameOf(plan, graph, layout, box), follow };
}

const drawn = new Map(); // unit -> what is shown of it: plan, width, element, follow

function showPlans(batch) {
  const newest = new Map();
  for (const plan of records.plans) if (plan.batch <= Math.max(batch, 0)) newest.set(plan.unit, plan);
  const width = $("#plans").clientWidth;
  for (const unit of [...drawn.keys()]) if (!newest.has(unit)) drawn.delete(unit);
  for (const [unit, plan] of newest) {
    const before = drawn.get(unit);
    if (before && before.plan === plan && before.width === width) continue;
    const { frame, follow } = drawnPlan(plan, width);
    const words = make("p", "", make("b", "", plan.title), ` · plan ${plan.version}, ${plan.kind}, since batch ${plan.batch}: ${plan.reason}`);
    drawn.set(unit, { plan, width, element: make("div", "unit", words, frame), follow });
  }
  const elements = [...newest.keys()].map((unit) => drawn.get(unit).element);
  const same = elements.length === $("#plans").children.length && elements.every((one, i) => one === $("#plans").children[i]);
  if (!same || !elements.length) $("#plans").replaceChildren(...(elements.length ? elements : [make("p", "", "No plan yet.")]));
  for (const { follow } of drawn.values()) follow(batch);
}

const EDGE = 8;
const HIGH = 92;
let wide = 760;
const xOf = (batch) => EDGE + ((batch - begin) / (end - begin || 1)) * (wide - 2 * EDGE);

function drawLine(line, place, all) {
  const known = line.value.filter((value) => value !== null).sort((a, b) => a - b);
  const top = (known[Math.floor(known.length * 0.99)] || 1) * 1.1 || 1;
  const y = (value) => 76 - Math.min(1, value / top) * 52;
  const points = line.batch.map((batch, i) => (line.value[i] === null ? null : `${xOf(batch).toFixed(1)},${y(line.value[i]).toFixed(1)}`)).filter(Boolean);
  const last = place === all.length - 1;
  const svg = draw("svg", { viewBox: `0 0 ${wide} ${last ? HIGH + 18 : HIGH}`, role: "img", "aria-label": `${line.title} over batches` });
  svg.append(draw("text", { x: EDGE, y: 13 }, line.title, draw("tspan", { class: "small", dx: 6 }, line.unit)), draw("text", { x: wide - EDGE, y: 13, "text-anchor": "end", class: "value" }));
  svg.append(draw("line", { class: "base", x1: EDGE, x2: wide - EDGE, y1: 76, y2: 76 }), draw("polyline", { class: "series", points: points.join(" ") }));
  for (const one of records.sentences) if (one.kind === "rearrangement") svg.append(draw("path", { class: "event", d: `M${xOf(one.batch)},80 l4,8 h-8 z` }, draw("title", {}, one.text)));
  if (last) for (const [batch, anchor] of [[begin, "start"], [end, "end"]]) svg.append(draw("text", { class: "small", x: xOf(batch), y: HIGH + 13, "text-anchor": anchor }, `batch ${batch} ${clock(valueAt(records.times, batch))}`));
  svg.append(draw("line", { class: "cursor", y1: 18, y2: 90 }));
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width) * wide;
    go(batches.reduce((best, batch) => (Math.abs(xOf(batch) - share) < Math.abs(xOf(best) - share) ? batch : best), begin));
  });
  svg.line = line;
  return svg;
}

function drawLines() {
  wide = Math.max(280, $("#lines").clientWidth);
  $("#lines").replaceChildren(...records.lines.map(drawLine));
}

/* What can be gone to: its moment, and a row with its record. */
function item(one, head, words, aside, { tone = "", row = null } = {}) {
  const node = make("li", tone, make("b", "", head), make("time", "", clock(one.time)), words, aside ? make("small", "", aside) : "");
  node.dataset.batch = one.batch;
  node.tabIndex = 0;
  const open = () => {
    go(one.batch);
    const found = row && document.getElementById(row);
    if (found) found.parentNode.parentNode.scrollTo({ top: found.offsetTop - 50 });
  };
  node.addEventListener("click", open);
  node.addEventListener("keydown", (event) => event.key === "Enter" && open());
  return node;
}

const rowOf = (unit, seq) => `decision-${unit}-${seq}`;

function sentence(one) {
  return item(one, `batch ${one.batch}`, one.text, one.aside, { tone: `${one.kind} ${one.tone}`.trim(), row: one.seq && rowOf(one.unit, one.seq) });
}

function decision(one) {
  const node = item(one, `#${one.seq} ${one.verdict}`, `${one.summary} (n = ${number(one.n)})`, `batch ${one.batch}${one.title ? ` · ${one.title}` : ""} · ${one.words}`, { tone: one.switched ? "" : "quiet" });
  node.id = rowOf(one.unit, one.seq);
  return node;
}

/* Rows without the words that are looked for are hidden. */
function find() {
  const words = $("#find").value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const node of document.querySelectorAll("li")) node.hidden = !words.every((word) => node.textContent.toLowerCase().includes(word));
}

const shownBatch = () => batches[Number($("#slider").value)] ?? 0;

function show(batch) {
  $("#batch").replaceChildren(`batch ${batch}`);
  $("#averaged").textContent = records.averaged[places.get(batch)] || "";
  const at = clock(valueAt(records.times, batch));
  $("#slider").setAttribute("aria-valuetext", `batch ${batch} ${at}`.trim());
  $("#clock").textContent = at && `${at} UTC`;
  showPlans(batch);
  for (const svg of document.querySelectorAll("#lines svg")) {
    const x = xOf(batch);
    svg.querySelector(".cursor").setAttribute("x1", x);
    svg.querySelector(".cursor").setAttribute("x2", x);
    svg.querySelector(".value").textContent = number(partAt("system", svg.line.name, batch));
  }
  for (const node of document.querySelectorAll("li")) {
    node.classList.toggle("later", Number(node.dataset.batch) > batch);
    node.classList.toggle("here", Number(node.dataset.batch) === batch);
  }
}

function go(batch) {
  const place = batches.findIndex((one) => one >= batch);
  $("#slider").value = String(place < 0 ? batches.length - 1 : place);
  show(shownBatch());
}

let timer = 0;
function play() {
  const on = !timer;
  if (timer) window.clearInterval(timer);
  if (on && shownBatch() === end) go(begin);
  timer = on ? window.setInterval(() => {
    const next = Number($("#slider").value) + Math.max(1, Math.round(batches.length / 400));
    if (next >= batches.length) return play();
    return go(batches[next]);
  }, 80) : 0;
  $("#play").textContent = on ? "Pause" : "Play";
  $("#play").setAttribute("aria-pressed", String(on));
}

function start() {
  $("h1").textContent = document.title;
  $("#opening").textContent = records.opening.join(" ");
  $("#left-out").textContent = records.left_out;
  $("#slider").max = String(Math.max(0, batches.length - 1));
  $("#slider").addEventListener("input", () => show(shownBatch()));
  $("#play").addEventListener("click", play);
  $("#story ol").append(...(records.sentences.length ? records.sentences.map(sentence) : [make("li", "", "Nothing happened.")]));
  $("#decisions ol").append(...records.decisions.map(decision));
  $("#decisions").hidden = !records.decisions.length;
  $("#turns ol").append(...records.turns.map((one) => item({ ...one, batch: one.batch ?? end }, one.batch === null ? "not applied" : `batch ${one.batch}`, one.text, one.why)));
  $("#turns").hidden = !records.turns.length;
  $("#misfits ol").append(...records.misfits.map((one) => item({ ...one, time: null }, `batch ${one.batch}`, one.text, "")));
  $("#misfits").hidden = !records.misfits.length;
  $("#find").addEventListener("input", find);
  drawLines();
  go(end);
  window.addEventListener("resize", () => {
    if (wide === Math.max(280, $("#lines").clientWidth)) return;
    drawLines();
    show(shownBatch());
  });
}
start();
