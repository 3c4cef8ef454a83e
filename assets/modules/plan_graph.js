/* PlanGraph: the plan as cards and edges, a Dash component without a build step.

   Props: plan as dashboard/views/plan.py graph_plan makes it, values (a batch, shaped as the live
   delta), sparks {id: numbers}, spreads (steps over time), batch, selected. Layout depends on the plan's hash and the width
   only; live deltas touch numbers only. */
import { emit, on } from "./core.js";
import { sharesOf } from "./graph_band.js";
import { TupleDots } from "./graph_dots.js";
import { graphFlow } from "./graph_flow.js";
import { bringIn, MapFrame, useMap } from "./graph_frame.js";
import { graphGhosts, useGhosts, useGlide } from "./graph_glide.js";
import { edgeKey } from "./graph_layers.js";
import { edgeLine, layoutPlan, pathOf } from "./graph_layout.js";
import { graphLegend, graphTip } from "./graph_legend.js";
import { graphBoxes, graphCard, graphEdge, queueTip } from "./graph_parts.js";
import { graphSkips, RISE, skipTip } from "./graph_skips.js";
import { foldingKeys, foldMarks, graphTools, useFolds } from "./graph_tools.js";
import { useHits, useTrace } from "./graph_trace.js";
import { cardValues, described, heatNamed, heatOf, heatsOf, heatShown, heatText, heatTop, heatUsed, isStep, overTime, spreadOn, usualHeat } from "./graph_values.js";
import { verdictsOf } from "./graph_verdict.js";
import { go, moment } from "./moment.js";
import { isPointed } from "./pointed.js";
import { valueOf } from "./points.js";
import { h, useEffect, useLayoutEffect, useMemo, useRef, useState, useWidth } from "./react.js";

const SPARK_POINTS = 24;

/* Values and sparklines that follow the stream while LIVE, and the props otherwise. old: what a delta
   that did not have all left as it was -> {batch, system}, of before. */
function useLive(props) {
  const [live, setLive] = useState(null);
  const served = useRef(props);
  served.current = props;
  const { run, version } = props.plan;
  useEffect(() => {
    setLive(null);
    return on("values", (delta) => {
      if (delta.pv !== version) return; // of the whole run
      setLive((last) => {
        const base = last && last.batch > (served.current.batch ?? -1) ? last : served.current;
        const values = delta.cut ? { ...base.values, ...delta.v } : delta.v;
        const old = delta.cut ? leftOld(base, delta.v) : {};
        const plan = served.current.whole;
        const spreads = spreadOn(base.spreads, cardValues(plan, values));
        return { batch: delta.b, values, old, spreads, sparks: pushed(plan.nodes, base.sparks, delta.v) };
      });
    });
  }, [run, version]);
  const newer = live && moment.at === null && live.batch > (props.batch ?? -1);
  return newer ? live : props;
}

/* What a delta did not have, with the batch it is of. */
function leftOld({ values, old = {}, batch }, told) {
  const left = Object.keys(values).filter((entity) => !(entity in told));
  return Object.fromEntries(left.map((entity) => [entity, old[entity] || { batch, system: values.system }]));
}

function pushed(nodes, sparks, values) {
  const grown = { ...sparks };
  for (const { id, entity, spark } of nodes) {
    const number = valueOf(values, entity, spark);
    if (typeof number === "number") grown[id] = [...(grown[id] || []), number].slice(-SPARK_POINTS);
  }
  return grown;
}

/* The heat that was chosen: it lives in the address; the event `heat` takes the next one. shown: what cards
   show now, and can show. */
function useHeat(plan) {
  const [heat, setHeat] = useState(heatNamed(moment.heat));
  const shown = useRef({ heat, names: [], usual: "" });
  shown.current.usual = usualHeat(plan);
  const turn = (next) => go({ heat: heatText({ ...next, name: next.name === shown.current.usual ? null : next.name }) }, true);
  useEffect(() => {
    const offs = [on("moment", () => setHeat(heatNamed(moment.heat))), on("heat", (way) => turn(nextHeat(shown.current.heat, way, shown.current.names)))];
    return () => offs.forEach((off) => off());
  }, []);
  return [heat, turn, shown.current];
}

let dagre = null; // fetched for the first plan that is no chain

function useLibrary(needed) {
  const [, setLoaded] = useState(dagre !== null);
  useEffect(() => {
    if (!needed || dagre) return;
    import("../vendor/dagre.esm.js").then((library) => {
      dagre = library;
      setLoaded(true);
    });
  }, [needed]);
  return dagre;
}

