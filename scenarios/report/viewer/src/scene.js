// The 3-D view: bodies, arrows and trails at the time of the player, seen by a camera that orbits and follows.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { element } from "./dom.js";
import { finite, locate, quaternionAt, vectorAt } from "./interpolate.js";
import { Globe } from "./globe.js";
import { arrow, box, cone, dot, floor, frame, label, point, trail, triad } from "./shapes.js";

const SMALLEST_AXES = 0.09; // of the camera's distance: attitude stays readable however far the camera is
const VIEW = new THREE.Vector3(1, -1.5, 0.8).normalize();

export class SceneView {
  #scene = new THREE.Scene();
  #camera = new THREE.PerspectiveCamera(40, 1, 0.1, 1000);
  #world = new THREE.Group(); // everything that moves; turned back when it is seen from a body
  #still = new THREE.Group(); // floor and axes of the frame, which stand in inertial space only
  #followed = null;
  #seat = null; // the body in whose frame all is seen
  #pending = false;

  constructor(data, player, canvas, context) {
    this.data = data;
    this.renderer = new THREE.WebGLRenderer({ canvas, context, antialias: true, alpha: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.#camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.#camera, canvas);
    this.controls.addEventListener("change", () => this.#request());
    this.#scene.add(this.#world, this.#still);
    this.#extent();
    this.#light();
    this.bodies = data.bodies.map((body) => this.#addBody(body));
    this.arrows = data.arrows.map((spec) => this.#addArrow(spec));
    for (const spec of data.cones) this.#addCone(spec);
    this.globe = data.orbit ? new Globe(data) : null;
    this.player = player;
    this.follow(this.#first());
    player.onChange((t) => this.#show(t));
    new ResizeObserver(() => this.#resize(canvas.parentElement)).observe(canvas.parentElement);
  }

  // The body to begin with: the one that moves, if its way is so long that nobody would see it; else everything.
  #first() {
    const { size, spec } = this.bodies[0];
    return this.bodies.length === 1 && this.radius > 40 * size ? spec.name : null;
  }

  dispose() {
    this.renderer.dispose();
    this.renderer.forceContextLoss();
  }

  // See everything in the frame of the body of this name, or with null in inertial space.
  sitOn(name) {
    this.#seat = this.bodies.find((body) => body.spec.name === name) ?? null;
    this.#still.visible = !this.#seat;
    for (const body of this.bodies) this.#drawTrail(body);
    this.#followed = null;
    const reach = Math.max(...this.bodies.map((body) => body.path.radius), 2 * (this.#seat?.size ?? 0));
    const [target, radius] = this.#seat ? [new THREE.Vector3(), reach] : [this.centre, this.radius];
    this.controls.target.copy(target);
    this.#camera.position.copy(target).addScaledVector(VIEW, 3.1 * radius);
    this.controls.update();
    this.#show(this.player.t);
  }

  #drawTrail(body) {
    this.#scene.remove(...body.path.lines);
    body.path = trail(this.data.t, body.spec.r, body.spec.colour, this.#seat?.spec);
    if (this.data.trails && body.path.lines.length && body !== this.#seat) this.#scene.add(...body.path.lines);
  }

  // Follow the body of this name, or with null see everything.
  follow(name) {
    if (this.#seat) this.sitOn(null);
    this.#followed = this.bodies.find((body) => body.spec.name === name) ?? null;
    const target = this.#followed ? this.#followed.group.position : this.centre;
    const radius = this.#followed ? this.#followed.size : this.radius;
    this.controls.target.copy(target);
    this.#camera.position.copy(target).addScaledVector(VIEW, 3.2 * radius);
    this.controls.update();
    this.#request();
  }

  #extent() {
    const limits = new THREE.Box3();
    for (const { r } of this.data.bodies) {
      for (let k = 0; k < r.length; k += 3) {
        const position = new THREE.Vector3().fromArray(r, k);
        if (finite(position)) limits.expandByPoint(position);
      }
    }
    if (limits.isEmpty()) limits.expandByPoint(new THREE.Vector3());
    const largest = Math.max(...this.data.bodies.map(({ size }) => Math.hypot(...size)));
    this.centre = limits.getCenter(new THREE.Vector3());
    this.radius = Math.max(limits.getSize(new THREE.Vector3()).length() / 2, largest);
    const { grid, square } = floor(this.centre, this.radius, limits.min.z - 0.75 * largest);
    this.#still.add(grid, frame(grid.position, square));
    this.square = square;
  }

  #light() {
    const sun = new THREE.DirectionalLight("white", 2.2);
    sun.position.set(2, -3, 4);
    this.#scene.add(sun, new THREE.HemisphereLight("#e8f0ff", "#6b7280", 1.4));
  }

  #addBody(spec) {
    const group = new THREE.Group();
    const [axes, mark, name] = [triad(), dot(spec.colour), label(spec.name, spec.colour)];
    name.center.set(0.5, 1.9);
    group.add(box(spec.size, spec.colour), axes, mark);
    this.#world.add(group, name);
    const body = { spec, group, axes, mark, name, path: { lines: [] }, size: Math.hypot(...spec.size) };
    this.#drawTrail(body);
    return body;
  }

  #addCone(spec) {
    const body = this.bodies.find(({ spec: { name } }) => name === spec.body);
    body.group.add(cone(spec, spec.length || 1.6 * body.size));
  }

  #addArrow(spec) {
    const shape = arrow(spec.colour);
    this.#world.add(shape);
    let longest = 0;
    for (let k = 0; k < spec.vector.length; k += 3) {
      const length = Math.hypot(...spec.vector.subarray(k, k + 3));
      if (length > longest && length < Infinity) longest = length;
    }
    const body = this.bodies.find(({ spec: { name } }) => name === spec.body);
    const reach = 1 + 0.09 * this.data.arrows.indexOf(spec); // where two point the same way, both tips are seen
    return { spec, shape, longest, body, reach };
  }

  #show(t) {
    const at = locate(this.data.t, t);
    for (const { spec, group, name, path } of this.bodies) {
      const [r, q] = [vectorAt(spec.r, at), quaternionAt(spec.q, at)];
      group.visible = finite(r, q);
      if (group.visible) this.#place(group, r, q);
      name.position.copy(group.position);
      path.travel(t);
    }
    for (const item of this.arrows) item.vector = vectorAt(item.spec.vector, at);
    const seat = this.#seat?.group;
    this.#world.quaternion.copy(seat ? seat.quaternion.clone().invert() : new THREE.Quaternion());
    this.#world.position.copy(seat ? seat.position.clone().negate().applyQuaternion(this.#world.quaternion) : new THREE.Vector3());
    this.globe?.show(at);
    this.#request();
  }

  #place(group, r, q) {
    if (this.#followed?.group === group) {
      this.#camera.position.add(r).sub(group.position);
      this.controls.target.copy(r);
    }
    group.position.copy(r);
    group.quaternion.copy(q);
  }

  #request() {
    if (this.#pending) return;
    this.#pending = true;
    requestAnimationFrame(() => this.#render());
  }

  #render() {
    this.#pending = false;
    const distance = this.#camera.position.distanceTo(this.controls.target);
    this.#camera.near = distance / 200;
    this.#camera.far = 20 * (distance + this.radius);
    this.#camera.updateProjectionMatrix();
    for (const body of this.bodies) this.#scaleAxes(body);
    for (const item of this.arrows) this.#drawArrow(item);
    this.#clearNames();
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    this.renderer.setScissorTest(false);
    this.renderer.setViewport(0, 0, width, height);
    this.renderer.render(this.#scene, this.#camera);
    if (this.#seat === null) this.globe?.render(this.renderer, this.#camera, width, height);
  }

  #scaleAxes(body) {
    const place = body.group.getWorldPosition(new THREE.Vector3());
    const smallest = SMALLEST_AXES * this.#camera.position.distanceTo(place);
    body.reach = Math.max(0.85 * body.size, smallest);
    body.axes.scale.setScalar(body.reach);
    body.mark.visible = body.size < smallest / 4;
    body.name.visible = body.group.visible && body.size < 3 * smallest; // on a large box it would hide the box
  }

  // Hide a name that would lie on another one; the legend has them all.
  #clearNames() {
    const shown = [];
    const { aspect, fov } = this.#camera;
    const unit = 1 / Math.tan((fov * Math.PI) / 360); // a sprite's size as a share of half the height
    for (const { name } of this.bodies.filter((body) => body.name.visible)) {
      const { x, y } = name.getWorldPosition(new THREE.Vector3()).project(this.#camera);
      const half = [(name.scale.x * unit) / aspect, name.scale.y * unit];
      const touches = ([at, size]) => Math.abs(at[0] - x) < (size[0] + half[0]) / 2 && Math.abs(at[1] - y) < (size[1] + half[1]) / 2;
      name.visible = !shown.some(touches);
      if (name.visible) shown.push([[x, y], half]);
    }
  }

  #drawArrow({ shape, vector, longest, body, reach }) {
    const length = vector.length() / longest;
    shape.visible = body.group.visible && length > 1e-3; // NaN is not
    if (!shape.visible) return;
    shape.position.copy(body.group.position);
    point(shape, vector);
    const thick = 1.4 * body.reach;
    shape.scale.set(thick, thick * length * reach, thick);
  }

  #resize({ clientWidth, clientHeight }) {
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.#camera.aspect = clientWidth / clientHeight;
    this.#request();
  }
}

// The view with its legend, or one line that says why there is none; `view` is null then.
export function sceneCard(data, player) {
  const canvas = element("canvas", { id: "scene" });
  const context = canvas.getContext("webgl2", { antialias: true, alpha: true, preserveDrawingBuffer: true });
  if (!context) {
    const why = "No 3-D scene: this browser offers no WebGL 2. Tables, plots and numbers are complete without it.";
    return { card: element("p", { id: "no-scene" }, why), view: null };
  }
  const holder = element("div", { id: "stage" }, canvas);
  const view = new SceneView(data, player, canvas, context);
  holder.append(legend(data, view.square), followSelect(data, view));
  return { card: holder, view };
}

function legend(data, square) {
  const entry = ({ name, colour }, className) => {
    const swatch = element("i", { className });
    swatch.style.background = colour;
    return element("li", {}, swatch, name);
  };
  const axes = element("li", {}, ..."xyz".split("").map((axis) => element("b", {}, axis)), "axes");
  const bodies = data.bodies.map((body) => entry(body, "swatch"));
  const arrows = data.arrows.map((item) => entry(item, "swatch arrow"));
  const cones = data.cones.map((item) => entry(item, "swatch"));
  const grid = element("li", {}, square < 1000 ? `grid ${square} m` : `grid ${square / 1000} km`);
  return element("ul", { id: "legend" }, ...bodies, ...arrows, ...cones, axes, grid);
}

function followSelect(data, view) {
  const follow = data.bodies.map(({ name }) => ({ text: `follow ${name}`, go: () => view.follow(name) }));
  const sit = data.bodies.map(({ name }) => ({ text: `in the frame of ${name}`, go: () => view.sitOn(name) }));
  const choices = [{ text: "see everything", go: () => view.follow(null) }, ...follow, ...sit];
  const select = element("select", { id: "follow", ariaLabel: "Camera" });
  select.append(...choices.map(({ text }) => element("option", {}, text)));
  select.onchange = () => choices[select.selectedIndex].go();
  return select;
}
