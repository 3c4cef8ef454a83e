/* What a word stands for: the name of the record and its meaning, beside the word on hover and on
   keyboard focus; Escape puts it away. */
import { el, on } from "./core.js";

const GAP_PX = 6;
let tip = null;

function hide() {
  if (tip) tip.remove();
  tip = null;
}

function show(word) {
  hide();
  const { raw, meaning } = word.dataset;
  tip = el("div", { class: "pw-term-tip", role: "tooltip", id: "pw-term-tip" }, el("code", {}, raw), meaning ? el("span", {}, meaning) : null);
  document.body.append(tip);
  word.setAttribute("aria-describedby", "pw-term-tip");
  const at = word.getBoundingClientRect();
  const below = at.bottom + GAP_PX + tip.offsetHeight < window.innerHeight;
  tip.style.top = `${below ? at.bottom + GAP_PX : at.top - GAP_PX - tip.offsetHeight}px`;
  tip.style.left = `${Math.max(GAP_PX, Math.min(at.left, window.innerWidth - tip.offsetWidth - GAP_PX))}px`;
}

const wordOf = (event) => event.target instanceof Element && event.target.closest(".pw-term");

for (const come of ["mouseover", "focusin"])
  document.addEventListener(come, (event) => {
    const word = wordOf(event);
    if (word) show(word);
  });
for (const leave of ["mouseout", "focusout"]) document.addEventListener(leave, (event) => wordOf(event) && hide());
document.addEventListener("scroll", hide, true);
on("moment", hide);
on("painting", hide); // its word may be gone
document.addEventListener("keydown", (event) => event.key === "Escape" && hide(), true);
