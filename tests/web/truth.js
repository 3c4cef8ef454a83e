/* Every number of a page in this instant, with the batch it claims: the older one that what it stands in
   is marked with, else that of the header. Run by tests/web/truth.py. */
() => {
  const EXEMPT = [
    "button,select,option,input,summary,[data-knob],[aria-current],.pw-tip,.pw-ghosts,.pw-reel,.pw-tick,.pw-chips,.pw-unzoom,.pw-toast,.pw-queue-of",
    ".js-plotly-plot,.pw-graph-legend,[data-whole],[data-timeless]",
  ].join(",");
  const digits = (text) => Number(text.replace(/\D/g, ""));
  const header = digits(document.getElementById("pw-strip-batch").textContent);
  const shell = document.getElementById("pw-shell");
  const named = (node) => {
    const parts = [];
    for (let at = node; at && at.id !== "pw-page"; at = at.parentElement) {
      const own = ["data-id", "data-queue", "data-edge", "data-entity", "id"].map((name) => at.getAttribute(name)).find(Boolean);
      const row = at.tagName === "TR" && at.querySelector("th") ? at.querySelector("th").textContent : "";
      const box = at.tagName === "TABLE" && at.caption ? at.caption.textContent.replace(/[\d\u2009]+/g, "#") : "";
      if (own || row || box) parts.push(own || row || box);
    }
    return parts.reverse().join(" / ");
  };
  const found = {};
  const add = (place, text, batch) => {
    found[place] = found[place] || [];
    found[place].push([text, batch]);
  };
  const walker = document.createTreeWalker(document.getElementById("pw-page"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!/[\d\u2014]/.test(node.data) || parent.closest(EXEMPT) || !parent.getClientRects().length) continue;
    const stamp = parent.closest("[data-as-of]");
    add(named(parent), node.data, stamp && stamp.hasAttribute("data-older") ? Number(stamp.dataset.asOf) : header);
  }
  const plan = document.getElementById("pw-plan").textContent;
  add("header", plan, header);
  return { header, mode: shell.dataset.mode, painting: shell.dataset.painting || "0", plan, found };
}
