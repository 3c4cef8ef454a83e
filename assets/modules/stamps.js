/* Of which batch what stands on a LIVE page is. Elements with data-as-of are of that batch; where the header
   is further on, they are marked: data-older="just", and "long" where people may want to know: numbers that
   are two seconds older. The header says how far those are behind. Elements with data-news are of the
   header's batch until news of these kinds come. */
import { byId, on, setAttr, setText } from "./core.js";
import { show } from "./format.js";
import { timeAt } from "./header.js";
import { currentMode, known } from "./moment.js";
import { catchUp, newsBatch } from "./page_keys.js";
import { paintedBatch } from "./painted.js";

const LONG_S = 2;
/* What stands in these is no number of a batch. */
const TIMELESS = "[hidden],form,button,select,label,.pw-empty,[data-knob]";

/** Whether what was drawn for a batch is not of the one that the page shows: older, or ahead of it.
    @param {string} of
    @param {string | undefined} news kinds of records it depends on, all when undefined
    @param {number | null} shown */
function isOther(of, news, shown) {
  if (of === "" || shown === null) return false;
  const least = news === undefined ? shown : Math.min(shown, newsBatch(news.split(" ")));
  return Number(of) < least || Number(of) > shown;
}

/** Whether it says a number that is that of a batch. */
function tellsNumber(node) {
  const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    if (/\d/.test(data) && !parentElement.closest(TIMELESS)) return true;
  }
  return false;
}

const isLong = (node, of, shown) => of < shown && timeAt(shown) - timeAt(of) >= LONG_S && tellsNumber(node);

function mark() {
  const shown = known.now === null ? null : paintedBatch();
  const live = currentMode() === "live";
  let behind = 0;
  for (const node of document.querySelectorAll("[data-as-of]")) {
    const { asOf, news } = /** @type {HTMLElement} */ (node).dataset;
    if (!isOther(asOf, news, shown)) {
      node.removeAttribute("data-older");
      continue;
    }
    const long = live && isLong(node, Number(asOf), shown);
    if (long) behind = Math.max(behind, shown - Number(asOf));
    setAttr(node, "data-older", long ? "long" : "just");
    if (live && news !== undefined) catchUp(Number(asOf));
  }
  tell(behind);
}

/** How many batches the panel furthest behind is. */
function tell(behind) {
  const node = byId("pw-older");
  if (!node) return;
  node.hidden = !behind;
  setText(node, behind ? `panels ≤ ${show(behind, "int")} ${behind === 1 ? "batch" : "batches"} old` : "");
}

let watched = null;

/* What React draws is marked before it is seen. */
function watch() {
  const page = byId("pw-page");
  if (page && page !== watched) new MutationObserver(mark).observe(page, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-as-of"] });
  watched = page;
  mark();
}

for (const news of ["painted", "painting", "moment", "shell"]) on(news, watch);
