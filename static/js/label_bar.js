// What the page tells: how an answer fared, what is kept on this device, what waits, and messages to be put away.

import { clock, counted, fill, put, words } from "./label_words.js";
import { WAITS_FOR } from "./label_outbox.js";

const byId = (id) => document.getElementById(id);

export class Bar {
  #messages = byId("messages");
  #onDismiss = new WeakMap();

  /** One line on how things stand. */
  tell(text, kind = "") {
    const status = byId(byId("label-form").hidden ? "empty-status" : "status");
    put(status, text);
    status.classList.toggle("is-wrong", kind === "error");
  }

  /** Where it was put down: {savedAt} or {unkept}; nothing when there is nothing to keep yet. */
  tellKept({ savedAt, unkept } = {}) {
    byId("saved").textContent = unkept ? words.notKept : savedAt ? fill(words.saved, { time: clock(savedAt) }) : "";
    byId("saved").classList.toggle("is-wrong", Boolean(unkept));
  }

  /** How many answers wait, for what, and whether this device keeps them. */
  tellWaiting(count, why, unkept) {
    const line = byId("waiting");
    const forms = why === WAITS_FOR.signIn ? words.waitForSignIn : words.waitForNetwork;
    // Empty and never hidden: a status that comes into the page together with its words is not read out.
    line.textContent = count ? counted(forms, count) + (unkept ? ` ${counted(words.leaveOpen, count)}` : "") : "";
  }

  /** For a screen reader, after what the editor says of the same step. */
  speak(text) {
    queueMicrotask(() => {
      byId("spoken").textContent = `${byId("spoken").textContent} ${text}`.trim();
    });
  }

  hush() {
    byId("spoken").textContent = "";
  }

  say(text) {
    byId("spoken").textContent = text;
  }

  /** A message that stays until it is put away. One with a `name` is shown once at a time. */
  leave(text, { name = "", onDismiss = () => {} } = {}) {
    if (name && this.#messages.querySelector(`[data-name="${name}"]`)) return;
    const message = byId("message").content.firstElementChild.cloneNode(true);
    message.dataset.name = name;
    put(message.querySelector("p"), text);
    message.querySelector("button").addEventListener("click", () => this.#dismiss(message));
    this.#onDismiss.set(message, onDismiss);
    this.#messages.append(message);
  }

  /** Put the oldest message away; returns whether there was one. */
  dismiss() {
    const [message] = this.#messages.children;
    if (message) this.#dismiss(message);
    return Boolean(message);
  }

  #dismiss(message) {
    message.remove();
    this.#onDismiss.get(message)();
  }
}
