/* RowTable and DecisionList: many rows as ONE Dash component.

   Every Dash component subscribes to the renderer's store, so a table of a thousand cells made of
   them takes seconds; drawn here it takes milliseconds. Cells: number, string, null, or an object
   {text, sort, title, mark, jump, badges, bar, sub, parts, code, form, live, tree, span}; see
   dashboard/components/rows.py. */
import { on } from "./core.js";
import { show } from "./format.js";
import { valueOf } from "./points.js";
import { h, useEffect, useState } from "./react.js";
import { sorted } from "./sorting.js";
import { draw } from "./static.js";

const rich = (cell) => cell !== null && typeof cell === "object";

export function link(jump, children, extra) {
  const data = { href: jump.href };
  for (const key of ["path", "at", "node", "run", "unit", "show"]) if (jump[key] !== undefined) data["data-pw-" + key] = jump[key];
  return h("a", { className: "pw-link", ...data, ...extra }, children);
}

function content(cell, form) {
  if (!rich(cell)) return cell === "" ? "" : show(cell, form);
  if (cell.tree !== undefined) return draw(cell.tree);
  const text = cell.text === undefined ? null : show(cell.text, cell.form || form);
  const body = [];
  if (cell.code) body.push(h("code", { key: "code", className: "pw-raw" }, text));
  else if (cell.jump) body.push(link(cell.jump, text, { key: "link" }));
  else if (text !== null) body.push(text);
  for (const [i, part] of (cell.parts || []).entries()) body.push(h("span", { key: "p" + i, className: part[1] || undefined }, part[0]), " ");
  for (const [i, mark] of (cell.badges || []).entries()) body.push(h("span", { key: "b" + i, className: `pw-badge pw-tone-${mark[1]}` }, mark[0]), " ");
  if (cell.bar !== undefined) body.push(h("div", { key: "bar", className: "pw-bar", "aria-hidden": true }, h("i", { style: { width: `${100 * Math.min(1, cell.bar)}%` } })));
  if (cell.sub) body.push(h("div", { key: "sub", className: "pw-sub" }, cell.sub));
  return body;
}

const sortKey = (cell) => (rich(cell) ? (cell.sort !== undefined ? cell.sort : cell.text) : cell);

function heading(column, index, by, setBy) {
  const here = by && by.column === index;
  const title = column.unit ? `${column.title} (${column.unit})` : column.title;
  const press = () => setBy({ column: index, up: here ? !by.up : true });
  const sort = here ? (by.up ? "ascending" : "descending") : "none";
  const button = h("button", { type: "button", className: "pw-sort", title: column.hint || undefined, onClick: press }, title);
  return h("th", { key: index, scope: "col", className: column.form ? "pw-num" : undefined, "aria-sort": sort }, button);
}

function line(row, columns) {
  const cells = row.cells.map((cell, i) => {
    const marks = [columns[i].form ? "pw-num" : "", (rich(cell) && cell.mark) || ""].join(" ").trim();
    const { title, span } = rich(cell) ? cell : {};
    const order = sortKey(cell);
    const number = typeof order === "number" ? order : undefined;
    const props = { key: i, className: marks || undefined, title: title || undefined, colSpan: span, "data-sort": number, "data-as-of": rich(cell) ? cell.of : undefined };
    return i === 0 ? h("th", { ...props, scope: "row" }, content(cell, columns[i].form)) : h("td", props, content(cell, columns[i].form));
  });
  return h("tr", { key: row.key, ...row.attributes }, cells);
}

/* The rows with the newest values of their live cells, until the server sends others. */
function useLive(rows) {
  const [live, setLive] = useState({ rows, values: {} });
  useEffect(() => {
    const keys = rows.flatMap((row) => row.cells).flatMap((cell) => (rich(cell) && cell.live ? [cell.live] : []));
    const follow = ({ v, b }) => {
      const found = keys.map(([entity, property]) => [`${entity}|${property}`, valueOf(v, entity, property)]);
      const news = Object.fromEntries(found.filter(([, value]) => value !== undefined).map(([key, text]) => [key, { text, of: b }]));
      if (Object.keys(news).length) setLive((before) => ({ rows, values: before.rows === rows ? { ...before.values, ...news } : news }));
    };
    return keys.length ? on("values", follow) : undefined;
  }, [rows]);
  if (live.rows !== rows) return rows;
  const now = (cell) => {
    const value = rich(cell) && cell.live ? live.values[cell.live.join("|")] : undefined;
    return value === undefined ? cell : { ...cell, ...value };
  };
  return rows.map((row) => ({ ...row, cells: row.cells.map(now) }));
}

export function RowTable(props) {
  const [by, setBy] = useState(null);
  const { caption, columns, total } = props;
  const rows = useLive(props.rows);
  const words = total > rows.length ? `${caption} · ${show(rows.length, "int")} of ${show(total, "int")}` : caption;
  return h(
    "div",
    { id: props.id, className: "pw-table-scroll", tabIndex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      { className: `pw-table ${props.className || ""}`.trim() },
      h("caption", { className: "pw-caption" }, words),
      h("thead", null, h("tr", null, columns.map((column, i) => heading(column, i, by, setBy)))),
      h("tbody", null, (by ? sorted(rows, (row) => sortKey(row.cells[by.column]), by.up) : rows).map((row) => line(row, columns)))
    )
  );
}

function item(one) {
  const data = { "data-pw-node": one.node, "data-verdict": one.verdict, "data-seq": one.seq, "aria-current": one.here ? "true" : undefined };
  return h(
    "li",
    { key: one.seq },
    h(
      "a",
      { className: "pw-decision-row", href: one.href, ...data },
      h("span", { className: "pw-decision-sign", "aria-hidden": true }, one.sign),
      h(
        "span",
        { className: "pw-decision-text" },
        h("span", { className: "pw-decision-top" }, h("b", null, one.word), h("span", { className: "pw-decision-saved" }, one.saved)),
        h("span", { className: "pw-decision-below" }, h("span", null, one.summary), h("span", null, one.place))
      )
    )
  );
}

export const DecisionList = (props) => h("ul", { id: props.id, className: "pw-decision-list", "aria-label": props.label }, props.items.map(item));
