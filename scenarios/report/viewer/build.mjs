// Bundles src/ into ../bundle: viewer.js, viewer.css and the licences of what they contain.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const packages = ["three", "uplot"];

// The hash of the sources rides along, so that a test can tell a stale bundle from a fresh one.
const hash = createHash("sha256");
for (const name of readdirSync("src").sort()) hash.update(readFileSync(`src/${name}`));

await build({
  entryPoints: { viewer: "src/main.js" },
  outdir: "../bundle",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none", // LICENSES.txt has the full texts, and every page shows it
  banner: { js: `/* built from src ${hash.digest("hex")} */` },
});

const texts = packages.map((name) => {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
});
writeFileSync("../bundle/LICENSES.txt", texts.join("\n\n"));
