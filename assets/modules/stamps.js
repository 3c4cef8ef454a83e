/* Of which batch what stands on a LIVE page is. Elements with data-as-of are of that batch; where the header
   is further on, they are marked: data-older="b 1 121". Those with data-news are of the header's batch until
   news of these kinds come. */
import { byId, on, setAttr } from "./core.js";
import { show } from "./format.js";
import { currentMode, known } from "./moment.js";
import { catchUp, newsBatch } from "./page_keys.js";
import { paintedBatch } from "./painted.js";

/** Whether what was drawn for a batch is not of the one that the page shows: older, or ahead of it.
    @param {string} of
    @param {string | undefined} news kinds of records it depends on, all when undefined
    @param {number | null} shown */
function isOther(of, news, shown) {
  if (of === "" || shown === null) return false;
  const least = news === undefined ? shown : Math.min(shown, newsBatch(news.split(" ")));
  return Number(of) < least || Number(of) > shown;
}

function mark() {
  const shown = known.now === null ? null : paintedBatch();
  for (const node of document.querySelectorAll("[data-as-of]")) {
    const { asOf, news } = /** @type {HTMLElement} */ (node).dataset;
    if (!isOther(asOf, news, shown)) node.removeAttribute("data-older");
    else {
      setAttr(node, "data-older", `b ${show(Number(asOf), "int")}`);
      if (news !== undefined && currentMode() === "live") catchUp(Number(asOf));
    }
  }
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
