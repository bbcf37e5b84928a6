// Builds the page from its data; `window.gncReport` tells tests, and the curious, when it stands.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { load } from "./data.js";
import { element, section } from "./dom.js";
import { Player, playerBar } from "./player.js";
import { plot } from "./plots.js";
import { readout } from "./readout.js";
import { sceneCard } from "./scene.js";
import { table, verdict } from "./tables.js";

function header({ title, subtitle, tables }) {
  return element("header", {}, element("h1", {}, title, " ", verdict(tables)), element("p", {}, subtitle));
}

function playback(scene, player) {
  const { card, view } = sceneCard(scene, player);
  const caption = scene.caption ? [element("p", { className: "caption" }, scene.caption)] : [];
  const aside = element("aside", {}, ...caption, readout(scene, player));
  return { node: element("section", { className: "card", id: "playback" }, card, aside), view };
}

const grid = (id, nodes) => (nodes.length ? [element("div", { className: "grid", id }, ...nodes)] : []);

function folded(summary, text) {
  if (!text) return [];
  return [element("details", { className: "card" }, element("summary", {}, summary), element("pre", {}, text))];
}

async function main() {
  const page = await load();
  const player = page.scene ? new Player(page.scene.t[0], page.scene.t.at(-1)) : null;
  const { node, view } = player ? playback(page.scene, player) : { node: "", view: null };
  const notes = page.notes.map((text) => element("p", {}, text));
  document.body.append(
    element(
      "main",
      {},
      header(page),
      node,
      ...grid("tables", page.tables.map(table)),
      ...grid("plots", page.plots.map((spec) => plot(spec, player))),
      ...(notes.length ? [section("Notes", "notes", ...notes)] : []),
      ...folded("Configuration", page.configuration),
      ...folded("Licences of the viewer", page.licences),
    ),
  );
  if (player) document.body.append(playerBar(player));
  window.gncReport = { ready: true, player, view };
}

main().catch((error) => {
  document.body.prepend(element("p", { className: "broken" }, `This report could not be drawn: ${error}`));
  throw error;
});
