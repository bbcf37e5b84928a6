// The clock of the page and the bar that steers it.
import { element } from "./dom.js";

const SPEEDS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
const COMFORTABLE_SECONDS = 30; // the speed a page starts with plays the whole in no more than this

export class Player {
  #listeners = [];
  #last = null;

  constructor(start, end) {
    Object.assign(this, { start, end, t: start, playing: false });
    this.speed = SPEEDS.find((speed) => (end - start) / speed <= COMFORTABLE_SECONDS) ?? SPEEDS.at(-1);
  }

  onChange(listener) {
    this.#listeners.push(listener);
    listener(this.t);
  }

  seek(t) {
    this.t = Math.min(Math.max(t, this.start), this.end);
    for (const listener of this.#listeners) listener(this.t);
  }

  toggle() {
    this.playing = !this.playing;
    this.#last = null;
    if (this.playing) requestAnimationFrame((now) => this.#frame(now));
    this.seek(this.playing && this.t >= this.end ? this.start : this.t);
  }

  stop() {
    this.playing = false;
    this.#listeners = [];
  }

  #frame(now) {
    if (!this.playing) return;
    const elapsed = this.#last === null ? 0 : (now - this.#last) / 1000;
    this.#last = now;
    if (this.t + elapsed * this.speed >= this.end) this.playing = false;
    this.seek(this.t + elapsed * this.speed);
    requestAnimationFrame((next) => this.#frame(next));
  }
}

export function playerBar(player) {
  const button = element("button", { id: "play", type: "button", onclick: () => player.toggle() });
  const slider = element("input", { id: "scrub", type: "range", step: "any", ariaLabel: "Time" });
  Object.assign(slider, { min: player.start, max: player.end, oninput: () => player.seek(Number(slider.value)) });
  const speed = element("select", { id: "speed", ariaLabel: "Speed", title: "Seconds of the run per second" });
  const option = (value) => element("option", { value, selected: value === player.speed }, `${value}×`);
  speed.append(...SPEEDS.map(option));
  speed.onchange = () => (player.speed = Number(speed.value));
  const readout = element("output", { id: "time" });
  player.onChange((t) => {
    button.textContent = player.playing ? "❚❚ Pause" : "▶ Play";
    slider.value = t;
    readout.textContent = `${format(t, player)} / ${format(player.end, player)} s`;
  });
  return element("div", { id: "player" }, button, slider, readout, speed);
}

function format(t, { start, end }) {
  const decimals = Math.min(Math.max(3 - Math.floor(Math.log10(end - start)), 0), 9);
  return t.toFixed(decimals);
}
