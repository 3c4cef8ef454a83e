/* What on the screen is of an older batch than the one the header names says so: "b 1 121". A page is
   drawn as often as the server can; the plan and single numbers follow every delta. */
import { byId, on, setAttr } from "./core.js";
import { show } from "./format.js";
import { known, moment } from "./moment.js";
import { sectionsShown } from "./page_keys.js";

const mark = (node, batch) => {
  const older = moment.at === null && typeof batch === "number" && known.now !== null && batch < known.now;
  if (older) setAttr(node, "data-older", `b ${show(batch, "int")}`);
  else node.removeAttribute("data-older");
};

/* Marks what is older now, and nothing else. */
function markOlder() {
  for (const [section, batch] of sectionsShown()) {
    const nodes = byId(section) ? [byId(section)] : document.querySelectorAll(`[data-section="${section}"]`);
    for (const node of nodes) mark(node, batch);
  }
  for (const graph of document.querySelectorAll(".pw-graph[data-batch]")) mark(graph, Number(graph.dataset.batch));
}

/* What components draw is on screen with the next frame. */
for (const news of ["values", "painted", "moment", "standing"]) on(news, () => window.requestAnimationFrame(markOlder));
