/* What bids of one currency are multiplied by beside those of another, as a line to drag: where it passes a mark
   the two bids change places. Moving it changes nothing until it is applied. */
import { byKeys, byPointer } from "./dragged.js";
import { answerChip, useTurns } from "./knob_card.js";
import { send } from "./knob_turns.js";
import { keyedPrice, pricePlace, priceAt, priceText } from "./price_scale.js";
import { h, useRef } from "./react.js";

const percent = (value) => `${(100 * value).toFixed(2)}%`;

/** @param {any} props run; price, of the drawing (see dashboard/panels/common/market.py); draft, null = none; change;
    preview, of the draft */
export function Price({ run, price, draft, change, preview }) {
  const { request, queue, row: knob, wanted } = useTurns(run, price.knob, null);
  const box = useRef(null);
  const value = draft === null ? Number(wanted) : draft;
  const place = pricePlace(knob, value);
  const asks = draft !== null && draft !== Number(wanted);
  const apply = () => {
    send(run, knob, draft, "dragged on the market", knob.version);
    change(null);
  };
  const edge = {
    className: "pw-price-edge",
    role: "slider",
    tabIndex: 0,
    "aria-label": price.name,
    "aria-valuemin": knob.low,
    "aria-valuemax": knob.high,
    "aria-valuenow": value,
    "aria-valuetext": priceText(knob, value),
    style: { left: percent(place) },
    ...byKeys((key) => keyedPrice(knob, key, value), change),
  };
  const tie = ({ bid, name, over, value: at }) => h("i", { key: bid, className: `pw-price-tie${at < value ? " pw-price-passed" : ""}`, "data-bid": bid, title: `from ${priceText(knob, at)} on ${over} comes before ${name}`, style: { left: percent(pricePlace(knob, at)) } }, h("b", null, name));
  const shift = place > 0.8 ? "-100%" : place < 0.2 ? "0" : "-50%";
  return h(
    "section",
    { className: "pw-market-price", "data-knob": knob.name, "data-price": wanted, "aria-label": price.name },
    h("h4", null, knob.title, h("span", { className: "pw-dim" }, ` ${price.holders}`)),
    h("div", { className: "pw-price", ref: box, ...byPointer(box, (at) => change(priceAt(knob, at))) }, price.ties.map(tie), h("div", edge, h("span", { style: { transform: `translateX(${shift})` } }, priceText(knob, value)))),
    asks && preview({ from: priceText(knob, Number(wanted)), to: priceText(knob, draft), apply, drop: () => change(null) }),
    request && h("p", { className: "pw-market-answer" }, answerChip(request, queue))
  );
}
