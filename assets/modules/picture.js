/* Any drawing of the page as one SVG that is the same anywhere: its svgs with their looks inside, and
   the words, grounds and borders of the html around them, each where it stands. */
const SVG = "http://www.w3.org/2000/svg";
const FONT = "/assets/vendor/inter.woff2";
const SHAPE = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "opacity", "display", "visibility", "white-space"];
const LETTERS = ["font-family", "font-size", "font-weight", "font-style", "text-anchor"];
const LOOKS = [...SHAPE, ...LETTERS];
const LEFT_OUT = "button, input, select, textarea, label, details, .pw-sr, .pw-scale-choice, .pw-panel-knobs, h3:has(+ .pw-panel-knobs)";

function made(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  if (text) node.textContent = text;
  return node;
}

/* Where things stand, from the upper left of the first; `box` grows to hold all of them. */
function placed({ left, top, right, bottom }, box) {
  box.left = Math.min(box.left, left);
  box.top = Math.min(box.top, top);
  box.right = Math.max(box.right, right);
  box.bottom = Math.max(box.bottom, bottom);
  return { x: left, y: top, width: right - left, height: bottom - top };
}

function drawing(svg, box) {
  const copy = /** @type {SVGElement} */ (svg.cloneNode(true));
  const originals = [svg, ...svg.querySelectorAll("*")];
  for (const [i, node] of [copy, ...copy.querySelectorAll("*")].entries()) {
    const looks = getComputedStyle(originals[i]);
    node.setAttribute("style", LOOKS.map((name) => `${name}:${looks.getPropertyValue(name)}`).join(";"));
  }
  const place = placed(svg.getBoundingClientRect(), box);
  if (!svg.hasAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${svg.clientWidth || place.width} ${svg.clientHeight || place.height}`);
  for (const [key, value] of Object.entries(place)) copy.setAttribute(key, String(value));
  return [copy];
}

/* A word a text, so that lines break where they broke. */
function words(node, box) {
  const looks = getComputedStyle(node.parentElement);
  const style = `fill:${looks.color};${LETTERS.slice(0, 4).map((name) => `${name}:${looks.getPropertyValue(name)}`).join(";")}`;
  return [...node.data.matchAll(/\S+/g)].flatMap(({ 0: word, index }) => {
    const range = document.createRange();
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const { x, y, height, width } = placed(range.getBoundingClientRect(), box);
    return width ? [made("text", { x, y: y + 0.78 * height, style }, word)] : [];
  });
}

function ground(node, looks, box) {
  const [filled, line] = [!/^rgba\(.*, 0\)$/.test(looks.backgroundColor), parseFloat(looks.borderTopWidth)];
  const framed = line > 0 && looks.borderTopStyle !== "none" && parseFloat(looks.borderLeftWidth) > 0;
  if (!filled && !framed) return [];
  const frame = framed ? `stroke:${looks.borderTopColor};stroke-width:${line}` : "";
  const place = placed(node.getBoundingClientRect(), box);
  return [made("rect", { ...place, rx: parseFloat(looks.borderTopLeftRadius) || 0, style: `fill:${filled ? looks.backgroundColor : "none"};${frame}` })];
}

function drawn(node, box) {
  if (node instanceof Text) return words(node, box);
  if (!(node instanceof Element) || node.matches(LEFT_OUT) || !node.checkVisibility({ visibilityProperty: true })) return [];
  if (node instanceof SVGElement) return drawing(node, box);
  return [...ground(node, getComputedStyle(node), box), ...[...node.childNodes].flatMap((child) => drawn(child, box))];
}

async function fontRule() {
  const bytes = new Uint8Array(await (await fetch(FONT)).arrayBuffer());
  const letters = [...bytes].map((one) => String.fromCharCode(one)).join("");
  return `@font-face{font-family:"Inter";font-weight:400 750;src:url(data:font/woff2;base64,${btoa(letters)}) format("woff2")}`;
}

const MARGIN = 12;

/** What an element shows, as {text, width, height}: the text of an SVG file and its size in pixels.
    @param {Element} element */
export async function pictureOf(element) {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  const parts = drawn(element, box);
  const [width, height] = [Math.ceil(box.right - box.left) + 2 * MARGIN, Math.ceil(box.bottom - box.top) + 2 * MARGIN];
  const card = getComputedStyle(document.documentElement).getPropertyValue("--pw-card").trim();
  const whole = made("svg", { width, height, viewBox: `0 0 ${width} ${height}`, style: `background:${card}` });
  const moved = made("g", { transform: `translate(${MARGIN - box.left},${MARGIN - box.top})` });
  moved.append(...parts);
  whole.append(made("style", {}, await fontRule()), made("rect", { width, height, fill: card }), moved);
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

const SHARP = 2; // pixels of the file for one of the page

/** The same as PNG, twice as fine as on the screen.
    @param {{text: string, width: number, height: number}} picture
    @returns {Promise<Blob>} */
export async function pngOf({ text, width, height }) {
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = SHARP * width;
  canvas.height = SHARP * height;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
