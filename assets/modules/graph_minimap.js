/* All of a map in its corner, with a box around what is in sight; a click or a drag goes there. The
   same by keys: the arrows of the frame. */
import { centredMap } from "./graph_zoom.js";
import { h } from "./react.js";

const MOST = { w: 160, h: 100 };

/** @param {{map: any, heatOf: (id: string) => number | null}} properties heatOf: a node's step of colour */
export function MiniMap({ map, heatOf }) {
  const { view, layout, frame } = map;
  const left = (layout.width - layout.drawn) / 2;
  const scale = Math.min(MOST.w / layout.drawn, MOST.h / layout.height);
  const there = (event) => {
    if (!event.buttons) return;
    const box = event.currentTarget.getBoundingClientRect();
    const point = { x: left + (event.clientX - box.left) / scale, y: (event.clientY - box.top) / scale };
    map.set((now) => centredMap(now, map.layouts(now.level), frame, point));
  };
  const box = ({ x, y, w, h: high }, properties) => h("rect", { x, y, width: w, height: high, ...properties });
  return h(
    "svg",
    { key: "mini", className: "pw-graph-mini", width: layout.drawn * scale, height: layout.height * scale, viewBox: `${left} 0 ${layout.drawn} ${layout.height}`, "aria-hidden": "true", onPointerDown: there, onPointerMove: there },
    Object.entries(layout.places).map(([id, place]) => box(place, { key: id, className: `pw-heat-${heatOf(id) ?? "none"}` })),
    box({ x: view.x, y: view.y, w: frame.w / view.scale, h: frame.h / view.scale }, { key: "seen", className: "pw-graph-mini-seen", strokeWidth: 2 / scale })
  );
}
