/* PlanGraph: the plan as cards and edges, a Dash component without a build step.

   Props: plan {run, version, hash, kind, nodes: [{id, kind, label}], edges: [{source, target,
   queue}]}, values (a batch, shaped as the live delta), sparks {id: numbers}, batch, selected.
   Layout depends on the plan's hash and the width only; live deltas touch numbers only. */
import { on } from "./core.js";
import { useGlide } from "./graph_glide.js";
import { layoutPlan } from "./graph_layout.js";
import { graphLegend, graphTip } from "./graph_legend.js";
import { graphBand, graphCard, graphEdge } from "./graph_parts.js";
import { cardValues, heats, isStep, niceTop } from "./graph_values.js";
import { currentMode, go } from "./moment.js";
import { h, useEffect, useMemo, useRef, useState, useWidth } from "./react.js";

const SPARK_POINTS = 24;
const SPARK_OF = { "op:source": "tuples_per_s", "op:output": "n_matched" };

/* Values and sparklines that follow the stream while LIVE, and the props otherwise. */
function useLive(props) {
  const [live, setLive] = useState(null);
  const served = useRef(props);
  served.current = props;
  const { run, version } = props.plan;
  useEffect(() => {
    setLive(null);
    return on("values", (delta) => {
      if (delta.pv !== version) return;
      setLive((last) => {
        const base = last || served.current;
        const values = { ...base.values, ...delta.v };
        return { batch: delta.b, values, sparks: pushed(base.sparks, delta.v) };
      });
    });
  }, [run, version]);
  const newer = live && currentMode() === "live" && live.batch > (props.batch ?? -1);
  return newer ? live : props;
}

function pushed(sparks, values) {
  const grown = { ...sparks };
  const add = (id, number) => {
    if (typeof number === "number") grown[id] = [...(grown[id] || []), number].slice(-SPARK_POINTS);
  };
  for (const [id, own] of Object.entries(values)) if (isStep(id)) add(id, own.drop_prob);
  for (const [id, name] of Object.entries(SPARK_OF)) add(id, (values.system || {})[name]);
  return grown;
}

/* The heat the cards show; other parts of the page turn it with the event `heat`. */
function useHeat() {
  const [heat, setHeat] = useState("drops");
  useEffect(() => on("heat", (way) => setHeat((name) => nextHeat(name, way))), []);
  return [heat, setHeat];
}

/* All that is drawn: places by the plan and the width, numbers by the newest batch. */
function useScene(props, width, heat) {
  const { plan, selected } = props;
  const live = useLive(props);
  const layout = useMemo(() => layoutPlan(plan, width), [plan.hash, width]);
  const glide = useGlide(layout.places, `${plan.run} ${plan.hash}`);
  const facts = useMemo(() => cardValues(plan, live.values), [plan.hash, live.values]);
  const top = niceTop(Object.values(facts.cards).map(heats[heat].of));
  const steps = plan.nodes.filter((node) => isStep(node.id));
  return { plan, selected, width, heat, live, layout, glide, facts, top, steps };
}

export function PlanGraph(props) {
  const { plan } = props;
  const [ref, width] = useWidth();
  const [heat, setHeat] = useHeat();
  const [tip, setTip] = useState(null);
  const scene = useScene(props, width, heat);
  const { layout, facts, live, top } = scene;
  return h(
    "div",
    { id: props.id, className: "pw-graph", ref, ...dataOf(scene) },
    plan.nodes.length === 0 && h("p", { className: "pw-graph-none" }, "No plan yet: it is chosen with the first batch."),
    width > 0 && plan.nodes.length > 0 && drawing(scene, setTip),
    tip && layout.places[tip.id] && graphTip(tip, { place: layout.places[tip.id], facts, width, batch: live.batch }),
    graphLegend({ heat, setHeat, top, filters: scene.steps.some((node) => node.kind !== "asc") })
  );
}

const dataOf = ({ plan, live, glide, steps }) => ({
  "data-version": plan.version,
  "data-hash": plan.hash,
  "data-kind": plan.kind,
  "data-batch": live.batch,
  "data-gliding": glide.gliding ? "1" : "0",
  "data-order": steps.map((node) => node.id).join(" "),
});

function drawing(scene, setTip) {
  const { plan, width, live, layout, glide, facts, steps } = scene;
  return h(
    "svg",
    { width, height: layout.height, role: "group", "aria-label": graphLabel(plan, steps) },
    h("defs", null, arrow()),
    layout.band && graphBand(layout.band),
    edgesOf(plan, layout, glide.places).map(([edge, ends]) => graphEdge(edge, ends, facts, live.values)),
    plan.nodes.map((node) => layout.places[node.id] && card(scene, node, setTip))
  );
}

function card(scene, node, setTip) {
  const { selected, heat, live, layout, glide, facts, top, steps } = scene;
  return graphCard(node, {
    place: glide.places[node.id] || layout.places[node.id],
    facts,
    spark: live.sparks[node.id],
    heat: heats[heat],
    top,
    selected: selected === node.id,
    position: steps.indexOf(node) + 1,
    handlers: (own) => cardHandlers(own, selected, setTip),
  });
}

/* A card is pinned by click, Enter or Space, and explained on hover or focus. */
function cardHandlers(node, selected, setTip) {
  const pin = () => go({ node: selected === node.id ? null : node.id });
  return {
    onClick: pin,
    onKeyDown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      pin();
    },
    onMouseEnter: () => setTip(node),
    onMouseLeave: () => setTip(null),
    onFocus: () => setTip(node),
    onBlur: () => setTip(null),
  };
}

function nextHeat(name, way) {
  const names = Object.keys(heats);
  return names[(names.indexOf(name) + way + names.length) % names.length];
}

function edgesOf(plan, layout, places) {
  const edges = layout.band ? bandEdges(plan) : plan.edges;
  const rect = (id) => (id === "band" ? layout.band : places[id]);
  return edges
    .map((edge) => [edge, { from: rect(edge.from || edge.source), to: rect(edge.to || edge.target) }])
    .filter(([, ends]) => ends.from && ends.to);
}

function bandEdges(plan) {
  const last = plan.nodes[plan.nodes.length - 2].id;
  return [
    { source: "op:source", target: "band", to: "band", queue: "queue:source" },
    { source: last, from: "band", target: "op:output", queue: "queue:output" },
  ];
}

const graphLabel = (plan, steps) =>
  `Plan ${plan.version}, ${plan.kind}: source, ${steps.map((node) => node.label).join(", ")}, output`;

const arrow = () =>
  h(
    "marker",
    { id: "pw-arrow", viewBox: "0 0 8 8", refX: 1, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
    h("path", { d: "M0,0 L8,4 L0,8 Z" })
  );
