// Tables, with pass and fail in words as well as in colour; on a narrow screen every row becomes a list.
import { element, section } from "./dom.js";

const SHORT = 16; // letters that are not broken: a bound, a margin, an interval

export function table({ title, columns, rows }) {
  const used = columns.map((_, k) => rows.some((row) => row[k] !== null && row[k] !== ""));
  const kept = (row) => row.filter((_, k) => used[k] || k === 0);
  const numeric = columns.map((_, k) => rows.some((row) => row[k]?.number !== undefined));
  const heading = (name, k) => element("th", { className: numeric[k] ? "number" : "" }, name);
  const head = element("thead", {}, element("tr", {}, ...kept(columns.map(heading))));
  const lines = rows.map((row) => element("tr", {}, ...kept(row.map((value, k) => cell(value, columns[k])))));
  const body = element("tbody", {}, ...lines);
  const card = section(title, "table", element("div", { className: "scroll" }, element("table", {}, head, body)));
  if (kept(columns).length > 4) card.classList.add("wide");
  return card;
}

function cell(value, column) {
  const node = element("td", {});
  node.dataset.column = column;
  if (typeof value === "boolean") node.append(mark(value));
  else if (value?.number !== undefined) {
    node.className = "number";
    node.append(value.bar === undefined ? value.number : element("span", {}, value.number, bar(value.bar)));
  } else {
    node.append(value ?? "");
    if ((value ?? "").length <= SHORT) node.className = "short";
  }
  return node;
}

function bar(share) {
  const inner = element("i", { className: share < 0 ? "minus" : "" });
  inner.style.width = `${Math.min(Math.abs(share), 1) * 100}%`;
  return element("span", { className: "bar" }, inner);
}

const mark = (ok) => element("span", { className: ok ? "mark pass" : "mark fail" }, ok ? "✓ pass" : "✗ fail");
