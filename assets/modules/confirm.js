/* A question before something that cannot be taken back; a page's own, in the page's own looks. */
import { el } from "./core.js";

/** Ask; resolves to whether the answer was yes. Escape is no.
    @param {string} question
    @param {string} yes what the button that does it says
    @returns {Promise<boolean>} */
export function confirmed(question, yes) {
  return new Promise((resolve) => {
    const no = el("button", { type: "button", class: "pw-button" }, "Cancel");
    const go = el("button", { type: "button", class: "pw-button pw-danger" }, yes);
    const box = el("dialog", { class: "pw-help pw-confirm", "aria-label": yes }, el("p", {}, question), el("div", { class: "pw-confirm-row" }, no, go));
    const close = (answer) => () => {
      resolve(answer);
      box.remove();
    };
    no.addEventListener("click", close(false));
    go.addEventListener("click", close(true));
    box.addEventListener("cancel", close(false));
    document.body.append(box);
    box.showModal();
    no.focus();
  });
}
