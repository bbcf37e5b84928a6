// Builds the page from its data; `window.gncReport` tells tests, and the curious, when it stands.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { load } from "./data.js";
import { element, section } from "./dom.js";
import { path } from "./paths.js";
import { Player, playerBar } from "./player.js";
import { plot } from "./plots.js";
import { readout } from "./readout.js";
import { sceneCard } from "./scene.js";
import { table } from "./tables.js";

function header({ title, subtitle, badge, takes }, choose) {
  const mark = badge ? [" ", element("span", { id: "verdict", className: `mark ${look(badge.ok)}` }, sign(badge))] : [];
  const head = element("header", {}, element("h1", {}, title, ...mark), element("p", {}, subtitle));
  if (takes.length > 1) {
    const options = takes.map(({ name }, k) => element("option", { value: k }, name));
    const select = element("select", { id: "take", ariaLabel: "Trial" }, ...options);
    select.onchange = () => choose(select.selectedIndex);
    head.append(element("label", { className: "take" }, "Plots and scene show ", select));
  }
  return head;
}

const look = (ok) => (ok === null ? "none" : ok ? "pass" : "fail");
const sign = ({ ok, text }) => `${ok === null ? "○" : ok ? "✓" : "✗"} ${text}`;

function playback(scene, player) {
  const { card, view } = sceneCard(scene, player);
  const numbers = element("details", {}, element("summary", {}, "Numbers"), readout(scene, player));
  numbers.open = matchMedia("(min-width: 900px)").matches;
  const aside = element("aside", {}, numbers);
  return { node: element("section", { className: "card", id: "playback" }, card, aside), view };
}

const grid = (className, nodes) => (nodes.length ? [element("div", { className: `grid ${className}` }, ...nodes)] : []);

// A chapter: its question, an answer in words, then scene, tables and plots. A folded one is drawn when it is opened.
function chapter({ title, lead, tables, plots, scene, folded }, player, found) {
  const inside = () => {
    const nodes = [];
    if (scene) {
      const { node, view } = playback(scene, player);
      Object.assign(found, { view });
      nodes.push(node);
    }
    nodes.push(...grid("tables", tables.map(table)));
    nodes.push(...grid("plots", plots.map((spec) => (spec.lines ? path(spec) : plot(spec, player)))));
    return nodes;
  };
  const words = lead ? [element("p", { className: "lead" }, lead)] : [];
  if (!folded) return element("section", { className: "chapter" }, element("h2", {}, title), ...words, ...inside());
  const fold = element("details", { className: "chapter" }, element("summary", {}, title), ...words);
  fold.ontoggle = () => fold.childElementCount === 1 + words.length && fold.append(...inside());
  return fold;
}

function textFold(summary, text) {
  if (!text) return [];
  return [element("details", { className: "card" }, element("summary", {}, summary), element("pre", {}, text))];
}

// One trial of the page: its chapters, its clock and its bar; called again, it replaces the trial before.
function show(page, k, story) {
  const before = window.gncReport;
  before?.view?.dispose();
  before?.player?.stop();
  document.getElementById("player")?.remove();
  const { chapters } = page.takes[k];
  const scene = chapters.map((entry) => entry.scene).find(Boolean);
  const player = scene ? new Player(scene.t[0], scene.t.at(-1)) : null;
  const found = { view: null };
  story.replaceChildren(...chapters.map((entry) => chapter(entry, player, found)));
  if (player) {
    document.body.append(playerBar(player));
    player.seek(before?.player?.t ?? player.start);
  }
  window.gncReport = { ready: true, player, view: found.view, take: k };
}

async function main() {
  const page = await load();
  const notes = page.notes.map((text) => element("p", {}, text));
  const story = element("div", { id: "story" });
  document.body.append(
    element(
      "main",
      {},
      header(page, (k) => show(page, k, story)),
      ...(notes.length ? [section("Notes", "notes", ...notes)] : []),
      story,
      ...textFold("The whole configuration", page.configuration),
      ...textFold("Licences of the viewer", page.licences),
    ),
  );
  show(page, 0, story);
}

main().catch((error) => {
  document.body.prepend(element("p", { className: "broken" }, `This report could not be drawn: ${error}`));
  throw error;
});
