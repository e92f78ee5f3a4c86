// Which key does what on the page, the tasker's own choice included, and the dialog that shows and changes it.

import { post, Refusal } from "./label_api.js";
import { fill, words } from "./label_words.js";

const MODIFIERS = new Set(["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock", "Dead", "Process"]);
// What the editor calls the actions that it has keys of its own for.
export const OF_EDITOR = {
  close_outline: "close",
  next_corner: "next",
  previous_corner: "previous",
  insert_corner: "insert",
  remove_corner: "remove",
  fewer_corners: "fewer",
  more_corners: "more",
  zoom_in: "zoomIn",
  zoom_out: "zoomOut",
  fit: "fit",
};
// Further keys of an action, as long as nobody wants them for something else.
const ALIASES = { zoom_in: "=", next_corner: "PageDown", previous_corner: "PageUp", remove_corner: "Backspace" };

const byId = (id) => document.getElementById(id);

export class Keys {
  #actions; // [{name, words, key, usual}], in the order in which they are shown
  #hints;
  #address;
  #onChange;
  #changing = null; // the action that waits for its key

  /** `actions` and `hints` (words for keys with a name) come with the page; `onChange()` follows every change. */
  constructor({ actions, hints, address, onChange }) {
    this.#actions = actions;
    this.#hints = hints;
    this.#address = address;
    this.#onChange = onChange;
    this.#listen();
  }

  /** The name of the action of a key event, or null. */
  actionOf({ key }) {
    const pressed = plain(key);
    const found = this.#actions.find((action) => action.key === pressed);
    return found?.name ?? Object.keys(ALIASES).find((name) => ALIASES[name] === pressed) ?? null;
  }

  keyOf(name) {
    return this.#action(name).key;
  }

  /** The keys of the editor, as its option `keys`. */
  get ofEditor() {
    const taken = new Set(this.#actions.map(({ key }) => key));
    const keysOf = (name) => [this.keyOf(name), ALIASES[name]].filter((key, at) => key && !(at && taken.has(key)));
    return Object.fromEntries(Object.entries(OF_EDITOR).map(([name, editors]) => [editors, keysOf(name)]));
  }

  open() {
    this.#tell("");
    this.#show();
    byId("keys-dialog").showModal();
  }

  #action(name) {
    return this.#actions.find((action) => action.name === name);
  }

  // The dialog.

  #listen() {
    const dialog = byId("keys-dialog");
    dialog.addEventListener("click", ({ target }) => {
      const name = target.closest("[data-change]")?.dataset.change;
      if (name) this.#ask(name);
    });
    dialog.addEventListener("keydown", (event) => this.#pressed(event), { capture: true });
    dialog.addEventListener("close", () => this.#stop());
    byId("keys-reset").addEventListener("click", () => this.#keep({}, words.keysReset));
  }

  #show() {
    const rows = this.#actions.map((action) => {
      const row = byId("keys-row").content.firstElementChild.cloneNode(true);
      const button = row.querySelector("button");
      row.querySelector("th").textContent = action.words;
      row.querySelector("kbd").textContent = this.#hint(action.key);
      button.dataset.change = action.name;
      button.setAttribute("aria-label", fill(words.changeKey, { action: action.words }));
      return row;
    });
    byId("keys-rows").replaceChildren(...rows);
  }

  #ask(name) {
    this.#stop();
    this.#changing = name;
    const row = byId("keys-rows").querySelector(`[data-change="${name}"]`).closest("tr");
    row.classList.add("is-waiting");
    this.#tell(fill(words.pressKey, { action: this.#action(name).words }));
  }

  #stop() {
    this.#changing = null;
    byId("keys-rows").querySelector(".is-waiting")?.classList.remove("is-waiting");
  }

  #pressed(event) {
    if (!this.#changing || event.ctrlKey || event.metaKey || MODIFIERS.has(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const [name, key] = [this.#changing, plain(event.key)];
    this.#stop();
    if (event.key === "Escape") return this.#tell(words.keyUnchanged);
    if (key === " " || (key.length > 1 && !(key in this.#hints))) return this.#tell(words.keyRefused);
    return this.#choose(name, key);
  }

  /** Give an action its key. Who had it before gets the one that has become free. */
  #choose(name, key) {
    const chosen = Object.fromEntries(this.#actions.map((action) => [action.name, action.key]));
    const before = this.#actions.find((action) => action.key === key && action.name !== name);
    const values = { key: this.#hint(key), action: this.#action(name).words };
    if (!before) return this.#keep({ ...chosen, [name]: key }, fill(words.keyChanged, values));
    const told = { ...values, other: before.words, freed: this.#hint(chosen[name]) };
    return this.#keep({ ...chosen, [name]: key, [before.name]: chosen[name] }, fill(words.keySwapped, told));
  }

  async #keep(keys, told) {
    try {
      const { data } = await post(this.#address, { keys });
      for (const action of this.#actions) action.key = data.keys[action.name];
      this.#tell(told);
    } catch (error) {
      this.#tell(error instanceof Refusal ? error.detail : words.keysNotKept);
    }
    const focused = document.activeElement?.dataset.change;
    this.#show();
    byId("keys-rows").querySelector(`[data-change="${focused}"]`)?.focus();
    this.apply();
    this.#onChange();
  }

  #tell(text) {
    byId("keys-status").textContent = text;
  }

  // The hints on the page.

  /** Bring every hint on the page up to date. */
  apply() {
    for (const hint of document.querySelectorAll("kbd[data-key]")) {
      hint.textContent = this.#hint(this.keyOf(hint.dataset.key));
    }
    for (const part of document.querySelectorAll("[data-shortcut]")) {
      part.setAttribute("aria-keyshortcuts", this.#hint(this.keyOf(part.dataset.shortcut)));
    }
  }

  #hint(key) {
    return key.length === 1 ? key.toUpperCase() : this.#hints[key];
  }
}

function plain(key) {
  return key.length === 1 && key.toLowerCase().length === 1 ? key.toLowerCase() : key;
}
