// The drawing in words, for people who read the page by its tree: every ring with its corners, each a button that
// chooses it. Out of sight, out of the tab order, and rebuilt only once the hand rests.

import * as model from "./outline_model.js";

const REST_MS = 300;

/** `ringWords(ring, corners, open)` and `cornerWords(ring, corner, point)` give the words; numbers start at 0. */
export class CornerList {
  #words;
  #timer = 0;
  #shown = new WeakMap(); // a line of corners -> its item; lines are never changed in place

  constructor(container, { name, ringWords, cornerWords, onChoose, signal }) {
    this.#words = { ringWords, cornerWords };
    this.element = document.createElement("ul");
    this.element.className = "outline-corner-list";
    this.element.setAttribute("aria-label", name);
    this.element.addEventListener("click", ({ target }) => onChoose(placeOf(target)), { signal });
    container.append(this.element);
  }

  /** Show a drawing, after a rest: hundreds of changes in a drag are one change of the list. */
  show(drawing) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#build(drawing), REST_MS);
  }

  destroy() {
    clearTimeout(this.#timer);
    this.element.remove();
  }

  #build(drawing) {
    const lines = model.lines(drawing).filter((line) => line.length);
    this.element.replaceChildren(...lines.map((line, ring) => this.#item(line, ring, ring === drawing.rings.length)));
  }

  #item(line, ring, open) {
    const known = this.#shown.get(line);
    if (known?.ring === ring && known.open === open) return known.item;
    const item = document.createElement("li");
    const corners = document.createElement("ol");
    item.append(this.#words.ringWords(ring, line.length, open), corners);
    corners.append(...line.map((point, corner) => this.#corner(ring, corner, point)));
    this.#shown.set(line, { ring, open, item });
    return item;
  }

  #corner(ring, corner, point) {
    const [item, button] = [document.createElement("li"), document.createElement("button")];
    button.type = "button";
    button.tabIndex = -1;
    button.textContent = this.#words.cornerWords(ring, corner, point);
    Object.assign(button.dataset, { ring, corner });
    item.append(button);
    return item;
  }
}

function placeOf(target) {
  const { ring, corner } = target.closest("button")?.dataset ?? {};
  return ring === undefined ? null : { ring: Number(ring), corner: Number(corner) };
}
