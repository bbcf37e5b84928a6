// Tables, with pass and fail in words as well as in colour.
import { element, section } from "./dom.js";

export function table({ title, columns, rows }) {
  const numeric = columns.map((_, k) => rows.some((row) => row[k]?.number !== undefined));
  const heading = (name, k) => element("th", { className: numeric[k] ? "number" : "" }, name);
  const head = element("thead", {}, element("tr", {}, ...columns.map(heading)));
  const body = element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell))));
  return section(title, "table", element("div", { className: "scroll" }, element("table", {}, head, body)));
}

function cell(value) {
  if (typeof value === "boolean") return element("td", {}, mark(value));
  if (value?.number !== undefined) return element("td", { className: "number" }, value.number);
  return element("td", {}, value ?? "");
}

const mark = (ok) => element("span", { className: ok ? "mark pass" : "mark fail" }, ok ? "✓ pass" : "✗ fail");

// The verdict beside the title: how many of all checks on the page hold.
export function verdict(tables) {
  const checks = tables.flatMap(({ rows }) => rows.flat()).filter((value) => typeof value === "boolean");
  if (!checks.length) return "";
  const failed = checks.filter((ok) => !ok).length;
  const ok = failed === 0;
  const all = checks.length;
  const text = ok ? `✓ ${all} of ${all} checks pass` : `✗ ${failed} of ${all} checks fail`;
  return element("span", { id: "verdict", className: ok ? "mark pass" : "mark fail" }, text);
}
