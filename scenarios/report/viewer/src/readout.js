// The numbers of the scene at the current time.
import { element } from "./dom.js";
import { locate, quaternionAt, vectorAt } from "./interpolate.js";

export function readout(scene, player) {
  const lines = [
    ...scene.bodies.flatMap((body) => [
      line(body, "position", "m", (at) => vectorAt(body.r, at).toArray().map(significant)),
      line(body, "quaternion", "scalar first", (at) => scalarFirst(quaternionAt(body.q, at)).map((x) => x.toFixed(6))),
    ]),
    ...scene.arrows.map((arrow) => line(arrow, "", "", (at) => vectorAt(arrow.vector, at).toArray().map(significant))),
  ];
  player.onChange((t) => {
    const at = locate(scene.t, t);
    for (const { output, read } of lines) output.textContent = read(at).join("  ");
  });
  return element("dl", { id: "readout" }, ...lines.flatMap(({ label, output }) => [label, output]));
}

function line({ name, colour }, quantity, unit, read) {
  const swatch = element("i", { className: "swatch" });
  swatch.style.background = colour;
  const hint = element("small", {}, [quantity, unit].filter(Boolean).join(", "));
  const output = element("dd");
  output.dataset.name = name;
  output.dataset.quantity = quantity;
  return { label: element("dt", {}, swatch, name, " ", hint), output, read };
}

const scalarFirst = ({ w, x, y, z }) => [w, x, y, z];

function significant(x) {
  const handy = Math.abs(x) >= 1e-3 && Math.abs(x) < 1e7;
  return x === 0 || handy ? x.toPrecision(7) : x.toExponential(6);
}
