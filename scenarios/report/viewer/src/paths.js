// Ways in a plane, as SVG: the trial chosen over the others, and outlines of what they must keep to.
import { section } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [600, 280, 56, 40, 8];
const NAMESPACE = "http://www.w3.org/2000/svg";

function shape(tag, attributes, text) {
  const node = document.createElementNS(NAMESPACE, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

export function path({ title, x_label, y_label, lines, outlines }) {
  const finite = (values) => Array.from(values).filter(Number.isFinite);
  const range = (values) => [Math.min(...values), Math.max(...values)];
  const corners = outlines.flatMap(({ points }) => points);
  const xs = range(lines.flatMap(({ x }) => range(finite(x))).concat(corners.map(([x]) => x)));
  const ys = range(lines.flatMap(({ y }) => range(finite(y))).concat(corners.map(([, y]) => y)));
  const scale = (low, high, from, to) => (v) => from + ((v - low) / (high - low || 1)) * (to - from);
  const [px, py] = [scale(...xs, LEFT, WIDTH - 8), scale(...ys, HEIGHT - BOTTOM, TOP)];
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "path", role: "img" });
  for (const v of ticks(...xs)) {
    svg.append(shape("line", { x1: px(v), x2: px(v), y1: TOP, y2: HEIGHT - BOTTOM, class: "rule" }));
    svg.append(shape("text", { x: px(v), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, v));
  }
  for (const v of ticks(...ys)) {
    svg.append(shape("line", { x1: LEFT, x2: WIDTH - 8, y1: py(v), y2: py(v), class: "rule" }));
    svg.append(shape("text", { x: LEFT - 6, y: py(v) + 4, "text-anchor": "end" }, v));
  }
  const middle = (HEIGHT - BOTTOM) / 2;
  svg.append(shape("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, x_label));
  svg.append(shape("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, y_label));
  for (const { name, x, y } of lines) {
    let drawing = "";
    let pen = "M";
    for (let k = 0; k < x.length; k++) {
      const known = Number.isFinite(x[k] + y[k]);
      if (known) drawing += `${pen}${px(x[k]).toFixed(1)} ${py(y[k]).toFixed(1)}`;
      pen = known ? "L" : "M";
    }
    svg.append(shape("path", { d: drawing, class: name.startsWith("_") ? "other" : "own" }));
  }
  for (const { points } of outlines) {
    svg.append(shape("path", { d: `M${points.map(([x, y]) => `${px(x)} ${py(y)}`).join("L")}`, class: "outline" }));
  }
  const [own, others] = [lines.filter(({ name }) => !name.startsWith("_")), lines.some(({ name }) => name.startsWith("_"))];
  const named = [...own.map(({ name }) => name), ...(others ? ["others grey"] : [])];
  const said = [...named, ...outlines.map(({ name }) => `${name} dashed`)].join(", ");
  const caption = document.createElement("p");
  Object.assign(caption, { className: "caption", textContent: said });
  return section(title, "plot", svg, caption);
}

function ticks(low, high) {
  const rough = (high - low || 1) / 6;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * unit).find((k) => k >= rough);
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) found.push(Number(v.toPrecision(6)));
  return found;
}
