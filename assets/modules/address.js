/* The moment as an address and back. Pure. */

/** @typedef {{path: string, run: string | null, at: number | null, node: string | null, frozen: boolean, show: string | null, unit: string | null, heat: string | null, tables: string | null, span: string | null, scale: string | null, tour: string | null, stage: string | null}} Moment */

/** What only the browser draws by: the server is not asked again when it changes. */
export const OWN = ["heat", "scale", "tour", "stage"];

/** The moment of a page's path and search text; what is not there is null.
    @param {string} path
    @param {string} text
    @returns {Moment} */
export function parse(path, text) {
  const fields = new URLSearchParams(text || "");
  const at = /^\d+$/.test(fields.get("at") || "") ? Number(fields.get("at")) : null;
  return {
    path: path || "/",
    run: fields.get("run") || null,
    at,
    node: fields.get("node") || fields.get("decision") || null,
    frozen: fields.get("frozen") === "1" && at !== null,
    show: fields.get("show") || null,
    unit: fields.get("unit") || null,
    heat: fields.get("heat") || null,
    tables: fields.get("tables") || null,
    span: fields.get("span") || null,
    scale: fields.get("scale") || null,
    tour: fields.get("tour") || null,
    stage: fields.get("stage") || null,
  };
}

/** The search text of a moment, '' or '?…'.
    @param {Moment} moment */
export function search(moment) {
  const fields = new URLSearchParams();
  if (moment.run) fields.set("run", moment.run);
  if (moment.at !== null) fields.set("at", String(moment.at));
  if (moment.node) fields.set("node", moment.node);
  if (moment.frozen && moment.at !== null) fields.set("frozen", "1");
  if (moment.show) fields.set("show", moment.show);
  for (const name of ["unit", "tables", "span", ...OWN]) if (moment[name]) fields.set(name, moment[name]);
  const text = fields.toString();
  return text ? "?" + text : "";
}
