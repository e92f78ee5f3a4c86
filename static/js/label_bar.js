// The lines of status: how an answer fared, what is kept on this device, what waits, and messages to be put away.

import { byId, copyOfTemplate, find, findAll } from "./dom.js";
import { clock, counted, fill, put, words } from "./label_words.js";
import { WAITS_FOR } from "./label_outbox.js";

/**
 * @typedef {object} Saved
 * @property {Date} [savedAt] when the draft was saved
 * @property {boolean} [onServer] whether the server has it
 * @property {boolean} [unkept] whether this device keeps nothing
 */

export class Bar {
  #messages = byId("messages");
  /** @type {WeakMap<Element, () => void>} */
  #onDismiss = new WeakMap();

  /**
   * One line on the state of things.
   * @param {string} text
   * @param {"" | "error"} kind
   */
  show(text, kind = "") {
    const status = byId(byId("label-form").hidden ? "empty-status" : "status");
    put(status, text);
    status.classList.toggle("is-wrong", kind === "error");
  }

  /**
   * When the draft was saved; nothing when there is nothing to keep yet.
   * @param {Saved} saved
   */
  showSaved({ savedAt, onServer, unkept } = {}) {
    const saved = onServer ? words.savedOnServer : words.saved;
    const text = savedAt ? fill(saved, { time: clock(savedAt) }) : "";
    byId("saved").textContent = unkept && !onServer ? words.notKept : text;
    byId("saved").classList.toggle("is-wrong", Boolean(unkept && !onServer));
  }

  /**
   * How many answers wait, for what, and whether this device would lose them.
   * @param {number} count
   * @param {string | undefined} why
   * @param {boolean} unkept
   */
  showWaiting(count, why, unkept) {
    const line = byId("waiting");
    const forms = why === WAITS_FOR.signIn ? words.waitForSignIn : words.waitForNetwork;
    // Empty and never hidden: a status that comes into the page together with its words is not read out.
    line.textContent = count ? counted(forms, count) + (unkept ? ` ${counted(words.leaveOpen, count)}` : "") : "";
  }

  /**
   * Show or hide the buttons that take the last answer back.
   * @param {boolean} offered
   */
  offerTakeBack(offered) {
    for (const button of findAll(document, "[data-act=take_back]")) button.hidden = !offered;
  }

  /**
   * For a screen reader, after what the editor says of the same step.
   * @param {string} text
   */
  speak(text) {
    queueMicrotask(() => {
      byId("spoken").textContent = `${byId("spoken").textContent} ${text}`.trim();
    });
  }

  hush() {
    byId("spoken").textContent = "";
  }

  /** @param {string} text */
  say(text) {
    byId("spoken").textContent = text;
  }

  /**
   * A message that stays until it is dismissed. One with a `name` is shown once at a time.
   * @param {string} text
   * @param {{name?: string, onDismiss?: () => void}} options
   */
  leave(text, { name = "", onDismiss = () => {} } = {}) {
    if (name && this.#messages.querySelector(`[data-name="${name}"]`)) return;
    const message = copyOfTemplate("message");
    message.dataset.name = name;
    put(find(message, "p"), text);
    find(message, "button").addEventListener("click", () => this.#dismiss(message));
    this.#onDismiss.set(message, onDismiss);
    this.#messages.append(message);
  }

  /** Dismiss the oldest message; returns whether there was one. */
  dismiss() {
    const [message] = this.#messages.children;
    if (message) this.#dismiss(message);
    return Boolean(message);
  }

  /** @param {Element} message */
  #dismiss(message) {
    message.remove();
    this.#onDismiss.get(message)?.();
  }
}
