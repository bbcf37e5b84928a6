// Time plots: cursors move together, a line marks the time of the player, and a click moves the player there.
import uPlot from "uplot";
import { colour, element, section } from "./dom.js";
import { locate } from "./interpolate.js";

const PALETTE = ["#3e8bff", "#f2762e", "#1aa179", "#a56bf5", "#e5484d", "#0ea5b7", "#c99a06", "#e0569b"];
const HEIGHT = 240;
const PRINTED = 680; // of a page
const WIDE_CARD = ".grid > :last-child:nth-child(odd)";
const CLICK_PIXELS = 3; // more is a drag, which zooms

export function plot(spec, player) {
  const card = section(spec.title, "plot");
  const holder = element("div");
  card.append(...scaleButtons(spec, (scale) => draw(scale)), holder, ...shadeLegend(spec));
  let chart = null;
  const width = () => Math.max(card.clientWidth - 32, 200);
  const draw = (scale) => {
    chart?.destroy();
    const { series, data, bands } = uplotSeries(spec, scale);
    chart = new uPlot(options(spec, scale, series, bands), data, holder);
    chart.setSize({ width: width(), height: HEIGHT });
    if (player) link(chart, spec.t, player);
  };
  draw(first(spec));
  new ResizeObserver(() => chart.setSize({ width: width(), height: HEIGHT })).observe(card);
  addEventListener("beforeprint", () => chart.setSize({ width: card.matches(WIDE_CARD) ? PRINTED : PRINTED / 2 - 24, height: 220 }));
  addEventListener("afterprint", () => chart.setSize({ width: width(), height: HEIGHT }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.redraw());
  return card;
}

// How the y axis begins: logarithmic if the page says so, else as what is settled needs, else all of it.
const first = ({ log_y, settled }) => (log_y ? "log" : settled ? "settled" : "all");

function scaleButtons(spec, choose) {
  const edges = spec.series.flatMap(({ y, lower }) => [y, lower].filter(Boolean));
  const positive = edges.every((values) => !values.some((value) => value < 0)) && edges.some((y) => y.some((v) => v > 0));
  const scales = ["all", ...(spec.settled && !spec.log_y ? ["settled"] : []), ...(positive ? ["log"] : [])];
  if (scales.length < 2) return [];
  const row = element("div", { className: "scales" });
  const mark = (chosen) => {
    for (const button of row.children) button.ariaPressed = String(button.textContent === chosen);
  };
  const press = (scale) => () => {
    mark(scale);
    choose(scale);
  };
  row.append(...scales.map((scale) => element("button", { type: "button", onclick: press(scale) }, scale)));
  mark(first(spec));
  return [row];
}

function shadeLegend({ shades }) {
  if (!shades.length) return [];
  const entry = ({ name, spans, colour: tint }) => {
    const swatch = element("i", { className: spans[0]?.[0] === spans[0]?.[1] ? "swatch moment" : "swatch" });
    swatch.style.background = tint;
    return element("span", {}, swatch, name);
  };
  return [element("p", { className: "shades" }, ...shades.map(entry))];
}

function shadesPlugin(shades) {
  const draw = ({ ctx, bbox, valToPos }) => {
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const { spans, colour: tint } of shades) {
      for (const [start, end] of spans) {
        const [left, right] = [valToPos(start, "x", true), valToPos(end, "x", true)];
        ctx.fillStyle = start === end ? tint : `${tint}24`;
        ctx.fillRect(left, bbox.top, Math.max(right - left, 1.5), bbox.height);
      }
    }
    ctx.restore();
  };
  return { hooks: { drawClear: draw } };
}

// The names of bounds stand on their lines, at the right; where two would touch, the lower one stands below its line.
function boundsPlugin(bounds) {
  const draw = ({ ctx, bbox, valToPos }) => {
    const size = Math.round(11 * devicePixelRatio);
    const marked = bounds.filter(({ name }) => !name.endsWith(" ")).map(({ name, value }) => [valToPos(value, "y", true), name]);
    Object.assign(ctx, { font: `${size}px system-ui, sans-serif`, textAlign: "right", fillStyle: colour("--fail") });
    let above = -Infinity;
    for (const [y, name] of marked.sort(([a], [b]) => a - b)) {
      if (!(y >= bbox.top && y <= bbox.top + bbox.height)) continue;
      if (ctx.measureText(name).width > 0.8 * bbox.width) continue; // on a phone; the legend has it
      const room = y - Math.max(above, bbox.top) > 1.3 * size;
      ctx.fillText(name, bbox.left + bbox.width - 4, room ? y - 0.35 * size : y + 1.1 * size);
      above = y + (room ? 0 : 1.3 * size);
    }
  };
  return { hooks: { draw } };
}

