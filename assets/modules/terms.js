/* What a word stands for: the name of the record and its meaning, beside the word on hover and on
   keyboard focus; Escape puts it away. */
import { el, on } from "./core.js";

const GAP_PX = 6;
/* Until a page that is drawn anew stands, ms. */
const DRAWN_MS = 300;
let termTip = null;
let shownTerm = null;

function hide() {
  if (termTip) termTip.remove();
  termTip = null;
}

/* A word may be gone when what is shown is another moment; one that stays keeps its tip. */
const dropStray = () => termTip && !shownTerm.isConnected && hide();

function showTerm(word) {
  hide();
  shownTerm = word;
  const { raw, meaning } = word.dataset;
  termTip = el("div", { class: "pw-term-tip", role: "tooltip", id: "pw-term-tip" }, el("code", {}, raw), meaning ? el("span", {}, meaning) : null);
  document.body.append(termTip);
  word.setAttribute("aria-describedby", "pw-term-tip");
  const at = word.getBoundingClientRect();
  const below = at.bottom + GAP_PX + termTip.offsetHeight < window.innerHeight;
  termTip.style.top = `${below ? at.bottom + GAP_PX : at.top - GAP_PX - termTip.offsetHeight}px`;
  termTip.style.left = `${Math.max(GAP_PX, Math.min(at.left, window.innerWidth - termTip.offsetWidth - GAP_PX))}px`;
}

const wordOf = (event) => event.target instanceof Element && event.target.closest(".pw-term");

for (const come of ["mouseover", "focusin"])
  document.addEventListener(come, (event) => {
    const word = wordOf(event);
    if (word) showTerm(word);
  });
for (const leave of ["mouseout", "focusout"]) document.addEventListener(leave, (event) => wordOf(event) && hide());
document.addEventListener("scroll", hide, true);
for (const event of ["moment", "painting"]) on(event, () => setTimeout(dropStray, DRAWN_MS));
document.addEventListener("keydown", (event) => event.key === "Escape" && hide(), true);
