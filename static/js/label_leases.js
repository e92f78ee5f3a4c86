// Renews the leases of the pictures at hand while the page is in use.

import { post, Refusal } from "./label_api.js";
import { data, words } from "./label_words.js";

/** @import { Bar } from "./label_bar.js" */
/** @import { Pictures } from "./label_pictures.js" */

export class Leases {
  #pictures;
  #bar;
  /** @type {Set<"sign-in" | "lease">} */
  #shown = new Set(); // troubles that were shown once with the picture on screen

  /**
   * @param {Pictures} pictures
   * @param {Bar} bar
   */
  constructor(pictures, bar) {
    this.#pictures = pictures;
    this.#bar = bar;
  }

  /** Another picture is on screen. */
  forgetTroubles() {
    this.#shown.clear();
  }

  async renew() {
    for (const { id, lease_token } of this.#pictures.held) {
      try {
        await post(`${data.api}${id}/heartbeat/`, { lease_token });
      } catch (error) {
        if (error instanceof Refusal) this.#refused(id, error);
      }
    }
  }

  /**
   * @param {string} id
   * @param {Refusal} refusal
   */
  #refused(id, refusal) {
    if (refusal.needsSignIn) {
      if (!this.#shown.has("sign-in")) this.#bar.show(words.signInEndedGoOn);
      this.#shown.add("sign-in");
    } else if (id !== this.#pictures.current?.id) {
      this.#pictures.drop(id);
    } else {
      if (!this.#shown.has("lease")) this.#bar.show(refusal.detail, "error");
      this.#shown.add("lease");
    }
  }
}
