// The drawing in words, for people who read the page by its tree: every ring with its corners, each a button that
// chooses it. Out of sight, out of the tab order, and rebuilt only once the hand rests.

import * as drawings from "./outline_drawing.js";

/** @import { Line, Point } from "./geometry_plane.js" */
/** @import { Drawing, Place } from "./outline_drawing.js" */
/**
 * @typedef {object} ListWords words of the list; numbers begin at 0
 * @property {string} name
 * @property {(ring: number, corners: number, open: boolean) => string} ring
 * @property {(ring: number, corner: number, point: Point) => string} corner
 */
/** @typedef {{ring: number, open: boolean, item: HTMLLIElement}} ListedLine */

const REST_MS = 300;

export class CornerList {
  #words;
  #timer = 0;
  /** @type {WeakMap<Line, ListedLine>} */
  #listed = new WeakMap(); // a line of corners -> its item; lines are never changed in place

  /**
   * @param {HTMLElement} container
   * @param {ListWords} words
   * @param {(place: Place | null) => void} onSelect
   */
  constructor(container, words, onSelect) {
    this.#words = words;
    this.element = document.createElement("ul");
    this.element.className = "outline-corner-list";
    this.element.setAttribute("aria-label", words.name);
    this.element.addEventListener("click", ({ target }) => onSelect(placeOf(target)));
    container.append(this.element);
  }

  /**
   * Show a drawing, after a rest: hundreds of changes in a drag are one change of the list.
   * @param {Drawing} drawing
   */
  show(drawing) {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#build(drawing), REST_MS);
  }

  destroy() {
    clearTimeout(this.#timer);
    this.element.remove();
  }

  /** @param {Drawing} drawing */
  #build(drawing) {
    const lines = drawings.lines(drawing).filter((line) => line.length);
    this.element.replaceChildren(...lines.map((line, ring) => this.#item(line, ring, ring === drawing.rings.length)));
  }

  /**
   * @param {Line} line
   * @param {number} ring
   * @param {boolean} open
   */
  #item(line, ring, open) {
    const known = this.#listed.get(line);
    if (known?.ring === ring && known.open === open) return known.item;
    const item = document.createElement("li");
    const corners = document.createElement("ol");
    item.append(this.#words.ring(ring, line.length, open), corners);
    corners.append(...line.map((point, corner) => this.#corner(ring, corner, point)));
    this.#listed.set(line, { ring, open, item });
    return item;
  }

  /**
   * @param {number} ring
   * @param {number} corner
   * @param {Point} point
   */
  #corner(ring, corner, point) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.tabIndex = -1;
    button.textContent = this.#words.corner(ring, corner, point);
    Object.assign(button.dataset, { ring, corner });
    item.append(button);
    return item;
  }
}

/**
 * @param {EventTarget | null} target
 * @returns {Place | null}
 */
function placeOf(target) {
  const { ring, corner } = (target instanceof Element && target.closest("button")?.dataset) || {};
  return ring === undefined ? null : { ring: Number(ring), corner: Number(corner) };
}
