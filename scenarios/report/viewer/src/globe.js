// The orbit around the Earth, small in a corner, in the axes of the scene: lit by the Sun, with the craft on it.
import * as THREE from "three";
import { vectorAt } from "./interpolate.js";
import { arrow, dot, point } from "./shapes.js";

const SHARE = 0.34; // of the height of the view

export class Globe {
  #scene = new THREE.Scene();
  #camera = new THREE.PerspectiveCamera(30, 1, 0.1, 1000);
  #sun = new THREE.DirectionalLight("white", 3);
  #toSun = arrow("#f2a33a", 0.02);
  #craft = dot("#e5484d");

  constructor({ orbit }) {
    this.orbit = orbit;
    const sphere = new THREE.SphereGeometry(1, 48, 24).rotateX(Math.PI / 2);
    const earth = new THREE.Mesh(sphere, new THREE.MeshLambertMaterial({ color: "#3f74c9" }));
    const lines = new THREE.WireframeGeometry(new THREE.SphereGeometry(1.003, 18, 12).rotateX(Math.PI / 2));
    earth.add(new THREE.LineSegments(lines, new THREE.LineBasicMaterial({ color: "white", transparent: true, opacity: 0.1 })));
    const points = [];
    for (let k = 0; k < orbit.r.length; k += 3) points.push(new THREE.Vector3().fromArray(orbit.r, k));
    this.radius = Math.max(1, ...points.map((p) => p.length()));
    const way = new THREE.BufferGeometry().setFromPoints(points);
    const ring = new THREE.Line(way, new THREE.LineBasicMaterial({ color: "#e5484d" }));
    this.#toSun.scale.set(1, 0.5 * this.radius, 1);
    this.#scene.add(earth, ring, this.#craft, this.#sun, this.#toSun, new THREE.AmbientLight("white", 0.5));
  }

  show(at) {
    this.#craft.position.copy(vectorAt(this.orbit.r, at));
    const sun = vectorAt(this.orbit.sun, at);
    this.#sun.position.copy(sun).multiplyScalar(100);
    this.#toSun.position.copy(sun).multiplyScalar(1.15 * this.radius);
    point(this.#toSun, sun);
  }

  render(renderer, camera, width, height) {
    const size = Math.round(SHARE * height);
    this.#camera.quaternion.copy(camera.quaternion);
    this.#camera.position.set(0, 0, 7 * this.radius).applyQuaternion(camera.quaternion);
    renderer.setScissorTest(true);
    renderer.setScissor(width - size, 0, size, size);
    renderer.setViewport(width - size, 0, size, size);
    renderer.autoClear = false;
    renderer.clearDepth();
    renderer.render(this.#scene, this.#camera);
    renderer.autoClear = true;
  }
}
