// The 3-D view: bodies, arrows and trails at the time of the player, seen by a camera that orbits and follows.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { element } from "./dom.js";
import { finite, locate, quaternionAt, vectorAt } from "./interpolate.js";
import { arrow, box, dot, floor, frame, label, point, trail, triad } from "./shapes.js";

const SMALLEST_AXES = 0.09; // of the camera's distance: attitude stays readable however far the camera is
const VIEW = new THREE.Vector3(1, -1.5, 0.8).normalize();

export class SceneView {
  #scene = new THREE.Scene();
  #camera = new THREE.PerspectiveCamera(40, 1, 0.1, 1000);
  #followed = null;
  #pending = false;

  constructor(data, player, canvas, context) {
    this.data = data;
    this.renderer = new THREE.WebGLRenderer({ canvas, context, antialias: true, alpha: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.#camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.#camera, canvas);
    this.controls.addEventListener("change", () => this.#request());
    this.#extent();
    this.#light();
    this.bodies = data.bodies.map((body) => this.#addBody(body));
    this.arrows = data.arrows.map((spec) => this.#addArrow(spec));
    this.follow(null);
    player.onChange((t) => this.#show(t));
    new ResizeObserver(() => this.#resize(canvas.parentElement)).observe(canvas.parentElement);
  }

  // Follow the body of this name, or with null see everything.
  follow(name) {
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
    this.#scene.add(grid, frame(grid.position, square));
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
    this.#scene.add(group, name);
    const path = trail(this.data.t, spec.r, spec.colour);
    if (this.data.trails && path.lines.length) this.#scene.add(...path.lines);
    return { spec, group, axes, mark, name, path, size: Math.hypot(...spec.size) };
  }

  #addArrow(spec) {
    const shape = arrow(spec.colour);
    this.#scene.add(shape);
    let longest = 0;
    for (let k = 0; k < spec.vector.length; k += 3) {
      const length = Math.hypot(...spec.vector.subarray(k, k + 3));
      if (length > longest && length < Infinity) longest = length;
    }
    return { spec, shape, longest, body: this.bodies.find(({ spec: { name } }) => name === spec.body) };
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
    this.renderer.render(this.#scene, this.#camera);
  }

  #scaleAxes(body) {
    const smallest = SMALLEST_AXES * this.#camera.position.distanceTo(body.group.position);
    body.reach = Math.max(0.85 * body.size, smallest);
    body.axes.scale.setScalar(body.reach);
    body.mark.visible = body.size < smallest / 4;
    body.name.visible = body.group.visible && body.size < 3 * smallest; // on a large box it would hide the box
  }

  #drawArrow({ shape, vector, longest, body }) {
    const length = vector.length() / longest;
    shape.visible = body.group.visible && length > 1e-3; // NaN is not
    if (!shape.visible) return;
    shape.position.copy(body.group.position);
    point(shape, vector);
    const thick = 1.4 * body.reach;
    shape.scale.set(thick, thick * length, thick);
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
  const context = canvas.getContext("webgl2", { antialias: true, alpha: true });
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
  const grid = element("li", {}, square < 1000 ? `grid ${square} m` : `grid ${square / 1000} km`);
  return element("ul", { id: "legend" }, ...bodies, ...arrows, axes, grid);
}

function followSelect(data, view) {
  const options = data.bodies.map(({ name }) => element("option", { value: name }, `follow ${name}`));
  const everything = element("option", {}, "see everything");
  const select = element("select", { id: "follow", ariaLabel: "Camera" }, everything, ...options);
  select.onchange = () => view.follow(select.selectedIndex ? select.value : null);
  return select;
}
