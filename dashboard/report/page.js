"use strict";
const records = JSON.parse(document.getElementById("records").textContent);
const SVG = "http://www.w3.org/2000/svg";
const $ = (query) => document.querySelector(query);
const WIDTH = 760;

function draw(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

const batches = [...new Set([...records.lines, ...records.plans.map((plan) => ({ batch: [plan.batch] }))].flatMap((one) => one.batch))].filter((batch) => batch >= 0).sort((a, b) => a - b);
const number = (value) => (value === null || value === undefined ? "—" : Number(value).toLocaleString("en", { maximumSignificantDigits: 4 }));

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

function wordsOf(part, batch) {
  const read = (name) => (parts.has(`${part}|${name}`) ? valueAt(parts.get(`${part}|${name}`), batch) : null);
  const drop = read("drop_prob");
  if (drop !== null) return `${(100 * drop).toFixed(1)} % dropped`;
  const size = read("size_tuples");
  if (size !== null) return `${number(size)} held`;
  const reached = read("reached_tuples");
  return reached === null ? "" : `${number(reached)} tuples`;
}

/* Layers by the longest way from a source; a plan is free of circles. */
function layersOf(plan) {
  const layer = new Map(plan.nodes.map((node) => [node.id, 0]));
  for (let round = 0; round < plan.nodes.length; round += 1) {
    let moved = false;
    for (const [source, target] of plan.edges) {
      if (!layer.has(source) || !layer.has(target)) continue;
      if (layer.get(target) <= layer.get(source) && layer.get(source) < plan.nodes.length) {
        layer.set(target, layer.get(source) + 1);
        moved = true;
      }
    }
    if (!moved) break;
  }
  return layer;
}

const CARD = [148, 46];
const GAP = [30, 14];

function drawPlan(plan, batch) {
  const layer = layersOf(plan);
  const rows = new Map();
  const places = new Map();
  const PER_ROW = 4;
  const depth = Math.max(0, ...layer.values()) + 1;
  const heights = [];
  for (const node of plan.nodes) {
    const at = layer.get(node.id);
    const row = rows.get(at) || 0;
    rows.set(at, row + 1);
    const band = Math.floor(at / PER_ROW);
    heights[band] = Math.max(heights[band] || 0, row + 1);
    places.set(node.id, [at % PER_ROW, band, row]);
  }
  const tops = heights.map((_, i) => heights.slice(0, i).reduce((sum, n) => sum + n, 0) * (CARD[1] + GAP[1]) + i * 10);
  const point = ([column, band, row]) => [column * (CARD[0] + GAP[0]) + 4, tops[band] + row * (CARD[1] + GAP[1]) + 4];
  const width = Math.min(depth, PER_ROW) * (CARD[0] + GAP[0]);
  const height = heights.reduce((sum, n) => sum + n, 0) * (CARD[1] + GAP[1]) + heights.length * 10;
  const svg = draw("svg", { viewBox: `0 0 ${Math.max(width, 300)} ${height}`, role: "img", "aria-label": `${plan.title}: ${plan.order.join(", then ")}` });
  svg.style.maxWidth = `${Math.max(width, 300) * 1.2}px`;
  for (const [source, target] of plan.edges) {
    if (!places.has(source) || !places.has(target)) continue;
    const [x, y] = point(places.get(source));
    const [u, v] = point(places.get(target));
    const [a, b] = [x + CARD[0], y + CARD[1] / 2];
    svg.append(draw("path", { class: "edge", d: u > x ? `M${a},${b} C${a + 16},${b} ${u - 16},${v + CARD[1] / 2} ${u},${v + CARD[1] / 2}` : `M${x + CARD[0] / 2},${y + CARD[1]} C${x + CARD[0] / 2},${v - 4} ${u + CARD[0] / 2},${y + CARD[1] + 4} ${u + CARD[0] / 2},${v}` }));
  }
  for (const node of plan.nodes) {
    const [x, y] = point(places.get(node.id));
    const place = plan.order.indexOf(node.name) + 1;
    const title = (place ? `${place} · ` : "") + node.name;
    const group = draw("g", { class: place === 1 ? "node first" : "node", transform: `translate(${x},${y})` }, draw("rect", { width: CARD[0], height: CARD[1], rx: 7 }));
    group.append(draw("text", { x: 9, y: 19 }, title.length > 19 ? `${title.slice(0, 18)}…` : title), draw("text", { x: 9, y: 36, class: "small" }, wordsOf(node.id, batch)), draw("title", {}, node.name));
    svg.append(group);
  }
  return svg;
}

function showPlans(batch) {
  const newest = new Map();
  for (const plan of records.plans) if (plan.batch <= Math.max(batch, 0)) newest.set(plan.unit, plan);
  const found = [...newest.values()].flatMap((plan) => [make("p", "", `${plan.title} · plan ${plan.version}, ${plan.kind}, since batch ${plan.batch}: ${plan.reason}`), drawPlan(plan, batch)]);
  $("#plans").replaceChildren(...(found.length ? found : [make("p", "", "No plan yet.")]));
}

const xOf = (batch) => 8 + ((batch - batches[0]) / (batches[batches.length - 1] - batches[0] || 1)) * (WIDTH - 16);

function drawLine(line) {
  const known = line.value.filter((value) => value !== null).sort((a, b) => a - b);
  const top = (known[Math.floor(known.length * 0.99)] || 1) * 1.1 || 1;
  const y = (value) => 78 - Math.min(1, value / top) * 54;
  const points = line.batch.map((batch, i) => (line.value[i] === null ? null : `${xOf(batch).toFixed(1)},${y(line.value[i]).toFixed(1)}`)).filter(Boolean);
  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} 96` });
  svg.append(draw("text", { x: 8, y: 14 }, `${line.title} (${line.unit})`), draw("text", { x: WIDTH - 8, y: 14, "text-anchor": "end", class: "small value" }));
  svg.append(draw("polyline", { class: "series", points: points.join(" ") }));
  for (const one of records.sentences) if (one.kind === "rearrangement") svg.append(draw("path", { class: "event", d: `M${xOf(one.batch)},84 l4,8 h-8 z` }, draw("title", {}, one.text)));
  svg.append(draw("line", { class: "cursor", y1: 18, y2: 92 }));
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width) * WIDTH;
    go(batches.reduce((best, batch) => (Math.abs(xOf(batch) - share) < Math.abs(xOf(best) - share) ? batch : best), batches[0]));
  });
  svg.line = line;
  return svg;
}

function item(one, head, words, aside, tone) {
  const node = make("li", tone, make("b", "", head), words);
  if (aside) node.append(make("small", "", aside));
  node.dataset.batch = one.batch;
  node.tabIndex = 0;
  node.addEventListener("click", () => go(one.batch));
  node.addEventListener("keydown", (event) => event.key === "Enter" && go(one.batch));
  return node;
}

function show(batch) {
  $("#batch").textContent = `batch ${batch}`;
  showPlans(batch);
  for (const svg of document.querySelectorAll("#lines svg")) {
    const x = xOf(batch);
    svg.querySelector(".cursor").setAttribute("x1", x);
    svg.querySelector(".cursor").setAttribute("x2", x);
    svg.querySelector(".value").textContent = number(valueAt(svg.line, batch));
  }
  for (const node of document.querySelectorAll("li")) {
    node.classList.toggle("later", Number(node.dataset.batch) > batch);
    node.classList.toggle("here", Number(node.dataset.batch) === batch);
  }
}

function go(batch) {
  const place = batches.findIndex((one) => one >= batch);
  $("#slider").value = String(place < 0 ? batches.length - 1 : place);
  show(batches[Number($("#slider").value)] ?? 0);
}

let timer = 0;
function play() {
  const on = !timer;
  if (timer) window.clearInterval(timer);
  timer = on ? window.setInterval(() => {
    const next = Number($("#slider").value) + Math.max(1, Math.round(batches.length / 400));
    if (next >= batches.length) return play();
    return go(batches[next]);
  }, 80) : 0;
  $("#play").textContent = on ? "Pause" : "Play";
  $("#play").setAttribute("aria-pressed", String(on));
}

function begin() {
  $("h1").textContent = document.title;
  $("#opening").textContent = records.opening;
  $("#slider").max = String(Math.max(0, batches.length - 1));
  $("#slider").addEventListener("input", (event) => show(batches[Number(event.target.value)] ?? 0));
  $("#play").addEventListener("click", play);
  $("#lines").append(...records.lines.filter((line) => line.batch.length).map(drawLine));
  $("#story ol").append(...records.sentences.map((one) => item(one, `batch ${one.batch}`, one.text, one.aside, one.tone)));
  $("#decisions ol").append(...records.decisions.map((one) => item(one, `#${one.seq} ${one.verdict.replace("_", " ")}`, `${one.metric}: ${number(one.lhs)} ${one.relation} ${number(one.rhs)} (n = ${one.n})`, `batch ${one.batch} · ${one.words}`, "")));
  go(batches[batches.length - 1] ?? 0);
}
begin();