/* All that is drawn: places by the plan and the width, numbers by the newest batch. */
function useScene(props, width, heat) {
  const { plan, selected } = props;
  const live = useLive(props);
  const path = useMemo(() => pathOf(plan), [plan.hash]);
  const library = useLibrary(!path && plan.nodes.length > 0);
  const map = useMap(plan, path, width, library);
  const lane = useMemo(() => layoutPlan(plan, width), [plan.hash, width]);
  const layout = map ? map.layout : lane;
  const glide = useGlide(layout.places, `${plan.run} ${plan.hash}`);
  const facts = useMemo(() => factsOf(props, live, heat.over), [props.whole.hash, live, props.refuted, heat.over]);
  const ghosts = useGhosts(plan, layout);
  const names = heatsOf(facts);
  const used = heatUsed(heat, names, plan);
  const top = heatTop(facts, used);
  const steps = plan.nodes.filter(isStep).sort((a, b) => a.position - b.position);
  useEffect(() => bringIn(map, selected), [selected, plan.hash, Boolean(map)]);
  return { plan, path, selected, width, heat: used, names, live, map, layout, glide, ghosts, facts, top, steps };
}

function factsOf({ whole, refuted }, { values, old, spreads }, over) {
  const facts = overTime(cardValues(whole, values, refuted, old), spreads, over);
  return { ...facts, verdicts: verdictsOf(whole, facts) };
}

export function PlanGraph(given) {
  const tools = useFolds(useMemo(() => described(given.plan), [given.plan]), given.selected);
  const { plan, whole: all } = tools;
  const props = { ...given, plan, whole: all };
  const [ref, width] = useWidth();
  const [heat, setHeat, shown] = useHeat(plan);
  const [tip, setTip] = useState(null);
  const scene = useScene(props, width, heat);
  const drawn = drawing(scene, useDrawn(scene, tools, setTip));
  const { facts, live, top } = scene;
  Object.assign(shown, { heat: scene.heat, names: scene.names });
  useTrace(ref, plan, (tip && (tip.id || tip.queue)) || props.selected);
  useHits(ref);
  useInSight(ref, tip, scene);
  useLayoutEffect(() => emit("drawn", { run: plan.run, version: plan.version, batch: live.batch }), [plan.run, plan.version, live.batch]);
  useEffect(() => () => emit("drawn", null), []);
  return h(
    "div",
    { id: props.id, className: "pw-graph", ref, onKeyDown: foldingKeys(tools), ...dataOf(scene) },
    graphTools(tools, props.selected),
    plan.nodes.length === 0 && h("p", { className: "pw-graph-none" }, "No plan yet: it is chosen with the first batch."),
    width > 0 && plan.nodes.length > 0 && stage(scene, drawn, tip && tipOf(scene, tip, facts, width, live.batch)),
    graphLegend({ heat: scene.heat, names: scene.names, setHeat, top, plan, level: scene.layout.level, values: facts.values })
  );
}

const stage = ({ map, facts, heat, top }, drawn, tip) => (map ? h(MapFrame, { map, drawn, tip, heatOf: (id) => heatOf(facts.cards[id], heatShown(heat), top) }) : h("div", { className: "pw-graph-stage" }, drawn, tip));

/* A hover card that would end below the window stands above what it tells of. */
function useInSight(ref, what, { layout, map }) {
  useLayoutEffect(() => {
    const tip = ref.current.querySelector(".pw-tip");
    if (!tip) return;
    const over = what.queue ? 34 : layout.places[what.id].h * seenFrom(map).scale + 16;
    tip.style.marginTop = "";
    const { bottom, height } = tip.getBoundingClientRect();
    if (bottom > window.innerHeight - 8) tip.style.marginTop = `${-height - over}px`;
  });
}

/* The hover card of a card or of a queue. */
function tipOf(scene, tip, facts, width, batch) {
  const { layout, map } = scene;
  const on = (place) => placed(place, seenFrom(map));
  if (tip.queue) return layout.lines[edgeKey(tip)] && queueTip(tip, { at: on({ ...layout.lines[edgeKey(tip)], w: 0, h: 0 }), facts, width, batch });
  return layout.places[tip.id] && graphTip(tip, { place: on(layout.places[tip.id]), facts, width, batch });
}

/* Where the upper left of what is seen lies, and its scale; of a lane all is seen. */
const seenFrom = (map) => (map ? map.view : { x: 0, y: 0, scale: 1 });

const placed = ({ x, y, w, h }, view) => ({ x: (x - view.x) * view.scale, y: (y - view.y) * view.scale, w: w * view.scale, h: h * view.scale });

const dataOf = ({ plan, live, glide, steps }) => ({
  "data-version": plan.version,
  "data-hash": plan.hash,
  "data-kind": plan.kind,
  "data-batch": live.batch,
  "data-as-of": live.batch,
  "data-gliding": glide.gliding ? "1" : "0",
  "data-order": steps.map((node) => node.id).join(" "),
});

/* What is drawn, made anew where more is another than what of it is in sight. */
function useDrawn(scene, tools, setTip) {
  const { plan, layout, glide, facts, selected, ghosts, top, live, heat } = scene;
  return useMemo(() => parts(scene, tools, setTip), [plan, layout, glide.places, facts, selected, ghosts, top, live.sparks, heat.name, heat.over, tools.folds]);
}

