// The small bar after a trace: how many corners it became, fewer, more, done. It lies upon the picture, and never
// over what was traced.

/** @typedef {{fineness: string, fewerCorners: string, moreCorners: string, fineEnough: string}} FinenessLabels */
/**
 * @typedef {object} FinenessEvents what was pressed
 * @property {(coarser: boolean) => void} step
 * @property {() => void} done
 */

export class Fineness {
  #words = document.createElement("span");

  /**
   * @param {HTMLElement} container
   * @param {FinenessLabels} labels
   * @param {FinenessEvents} on
   */
  constructor(container, labels, on) {
    this.element = document.createElement("div");
    this.element.className = "outline-fineness";
    this.element.hidden = true;
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", labels.fineness);
    const [fewer, more] = [button("−", labels.fewerCorners), button("+", labels.moreCorners)];
    const done = button(labels.fineEnough);
    this.element.append(fewer, this.#words, more, done);
    fewer.addEventListener("click", () => on.step(true));
    more.addEventListener("click", () => on.step(false));
    done.addEventListener("click", () => on.done());
    // The focus stays on the picture, where the next stroke and the keys are.
    this.element.addEventListener("mousedown", (event) => event.preventDefault());
    container.append(this.element);
  }

  /**
   * Words in place of the last ones, at the top or at the bottom; null puts it away.
   * @param {string | null} words
   * @param {boolean} atTop
   */
  show(words, atTop) {
    this.element.hidden = words === null;
    this.element.classList.toggle("is-at-top", atTop);
    if (this.#words.textContent !== words) this.#words.textContent = words ?? "";
  }

  destroy() {
    this.element.remove();
  }
}

/**
 * @param {string} text
 * @param {string} name
 */
function button(text, name = "") {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "outline-button";
  made.textContent = text;
  if (name) made.setAttribute("aria-label", name);
  if (name) made.title = name;
  return made;
}
