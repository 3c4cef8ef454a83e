/* Whether what has the focus got it by a click: then keys are the page's, as space is that freezes. */
let pointed = null;

document.addEventListener("pointerdown", (event) => (pointed = event.target), { capture: true });
document.addEventListener("keydown", (event) => event.key === "Tab" && (pointed = null), { capture: true });

/** @param {Element} element */
export const isPointed = (element) => pointed instanceof Node && element.contains(pointed);