function options({ x_label, y_label, settled, bounds, shades }, scale, series, bands) {
  const levels = bounds.map(({ value }) => value);
  const whole = (_, low, high) => uPlot.rangeNum(Math.min(low, ...levels), Math.max(high, ...levels), 0.08, true);
  const log = scale === "log";
  const positive = levels.filter((level) => level > 0);
  const decades = (_, low, high) => {
    const bottom = Math.min(settled && settled[0] > 0 ? Math.max(low, settled[0]) : low, ...positive);
    return uPlot.rangeLog(bottom, Math.max(high, ...positive), 10, false);
  };
  const y = log ? { distr: 3, range: decades } : { range: scale === "settled" ? () => settled : whole };
  return {
    width: 600,
    height: HEIGHT,
    series: [{ label: x_label, value: (_, t) => number(t) }, ...series],
    bands,
    plugins: [shadesPlugin(shades), boundsPlugin(bounds)],
    scales: { x: { time: false }, y },
    axes: [
      { ...axis(x_label), labelSize: 22, size: 34 },
      { ...axis(y_label, log), size: (_, texts) => 18 + 7.2 * widest(texts ?? []) },
    ],
    cursor: { sync: { key: "page", scales: ["x", null] }, points: { size: 6 } },
  };
}

const widest = (texts) => Math.max(3, ...texts.map((text) => text.length));

function axis(label, log) {
  const font = "12px system-ui, sans-serif";
  const stroke = () => colour("--muted");
  const decades = (_, splits) => splits.map((y) => (!log || Number.isInteger(Math.log10(y)) ? y : null));
  const lines = { stroke: () => colour("--line"), width: 1, filter: decades };
  const values = (_, splits) => splits.map((y) => (y === null ? "" : number(y)));
  return { label, font, labelFont: font, stroke, grid: lines, ticks: lines, values, filter: decades };
}

// uPlot draws one curve per array: a band is its line, its upper and its lower edge; a bound is a level line.
function uplotSeries(spec, scale) {
  const out = { series: [], data: [spec.t], bands: [] };
  const drawn = (y) => Number.isFinite(y) && (scale !== "log" || y > 0);
  const add = (look, values) => {
    out.series.push({ spanGaps: false, points: { show: false }, value: (_, y) => number(y), ...look });
    out.data.push(Array.from(values, (y) => (drawn(y) ? y : null)));
  };
  spec.series.forEach((series, k) => {
    const hidden = series.name.startsWith("_"); // belongs to the line before it
    const stroke = PALETTE[(hidden ? k - 1 : k) % PALETTE.length];
    if (series.style === "band") addBand(out, add, series, stroke);
    else add({ label: series.name, class: hidden ? "edge" : undefined, ...look(series.style, stroke) }, series.y);
  });
  for (const { name, value } of spec.bounds) {
    add({ label: name, class: name.endsWith(" ") ? "edge" : undefined, stroke: () => colour("--fail"), width: 1.5, dash: [3, 4] }, spec.t.map(() => value));
  }
  return out;
}

function addBand(out, add, { name, y, lower, upper }, stroke) {
  const numbers = (i) => (y ? [lower[i], y[i], upper[i]] : [lower[i], upper[i]]).map(number).join(" … ");
  const value = (_, __, ___, i) => (i == null ? "–" : numbers(i));
  const fill = y ? undefined : `${stroke}40`; // a band without a line is filled in the legend too
  add({ label: name, ...look("line", stroke), fill, value }, y ?? lower.map(() => NaN));
  const edge = { label: "", class: "edge", stroke: `${stroke}66`, width: 1 };
  add(edge, upper);
  add(edge, lower);
  out.bands.push({ series: [out.data.length - 2, out.data.length - 1], fill: `${stroke}2e` });
}

function look(style, stroke) {
  if (style === "points") return { stroke, paths: () => null, points: { show: true, size: 4, fill: stroke, width: 0 } };
  return { stroke, width: 1.6, dash: style === "dashed" ? [7, 5] : undefined };
}

function number(y) {
  if (y == null || Number.isNaN(y)) return "–";
  const rounded = Number(y.toPrecision(5));
  const handy = Math.abs(y) >= 1e-3 && Math.abs(y) < 1e6;
  return y === 0 || handy ? String(rounded) : rounded.toExponential();
}

function link(chart, times, player) {
  const now = document.createElement("div");
  now.className = "now";
  chart.over.append(now);
  let seen = true;
  const mark = () => {
    if (!seen || !chart.root.isConnected) return; // nothing is spent on plots out of sight, or replaced
    const left = chart.valToPos(player.t, "x");
    now.hidden = !(left >= 0 && left <= chart.bbox.width / devicePixelRatio);
    now.style.transform = `translateX(${left}px)`;
    if (!(chart.cursor.left >= 0)) chart.setLegend({ idx: nearest(times, player.t) });
  };
  player.onChange(mark);
  (chart.hooks.draw ??= []).push(mark);
  new IntersectionObserver(([entry]) => {
    seen = entry.isIntersecting;
    mark();
  }).observe(chart.root);
  let pressed = 0;
  chart.over.addEventListener("mousedown", (event) => (pressed = event.clientX));
  chart.over.addEventListener("click", (event) => {
    if (Math.abs(event.clientX - pressed) > CLICK_PIXELS) return;
    player.seek(chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, "x"));
  });
}

function nearest(times, t) {
  if (times.length < 2) return 0;
  const { i, f } = locate(times, t);
  return f < 0.5 ? i : i + 1;
}
