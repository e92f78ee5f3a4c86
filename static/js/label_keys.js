// Which key does what on the page, the tasker's own choice included, and the dialog that shows and changes it.

import { byId, copyOfTemplate, find, findAll } from "./dom.js";
import { post, Refusal } from "./label_api.js";
import { fill, words } from "./label_words.js";

/** @typedef {{name: string, words: string, key: string}} ActionKey an action of the page with its key */

const MODIFIERS = new Set(["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock", "Dead", "Process"]);
// What the editor calls the actions that it has keys of its own for.
/** @type {Record<string, string>} */
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
/** @type {Record<string, string>} */
const ALIASES = { zoom_in: "=", next_corner: "PageDown", previous_corner: "PageUp", remove_corner: "Backspace" };

export class Keys {
  #actions;
  #hints;
  #address;
  /** @type {string | null} */
  #changing = null; // the action that waits for its key

  /**
   * @param {object} options
   * @param {ActionKey[]} options.actions in the order in which they are shown
   * @param {Record<string, string>} options.hints words for keys with a name
   * @param {string} options.address that keeps the tasker's choice
   */
  constructor({ actions, hints, address }) {
    this.#actions = actions;
    this.#hints = hints;
    this.#address = address;
    this.#listen();
  }

  /**
   * The name of the action of a key event, or null.
   * @param {{key: string}} event
   */
  actionOf({ key }) {
    const pressed = plain(key);
    const found = this.#actions.find((action) => action.key === pressed);
    return found?.name ?? Object.keys(ALIASES).find((name) => ALIASES[name] === pressed) ?? null;
  }

  /** @param {string} name */
  keyOf(name) {
    return this.#action(name).key;
  }

  /** The keys of the editor, as its option `keys`. */
  get ofEditor() {
    const taken = new Set(this.#actions.map(({ key }) => key));
    const keysOf = (/** @type {string} */ name) =>
      [this.keyOf(name), ALIASES[name]].filter((key, at) => key && !(at && taken.has(key)));
    return Object.fromEntries(Object.entries(OF_EDITOR).map(([name, editors]) => [editors, keysOf(name)]));
  }

  open() {
    this.#say("");
    this.#show();
    byId("keys-dialog", HTMLDialogElement).showModal();
  }

  /** @param {string} name */
  #action(name) {
    return /** @type {ActionKey} */ (this.#actions.find((action) => action.name === name));
  }

  // The dialog.

  #listen() {
    const dialog = byId("keys-dialog");
    dialog.addEventListener("click", ({ target }) => {
      const button = target instanceof Element && target.closest("[data-change]");
      if (button instanceof HTMLElement && button.dataset.change) this.#waitForKey(button.dataset.change);
    });
    dialog.addEventListener("keydown", (event) => this.#pressed(event), { capture: true });
    dialog.addEventListener("close", () => this.#stop());
    byId("keys-reset").addEventListener("click", () => this.#keep({}, words.keysReset));
  }

  #show() {
    const rows = this.#actions.map((action) => {
      const row = copyOfTemplate("keys-row");
      const button = find(row, "button");
      find(row, "th").textContent = action.words;
      find(row, "kbd").textContent = this.#hint(action.key);
      button.dataset.change = action.name;
      button.setAttribute("aria-label", fill(words.changeKey, { action: action.words }));
      return row;
    });
    byId("keys-rows").replaceChildren(...rows);
  }

  /** @param {string} name */
  #waitForKey(name) {
    this.#stop();
    this.#changing = name;
    const row = find(byId("keys-rows"), `[data-change="${name}"]`).closest("tr");
    row?.classList.add("is-waiting");
    this.#say(fill(words.pressKey, { action: this.#action(name).words }));
  }

  #stop() {
    this.#changing = null;
    byId("keys-rows").querySelector(".is-waiting")?.classList.remove("is-waiting");
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (!this.#changing || event.ctrlKey || event.metaKey || MODIFIERS.has(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const [name, key] = [this.#changing, plain(event.key)];
    this.#stop();
    if (event.key === "Escape") this.#say(words.keyUnchanged);
    else if (key === " " || (key.length > 1 && !(key in this.#hints))) this.#say(words.keyRefused);
    else this.#choose(name, key);
  }

  /**
   * Give an action its key. The action that had it before gets the one that has become free.
   * @param {string} name
   * @param {string} key
   */
  #choose(name, key) {
    const chosen = Object.fromEntries(this.#actions.map((action) => [action.name, action.key]));
    const before = this.#actions.find((action) => action.key === key && action.name !== name);
    const values = { key: this.#hint(key), action: this.#action(name).words };
    if (!before) return this.#keep({ ...chosen, [name]: key }, fill(words.keyChanged, values));
    const swapped = { ...values, other: before.words, freed: this.#hint(chosen[name]) };
    return this.#keep({ ...chosen, [name]: key, [before.name]: chosen[name] }, fill(words.keySwapped, swapped));
  }

  /**
   * @param {Record<string, string>} keys by action
   * @param {string} text to show when they are kept
   */
  async #keep(keys, text) {
    try {
      const { data } = /** @type {{data: {keys: Record<string, string>}}} */ (await post(this.#address, { keys }));
      for (const action of this.#actions) action.key = data.keys[action.name];
      this.#say(text);
    } catch (error) {
      this.#say(error instanceof Refusal ? error.detail : words.keysNotKept);
    }
    const focused = document.activeElement?.getAttribute("data-change");
    this.#show();
    if (focused) find(byId("keys-rows"), `[data-change="${focused}"]`).focus();
    this.apply();
  }

  /** @param {string} text */
  #say(text) {
    byId("keys-status").textContent = text;
  }

  // The hints on the page.

  /** Bring every hint on the page up to date. */
  apply() {
    for (const hint of findAll(document, "kbd[data-key]")) {
      hint.textContent = this.#hint(this.keyOf(hint.dataset.key ?? ""));
    }
    for (const part of findAll(document, "[data-shortcut]")) {
      part.setAttribute("aria-keyshortcuts", this.#hint(this.keyOf(part.dataset.shortcut ?? "")));
    }
  }

  /** @param {string} key */
  #hint(key) {
    return key.length === 1 ? key.toUpperCase() : this.#hints[key];
  }
}

/** @param {string} key */
function plain(key) {
  return key.length === 1 && key.toLowerCase().length === 1 ? key.toLowerCase() : key;
}
