// Sends what was submitted, oldest first, until the server has said what became of it. The very same bytes go out each
// time, so that a lost confirmation costs nothing: the server knows a repeated answer and gives the same receipt.

import { get, post, Refusal, Unreachable } from "./label_api.js";

const WAITS_S = [1, 2, 4, 8, 15, 30];
const LOCK = "unanimous.outbox";
const ME = "/api/v1/me/";
const NOT_HERE = new Set(["not_found", "not_a_tasker"]);

/** Why nothing goes out just now. */
export const WAITS_FOR = Object.freeze({ network: "network", signIn: "signIn" });

export class Outbox {
  #device;
  #account;
  #on;
  #running = null;
  #again = false;
  #wake = () => {};
  #tries = 0;

  /**
   * `on.received(entry, receipt)`, `on.refused(entry, refusal)` and `on.answered(entry, refusal)` (given elsewhere
   * before) are called when an answer is settled; `on.waiting(entries, why)` when nothing goes out for now,
   * with no entries when all is sent. `on.signIn(wrongAccount)` resolves to whether somebody has signed in.
   */
  constructor(device, account, on) {
    this.#device = device;
    this.#account = account;
    this.#on = on;
    addEventListener("online", () => this.send());
  }

  /** Send what there is, or try again at once. Resolves when there is nothing left, or nothing can be done. */
  send() {
    this.#again = true;
    this.#wake();
    this.#running ??= this.#sendAll().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #sendAll() {
    while (this.#again) {
      this.#again = false;
      // One window at a time, so that answers go out in the order in which they were given. What has to be waited for
      // is waited for outside, or a window left alone would keep the others from sending.
      for (let goOn = true; goOn; ) {
        const wait = await alone(() => this.#sendOldest());
        goOn = wait === null ? false : await wait();
      }
    }
  }

  /** Returns what to wait for before the next one, as a function that tells whether to go on; null at the end. */
  async #sendOldest() {
    const entries = await this.#device.outbox();
    if (!entries.length) {
      this.#on.waiting(entries);
      return null;
    }
    try {
      await this.#post(entries[0]);
      return () => true;
    } catch (error) {
      if (error instanceof Unreachable) return () => this.#pause(entries);
      if (!(error instanceof Refusal)) throw error;
      return this.#refused(entries, error);
    }
  }

  async #post(entry) {
    const { data } = await post(`${entry.api}${entry.assignment}/response/`, entry.answer);
    this.#tries = 0;
    await this.#device.settle(entry.assignment, data);
    this.#on.received(entry, data);
  }

  async #refused(entries, refusal) {
    const [entry] = entries;
    if (refusal.needsSignIn) return () => this.#signIn(entries, false);
    if (NOT_HERE.has(refusal.code) && (await this.#isSomebodyElse())) return () => this.#signIn(entries, true);
    if (refusal.code === "already_answered") {
      await this.#device.settle(entry.assignment);
      this.#on.answered(entry, refusal);
    } else {
      this.#on.refused(entry, refusal, await this.#device.giveBack(entry));
    }
    return () => true;
  }

  /** Whether the sign-in has changed hands. Where that cannot be asked it has not. */
  async #isSomebodyElse() {
    const { data } = await get(ME).catch(() => ({ data: null }));
    return data !== null && data.username !== this.#account;
  }

  #signIn(entries, wrongAccount) {
    this.#on.waiting(entries, WAITS_FOR.signIn);
    return this.#on.signIn(wrongAccount);
  }

  #pause(entries) {
    const seconds = WAITS_S[Math.min(this.#tries, WAITS_S.length - 1)];
    this.#tries += 1;
    this.#on.waiting(entries, WAITS_FOR.network);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(true), seconds * 1000);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}

/** Do something while no other window does it. Without locks the server alone keeps answers from being doubled. */
function alone(act) {
  return navigator.locks ? navigator.locks.request(LOCK, act) : act();
}
