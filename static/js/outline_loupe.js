// What a finger hides, shown beside it: the same pixels four times as large, the lines, and the exact point.

import { make } from "./outline_scene.js";

/** @import { Point } from "./geometry_plane.js" */
/** @import { Viewport } from "./outline_viewport.js" */
/** @typedef {{name: string, axis: 0 | 1, at: (finger: Point) => Point}} LoupePlace */

const SIZE_PX = 112;
const ZOOM = 4;
// From the point to the loupe: past the tip of a thumb.
const AWAY_PX = 40;
const RIM_PX = 4;
const CROSS_PX = [5, 16];

// Where it may stand, best first: each says how far from the point, and along which axis there must be space.
/** @type {LoupePlace[]} */
const PLACES = [
  { name: "above", axis: 1, at: ([x, y]) => [x - SIZE_PX / 2, y - AWAY_PX - SIZE_PX] },
  { name: "left", axis: 0, at: ([x, y]) => [x - AWAY_PX - SIZE_PX, y - SIZE_PX / 2] },
  { name: "right", axis: 0, at: ([x, y]) => [x + AWAY_PX, y - SIZE_PX / 2] },
  { name: "below", axis: 1, at: ([x, y]) => [x - SIZE_PX / 2, y + AWAY_PX] },
];

/** The loupe of one editor. */
export class Loupe {
  #viewport;
  #cross = ["outline-mark outline-crosshair-halo", "outline-mark outline-crosshair"].map((name) =>
    make("path", { class: name, d: crossPath() }),
  );
  #scene;
  #place = PLACES[0];

  /**
   * @param {HTMLElement} container
   * @param {string} sceneId the SVG group that it shows
   * @param {Viewport} viewport the window that it lies upon
   */
  constructor(container, sceneId, viewport) {
    this.#viewport = viewport;
    this.#scene = make("use", { href: `#${sceneId}` });
    const box = { width: SIZE_PX, height: SIZE_PX, viewBox: `0 0 ${SIZE_PX} ${SIZE_PX}` };
    this.svg = make("svg", { ...box, class: "outline-magnifier", "aria-hidden": "true", dir: "ltr", hidden: "" });
    this.svg.append(this.#scene, ...this.#cross);
    container.append(this.svg);
  }

  /**
   * Show the image point that a finger means at a screen point.
   * @param {Point} point
   * @param {Point} finger
   */
  show(point, finger) {
    const scale = this.#viewport.scale * ZOOM;
    const [x, y] = point.map((value) => SIZE_PX / 2 - value * scale);
    this.#scene.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    const [left, top] = this.#beside(finger);
    this.svg.style.left = `${left}px`;
    this.svg.style.top = `${top}px`;
    this.svg.removeAttribute("hidden");
  }

  hide() {
    this.svg.setAttribute("hidden", "");
    this.#place = PLACES[0];
  }

  destroy() {
    this.svg.remove();
  }

  /**
   * Where it was before while there is space, so that it does not flutter; else the best place there is.
   * @param {Point} finger
   */
  #beside(finger) {
    const sides = [this.#viewport.size.width, this.#viewport.size.height];
    const most = sides.map((side) => side - SIZE_PX - RIM_PX);
    /** @param {LoupePlace} place */
    const fits = ({ axis, at }) => at(finger)[axis] >= RIM_PX && at(finger)[axis] <= most[axis];
    this.#place = [this.#place, ...PLACES].find(fits) ?? PLACES[0];
    return this.#place.at(finger).map((value, axis) => Math.max(RIM_PX, Math.min(most[axis], value)));
  }
}

/** Open in the middle, where the pixel is that is meant. */
function crossPath() {
  const [from, to] = CROSS_PX;
  const middle = SIZE_PX / 2;
  const arms = [`M${middle - to} ${middle}h${to - from}`, `M${middle + from} ${middle}h${to - from}`];
  return `${arms.join("")}M${middle} ${middle - to}v${to - from}M${middle} ${middle + from}v${to - from}`;
}
