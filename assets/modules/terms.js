/* What a word stands for: the name of the record and its meaning, beside the word on hover and on
   keyboard focus; Escape puts it away. */
import { el, on, placeBy } from "./core.js";
import { meaningOf } from "./glossary.js";

/* Until a page that is drawn anew stands, ms. */
const DRAWN_MS = 300;
let tip = null;
let shown = null;

function hide() {
  if (tip) tip.remove();
  tip = null;
}

/* A word may be gone when what is shown is another moment; one that stays keeps its tip. */
const look = () => tip && !shown.isConnected && hide();

function show(word) {
  hide();
  shown = word;
  const { raw } = word.dataset;
  const meaning = word.dataset.meaning || meaningOf(word.textContent);
  tip = el("div", { class: "pw-term-tip", role: "tooltip", id: "pw-term-tip" }, el("code", {}, raw), meaning ? el("span", {}, meaning) : null);
  document.body.append(tip);
  word.setAttribute("aria-describedby", "pw-term-tip");
  placeBy(tip, word.getBoundingClientRect());
}

const wordOf = (event) => event.target instanceof Element && event.target.closest(".pw-term");

for (const come of ["mouseover", "focusin"])
  document.addEventListener(come, (event) => {
    const word = wordOf(event);
    if (word) show(word);
  });
for (const leave of ["mouseout", "focusout"]) document.addEventListener(leave, (event) => wordOf(event) && hide());
/* A word that the focus brings into sight keeps its tip. */
document.addEventListener("scroll", () => tip && (shown === document.activeElement ? show(shown) : hide()), true);
for (const event of ["moment", "painting"]) on(event, () => setTimeout(look, DRAWN_MS));
document.addEventListener("keydown", (event) => event.key === "Escape" && hide(), true);
