// Keys and buttons of the labeling page: which action each of them means, and whether it can be done now.

import { byId, findAll } from "./dom.js";
import { anyOpen } from "./label_dialogs.js";

/** @import { Bar } from "./label_bar.js" */
/** @import { Keys } from "./label_keys.js" */
/** @typedef {() => unknown} Action returns words to show: why it cannot be done, or what it did */

// What can be done without an open form, and what a key held down does once.
const ANYTIME = new Set(["submit", "take_back", "instructions", "ask", "receipts", "keys", "dismiss"]);
const ONCE = new Set(["choice_1", "choice_2", "choice_3", "choice_4", "submit", "take_back", "cannot_outline"]);

export class Actions {
  #actions;
  #keys;
  #bar;
  #isFormOpen;

  /**
   * @param {Record<string, Action>} actions by their name in the table of keys
   * @param {Keys} keys
   * @param {Bar} bar
   * @param {() => boolean} isFormOpen
   */
  constructor(actions, keys, bar, isFormOpen) {
    this.#actions = actions;
    this.#keys = keys;
    this.#bar = bar;
    this.#isFormOpen = isFormOpen;
  }

  listen() {
    for (const button of findAll(document, "[data-act]")) {
      button.addEventListener("click", (event) => {
        event.preventDefault();
        // First, so that a dialog has a place in sight to give the focus back to.
        byId("more").hidePopover?.();
        this.#act(button.dataset.act ?? "");
      });
    }
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.defaultPrevented || event.altKey || anyOpen() || isTyping(event.target)) return;
    const name = event.ctrlKey || event.metaKey ? chord(event) : this.#keys.actionOf(event);
    if (event.key === "Enter" && pressesItself(event.target)) return;
    if (name === null || !(this.#isFormOpen() || ANYTIME.has(name))) {
      // A radio button would submit the form with Enter, whatever key does so by choice.
      if (event.key === "Enter") event.preventDefault();
      return;
    }
    event.preventDefault();
    if (!(event.repeat && ONCE.has(name))) this.#act(name);
  }

  /** @param {string} name */
  #act(name) {
    const words = this.#actions[name]();
    if (typeof words === "string") this.#bar.show(words);
  }
}

/** @param {KeyboardEvent} event */
function chord({ key, shiftKey }) {
  if (key.toLowerCase() === "z") return shiftKey ? "redo" : "undo";
  return key.toLowerCase() === "y" ? "redo" : null;
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof Element && target.matches("textarea, input:not([type=radio], [type=checkbox]), select");
}

/**
 * Enter on these does what they are there for.
 * @param {EventTarget | null} target
 */
function pressesItself(target) {
  return target instanceof Element && target.closest("button, a, summary") !== null;
}
