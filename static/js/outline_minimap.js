// The whole picture in a corner of a zoomed one, with a frame around the part that is seen. A press there goes there.

import { make } from "./outline_scene.js";

/** @import { Viewport } from "./outline_viewport.js" */

const SIDE_PX = 104;

/** The map of one editor. */
export class Minimap {
  /** Whether it is shown while the picture is zoomed. */
  wanted = true;
  #viewport;
  #moved;
  #frame = make("rect", { class: "outline-minimap-frame" });

  /**
   * @param {HTMLElement} container
   * @param {string} imageId the SVG image that it shows
   * @param {Viewport} viewport the window that it is a map for
   * @param {() => void} moved the viewport was moved
   */
  constructor(container, imageId, viewport, moved) {
    this.#viewport = viewport;
    this.#moved = moved;
    const { width, height } = viewport.image;
    const scale = SIDE_PX / Math.max(width, height);
    const box = { width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}` };
    this.svg = make("svg", { ...box, class: "outline-minimap", "aria-hidden": "true", dir: "ltr", hidden: "" });
    this.svg.append(make("use", { href: `#${imageId}` }), this.#frame);
    this.svg.addEventListener("pointerdown", (event) => this.#press(event));
    this.svg.addEventListener("pointermove", (event) => this.#move(event));
    container.append(this.svg);
  }

  draw() {
    const { x, y, size, scale, showsAll } = this.#viewport;
    this.svg.toggleAttribute("hidden", !this.wanted || showsAll);
    const frame = { x, y, width: size.width / scale, height: size.height / scale };
    for (const [name, value] of Object.entries(frame)) this.#frame.setAttribute(name, String(value));
  }

  destroy() {
    this.svg.remove();
  }

  /** @param {PointerEvent} event */
  #press(event) {
    this.svg.setPointerCapture(event.pointerId);
    this.#go(event);
  }

  /** @param {PointerEvent} event */
  #move(event) {
    if (this.svg.hasPointerCapture(event.pointerId)) this.#go(event);
  }

  /** @param {PointerEvent} event */
  #go({ clientX, clientY }) {
    const { left, top, width, height } = this.svg.getBoundingClientRect();
    const { image } = this.#viewport;
    this.#viewport.centre([((clientX - left) / width) * image.width, ((clientY - top) / height) * image.height]);
    this.#moved();
  }
}