function parts(scene, tools, setTip) {
  const { plan, layout, glide, facts } = scene;
  const level = layout.level || "lane";
  return [
    h("defs", { key: "defs" }, tips(), skipTip()),
    graphBoxes(layout.boxes),
    layout.columns && graphFlow({ ...scene, heat: heatShown(scene.heat) }),
    h("g", { key: "ghosts" }, graphGhosts(scene)),
    edgesOf(scene).map(([edge, source, line, thick]) => graphEdge(edge, source, line, facts, { handlers: shownOn(edge.queue, edge, scene.selected, setTip), thick, level: layout.level })),
    graphSkips(plan, glide.places),
    plan.nodes.map((node) => layout.places[node.id] && card(scene, node, level, setTip)),
    foldMarks(plan, (id) => glide.places[id], tools.open),
  ];
}

function drawing(scene, drawn) {
  const { plan, width, layout, map, steps } = scene;
  const [wide, high] = map ? [map.frame.w, map.frame.h] : [Math.max(width, layout.width), layout.height + (plan.skips.length ? RISE : 0)];
  const { x, y, scale } = seenFrom(map);
  const properties = { width: wide, height: high, viewBox: `${x} ${y} ${wide / scale} ${high / scale}`, "data-scale": scale, role: "group", "aria-label": graphLabel(scene, steps) };
  return h("div", { key: "plan", className: "pw-graph-drawing" }, h("svg", properties, ...drawn), h(TupleDots, { scene, view: { x, y, scale } }));
}

function card(scene, node, level, setTip) {
  const { selected, heat, live, layout, glide, ghosts, facts, top } = scene;
  return graphCard(node, {
    place: glide.places[node.id] || layout.places[node.id],
    facts,
    spark: live.sparks[node.id],
    heat: heatShown(heat),
    top,
    selected: selected === node.id,
    level,
    moved: ghosts.some((ghost) => ghost.id === node.id),
    handlers: shownOn(node.id, node, selected, setTip),
  });
}

/* What is pinned by click, Enter or Space. */
function pinning(id, selected) {
  const pin = () => go({ node: selected === id ? null : id });
  return {
    "aria-pressed": selected === id ? "true" : "false",
    onClick: pin,
    onKeyDown: (event) => {
      if (event.key !== "Enter" && (event.key !== " " || isPointed(event.currentTarget))) return;
      event.preventDefault();
      event.stopPropagation();
      pin();
    },
  };
}

/* A card or a queue is pinned, and explained on hover or focus. */
function shownOn(id, what, selected, setTip) {
  const [show, hide] = [() => setTip(what), () => setTip(null)];
  return { ...pinning(id, selected), onMouseEnter: show, onMouseLeave: hide, onFocus: show, onBlur: hide };
}

function nextHeat(heat, way, names) {
  return { ...heat, name: names[(names.indexOf(heat.name) + way + names.length) % names.length] };
}

/* [edge, the node it leaves, its line, how thick the band is there]: as laid out, straight while its
   cards are on their way; in a lane, edges stand. */
function edgesOf(scene) {
  const { plan, layout, glide } = scene;
  if (layout.columns) return laneEdges(scene);
  const nodes = new Map(plan.nodes.map((node) => [node.id, node]));
  return plan.edges
    .filter(({ source, target }) => glide.places[source] && glide.places[target])
    .map((edge) => {
      const laid = glide.gliding ? null : layout.lines[edgeKey(edge)];
      return [edge, nodes.get(edge.source), laid || edgeLine(glide.places[edge.source], glide.places[edge.target])];
    });
}

/* Without early drop, tuples wait only in front of the constructs and behind them. */
function laneEdges({ plan, path, layout, facts }) {
  const shares = sharesOf(plan, path, facts);
  const found = new Map(plan.edges.map((edge) => [edge.source, edge]));
  return path
    .slice(0, -1)
    .map((node, place) => {
      const edge = found.get(node.id);
      return [edge, node, layout.lines[edgeKey(edge)], (shares[place] ?? 0) * layout.columns[place].most];
    })
    .filter((_, place, all) => !layout.boxes.length || place === 0 || place === all.length - 1);
}

const graphLabel = ({ plan, path }, steps) =>
  path
    ? `Plan ${plan.version}, ${plan.kind}: source, ${steps.map((node) => node.name).join(", ")}, output`
    : `Plan ${plan.version}, ${plan.kind}: ${plan.nodes.map((node) => `${node.word} ${node.name}`).join(", ")}`;

/* Tips of lines: at the end of an edge, at the store's end of a stub's line, at a new place. */
const TIPS = { "pw-arrow": "M0,0 L8,4 L0,8 Z", "pw-pointer": "M8,0 L0,4 L8,8 Z", "pw-ghost-tip": "M0,0 L8,4 L0,8 Z" };

const tips = () =>
  Object.entries(TIPS).map(([id, d]) =>
    h(
      "marker",
      { key: id, id, viewBox: "0 0 8 8", refX: id === "pw-pointer" ? 0 : 1, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
      h("path", { d })
    )
  );
