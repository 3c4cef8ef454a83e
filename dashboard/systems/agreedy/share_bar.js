/* ShareBar: the shares of a whole as one bar with its legend; follows the stream while LIVE. */
import { components } from "./dash.js";
import { on } from "./core.js";
import { show } from "./format.js";
import { currentMode } from "./moment.js";
import { h, useEffect, useState } from "./react.js";

/* Shares of the newest batch while LIVE, and the props otherwise. */
function useShares({ entity, parts, batch }) {
  const [live, setLive] = useState(null);
  useEffect(() => on("values", (delta) => delta.v[entity] && setLive({ batch: delta.b, values: delta.v[entity] })), [entity]);
  const newer = live && currentMode() === "live" && live.batch > (batch ?? -1);
  return parts.map(([name, words, share]) => {
    const value = newer ? live.values[name] : share;
    return { name, words, share: value === undefined ? share : value };
  });
}

/* Enough digits that a small share is not nothing. */
const percent = (share) => (share === null ? "—" : share > 0 && share < 0.001 ? `${(100 * share).toPrecision(1)}\u2009%` : show(share, "pct"));

function ShareBar(props) {
  const shares = useShares(props);
  const drawn = shares.map((one, place) => ({ ...one, place })).slice(props.zoom ? 1 : 0);
  const whole = drawn.reduce((sum, one) => sum + (one.share || 0), 0);
  const words = drawn.map((one) => `${one.words} ${percent(one.share)}`).join(", ");
  const piece = (one) => h("i", { key: one.name, className: `pw-share-${one.place}`, style: { flexGrow: whole ? (one.share || 0) / whole : 0 } });
  const legend = (one) => h("li", { key: one.name, "data-share": one.name }, h("i", { className: `pw-share-${one.place}` }), h("span", null, one.words), h("b", null, percent(one.share)));
  return h(
    "div",
    { id: props.id, className: "pw-shares", "data-zoom": props.zoom ? "1" : "0" },
    h("div", { className: "pw-share-bar", role: "img", "aria-label": `${props.label}: ${words}` }, drawn.map(piece)),
    h("ul", { className: "pw-share-legend", "aria-label": props.label }, drawn.map(legend))
  );
}

Object.assign(components, { ShareBar });
