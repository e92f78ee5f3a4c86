// The small bar after a trace: how many corners it became, fewer, more, done. It lies upon the picture, and never
// over what was traced.

/** `labels`: words for the buttons; `onStep(coarser)` and `onDone()` say what was pressed. */
export class Fineness {
  #words = document.createElement("span");

  constructor(container, { labels, onStep, onDone, signal }) {
    this.element = document.createElement("div");
    this.element.className = "outline-fineness";
    this.element.hidden = true;
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", labels.fineness);
    const [fewer, more] = [button("−", labels.fewerCorners), button("+", labels.moreCorners)];
    const done = button(labels.fineEnough);
    this.element.append(fewer, this.#words, more, done);
    this.#listen(signal, { fewer, more, done }, onStep, onDone);
    container.append(this.element);
  }

  #listen(signal, { fewer, more, done }, onStep, onDone) {
    fewer.addEventListener("click", () => onStep(true), { signal });
    more.addEventListener("click", () => onStep(false), { signal });
    done.addEventListener("click", () => onDone(), { signal });
    // The focus stays on the picture, where the next stroke and the keys are.
    this.element.addEventListener("mousedown", (event) => event.preventDefault(), { signal });
  }

  /** Words in place of the last ones, at the top or at the bottom; null puts it away. */
  show(words, atTop) {
    this.element.hidden = words === null;
    this.element.classList.toggle("is-at-top", Boolean(atTop));
    if (this.#words.textContent !== words) this.#words.textContent = words ?? "";
  }

  destroy() {
    this.element.remove();
  }
}

function button(text, name = null) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "outline-button";
  made.textContent = text;
  if (name) made.setAttribute("aria-label", name);
  if (name) made.title = name;
  return made;
}
