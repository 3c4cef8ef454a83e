/* What fits a card: how wide text is, without a look at the page. */

/** Sizes of text in the graph, px: those of names, and of the fine print. */
export const SIZES = { body: 13, fine: 11, big: 17 };
/* Widths of letters in shares of the size, of the semi-bold font; others are about as wide as high. */
const WIDTHS = [
  { of: /[ijlI.,:;·'\s]/, width: 0.28 },
  { of: /[ftr/|()[\]]/, width: 0.4 },
  { of: /[aceksvxyzFJL_]/, width: 0.59 },
  { of: /[bdghnopquE]/, width: 0.63 },
  { of: /[0-9BPRSTZ*<>=+−-]/, width: 0.66 },
  { of: /[ACDGHKNOQUVXY]/, width: 0.76 },
  { of: /[mwM]/, width: 0.9 },
  { of: /./su, width: 1.05 },
];

const letterWidth = (letter) => WIDTHS.find(({ of }) => of.test(letter)).width;

/** How wide a text is at most, px.
    @param {string} text
    @param {number} [size] */
export const textWidth = (text, size = SIZES.fine) => size * [...text].reduce((sum, letter) => sum + letterWidth(letter), 0);

/** How many of its first letters fit a width.
    @param {string} text
    @param {number} width
    @param {number} [size] */
export function lettersThatFit(text, width, size) {
  let n = text.length;
  while (n > 0 && textWidth(text.slice(0, n), size) > width) n -= 1;
  return n;
}

/** Shorten a text to what fits; the full one is in the tooltip and the label.
    @param {string} text
    @param {number} width
    @param {number} [size] */
export function fit(text, width, size) {
  if (textWidth(text, size) <= width) return text;
  return text.slice(0, Math.max(1, lettersThatFit(text, width - textWidth("…", size), size))) + "…";
}

/** As many of a line's parts, which dots divide, as fit, the first at least.
    @param {string} text
    @param {number} width */
export function fitting(text, width) {
  const parts = text.split(" · ");
  while (parts.length > 1 && textWidth(parts.join(" · ")) > width) parts.pop();
  return fit(parts.join(" · "), width);
}

const WORD = /([_\s-]|\.(?!\d))((?![_\s-]|\.(?!\d)).)*$/; // the end of the last whole one

/** A name on one line, or on two, broken where its words meet; each as wide as told.
    @param {string} name
    @param {number} width
    @param {number} [size]
    @param {number} [last] how wide the last line is at most */
export function nameLines(name, width, size, last = width) {
  const whole = textWidth(name, size);
  if (whole <= last) return [name];
  if (whole <= width) return [name, ""];
  const most = Math.max(2, lettersThatFit(name, width, size));
  const words = name.slice(0, most).search(WORD);
  const end = words > 0 ? words + 1 : Math.min(most, name.length - 3);
  return [name.slice(0, end), fit(name.slice(end), last, size)];
}

const DOT = " · ";
const STUMP = /^.{0,3}…$/su; // what is left of a name where there is no room

/** A name and a number on one line.
    @param {string} name
    @param {string} number '' = none
    @param {number} width */
export function numberedLine(name, number, width) {
  const words = number && `${DOT}${number}`;
  return fit(name, width - textWidth(words)) + words;
}

/** A name and a number on two lines; where the number would leave a stump of the second one's words, the name is on
    the first, without its sign where it is whole then.
    @param {string} name
    @param {string} bare the name without its sign
    @param {string} number '' = none
    @param {number} width */
export function numberedLines(name, bare, number, width) {
  const words = number && `${DOT}${number}`;
  const lines = nameLines(name, width, SIZES.fine, width - textWidth(words));
  if (!number || lines.length === 1 || (lines[1] && !STUMP.test(lines[1]))) return [...lines.slice(0, -1), lines.at(-1) + words];
  return [lines[1] && textWidth(bare) <= width ? bare : fit(name, width), number];
}
