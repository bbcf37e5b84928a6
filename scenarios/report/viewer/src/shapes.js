// The shapes of the scene: boxes with edges, axes, arrows, trails, labels.
import * as THREE from "three";
import { locate, quaternionAt, vectorAt } from "./interpolate.js";

const TRAIL_VERTICES = 2000;
const AXIS_COLOURS = ["#e5484d", "#30a46c", "#3e8bff"];
const UP = new THREE.Vector3(0, 1, 0); // the way three.js builds cylinders and cones

export function box(size, colour) {
  const geometry = new THREE.BoxGeometry(...size);
  const behind = { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 }; // faces yield to edges
  const faces = new THREE.MeshLambertMaterial({ color: colour, ...behind });
  const edges = new THREE.LineBasicMaterial({ color: new THREE.Color(colour).lerp(new THREE.Color("white"), 0.4) });
  const mesh = new THREE.Mesh(geometry, faces);
  mesh.add(new THREE.LineSegments(new THREE.EdgesGeometry(geometry), edges));
  return mesh;
}

// An arrow of length one along y, to be turned and scaled.
export function arrow(colour, thickness = 0.014) {
  const glow = { emissive: colour, emissiveIntensity: 0.25 }; // readable on the side away from the light too
  const material = new THREE.MeshLambertMaterial({ color: colour, ...glow });
  const head = 8 * thickness;
  const shaft = new THREE.Mesh(new THREE.CylinderGeometry(thickness, thickness, 1 - head, 12), material);
  shaft.position.y = (1 - head) / 2;
  const tip = new THREE.Mesh(new THREE.ConeGeometry(2.6 * thickness, head, 16), material);
  tip.position.y = 1 - head / 2;
  return new THREE.Group().add(shaft, tip);
}

// A cone that opens along an axis of the body it is added to; its sides are seen through.
export function cone({ apex, axis, angle, radius, colour }, length) {
  const end = radius + length * Math.tan((angle * Math.PI) / 180);
  const geometry = new THREE.CylinderGeometry(end, Math.max(radius, 1e-3 * end), length, 32, 1, true);
  geometry.translate(0, length / 2, 0);
  const look = { color: colour, transparent: true, opacity: 0.14, side: THREE.DoubleSide, depthWrite: false };
  const shape = new THREE.Mesh(geometry, new THREE.MeshBasicMaterial(look));
  const edges = new THREE.EdgesGeometry(geometry, 30);
  shape.add(new THREE.LineSegments(edges, new THREE.LineBasicMaterial({ color: colour, transparent: true, opacity: 0.5 })));
  shape.position.fromArray(apex);
  point(shape, new THREE.Vector3().fromArray(axis));
  return shape;
}

export function point(object, vector) {
  object.quaternion.setFromUnitVectors(UP, vector.clone().normalize());
}

export function triad(thickness = 0.016) {
  const group = new THREE.Group();
  AXIS_COLOURS.forEach((colour, k) => {
    const axis = arrow(colour, thickness);
    point(axis, new THREE.Vector3().setComponent(k, 1));
    group.add(axis);
  });
  return group;
}

// The axes of the scene's frame, with letters; those are not children, which would take the scale of the axes.
export function frame(origin, length) {
  const axes = triad(0.012);
  axes.position.copy(origin);
  axes.scale.setScalar(length);
  const letters = AXIS_COLOURS.map((colour, k) => {
    const letter = label("xyz"[k], colour);
    letter.position.copy(origin).setComponent(k, origin.getComponent(k) + 1.15 * length);
    return letter;
  });
  return new THREE.Group().add(axes, ...letters);
}

// A dot of constant size on the screen, so that a body far away is still seen.
export function dot(colour) {
  const geometry = new THREE.BufferGeometry().setFromPoints([new THREE.Vector3()]);
  return new THREE.Points(geometry, new THREE.PointsMaterial({ color: colour, size: 7, sizeAttenuation: false }));
}

export function label(text, colour) {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  const font = "600 44px system-ui, sans-serif";
  context.font = font;
  canvas.width = Math.ceil(context.measureText(text).width) + 8;
  canvas.height = 60;
  Object.assign(context, { font, fillStyle: colour, textBaseline: "middle" });
  context.fillText(text, 4, 30);
  const map = Object.assign(new THREE.CanvasTexture(canvas), { colorSpace: THREE.SRGBColorSpace });
  const material = new THREE.SpriteMaterial({ map, sizeAttenuation: false, depthTest: false });
  const sprite = new THREE.Sprite(material);
  sprite.scale.set((0.035 * canvas.width) / canvas.height, 0.035, 1);
  return sprite;
}

// The whole path faintly, and the part travelled so far. Vertices lie evenly in time, so that the two agree.
// With a body as seat, the way is that in the body's frame.
export function trail(times, positions, colour, seat) {
  const [start, end] = [times[0], times.at(-1)];
  const step = (end - start) / (TRAIL_VERTICES - 1);
  const path = Array.from({ length: TRAIL_VERTICES }, (_, k) => {
    const at = locate(times, start + k * step);
    const place = vectorAt(positions, at);
    return seat ? place.sub(vectorAt(seat.r, at)).applyQuaternion(quaternionAt(seat.q, at).invert()) : place;
  });
  const lost = path.findIndex((p) => !Number.isFinite(p.x + p.y + p.z));
  const known = lost < 0 ? path : path.slice(0, lost);
  const radius = Math.max(0, ...known.map((p) => p.length()));
  if (known.length < 2) return { lines: [], travel() {}, radius };
  const line = (opacity) => {
    const geometry = new THREE.BufferGeometry().setFromPoints(known);
    return new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: colour, transparent: true, opacity }));
  };
  const [whole, travelled] = [line(0.3), line(1)];
  const travel = (t) => travelled.geometry.setDrawRange(0, Math.floor((t - start) / step) + 1);
  return { lines: [whole, travelled], travel, radius };
}

// A floor of squares; returns the edge of a square too.
export function floor(centre, radius, height) {
  const square = 10 ** Math.floor(Math.log10(radius));
  const squares = 2 * Math.ceil((1.2 * radius) / square);
  const grid = new THREE.GridHelper(squares * square, squares, "#8892a4", "#8892a4");
  Object.assign(grid.material, { transparent: true, opacity: 0.28 });
  grid.rotation.x = Math.PI / 2; // z is up
  grid.position.set(Math.round(centre.x / square) * square, Math.round(centre.y / square) * square, height);
  return { grid, square };
}
