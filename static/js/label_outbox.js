// Sends what was submitted, oldest first, until the server has said what became of it. The very same answer goes out
// each time, so that a lost confirmation costs nothing: the server knows a repeated answer and gives the same receipt.
// The last one asks for the next picture as well, where the page has room for it. It may be held for some seconds, in
// which it can be taken back: it goes out with the next one, when the time is over, or when the page is left.

import { get, post, Refusal, Unreachable } from "./label_api.js";

/** @import { Device, KeptDraft, QueuedAnswer, Receipt, SubmittedAnswer } from "./label_drafts.js" */
/** @import { Assignment } from "./label_words.js" */
/** @typedef {Receipt & {next?: Assignment | null}} AnswerReply */
/** @typedef {"network" | "signIn"} WaitsFor */
/**
 * @typedef {object} OutboxEvents
 * @property {(entry: QueuedAnswer) => string[] | null} room the pictures at hand, where another one is wanted with the
 *   receipt of this answer; else null
 * @property {(next: Assignment) => Promise<void>} next the picture that came with a receipt
 * @property {(entry: QueuedAnswer, receipt: Receipt) => void} received the server has the answer
 * @property {(entry: QueuedAnswer, refusal: Refusal, draft: KeptDraft) => void} refused the server wants it changed
 * @property {(entry: QueuedAnswer, refusal: Refusal) => void} answered it was given elsewhere before
 * @property {(entries: QueuedAnswer[], why?: WaitsFor) => void} waiting nothing goes out now; without entries all is sent
 * @property {(wrongAccount: boolean) => Promise<boolean>} signIn resolves to whether somebody has signed in
 */

const WAITS_S = [1, 2, 4, 8, 15, 30];
// No answer is held longer: then the clock of this device was set back.
const MAX_HELD_MS = 10_000;
const LOCK = "unanimous.outbox";
const ME = "/api/v1/me/";
const NOT_HERE = new Set(["not_found", "not_a_tasker"]);

/** Why nothing goes out just now. */
export const WAITS_FOR = Object.freeze({
  network: /** @type {const} */ ("network"),
  signIn: /** @type {const} */ ("signIn"),
});

export class Outbox {
  #device;
  #account;
  #on;
  /** @type {Promise<void> | null} */
  #running = null;
  #again = false;
  #wake = () => {};
  #tries = 0;
  #hurriedAt = 0; // what was submitted until then goes out at once

  /**
   * @param {Pick<Device, "outbox" | "settle" | "giveBack">} device
   * @param {string} account
   * @param {OutboxEvents} on
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

  /** Send at once, also what could still be taken back. */
  sendNow() {
    this.#hurriedAt = Date.now();
    return this.send();
  }

  /**
   * Take an answer back. Returns it with the draft that it becomes; null where it goes out, or has gone.
   * @param {string} assignment
   * @returns {Promise<{entry: QueuedAnswer, draft: KeptDraft} | null>}
   */
  takeBack(assignment) {
    return alone(async () => {
      const entry = (await this.#device.outbox()).at(-1);
      // Where another window has submitted one since, this one goes out.
      if (entry?.assignment !== assignment || !this.#millisecondsHeld(entry)) return null;
      return { entry, draft: await this.#device.giveBack(entry) };
    });
  }

  /**
   * For how long an answer can still be taken back; 0 where it goes out.
   * @param {QueuedAnswer} entry
   */
  #millisecondsHeld({ order, sendAt = 0 }) {
    const left = sendAt - Date.now();
    return order <= this.#hurriedAt || left <= 0 || left > MAX_HELD_MS ? 0 : left;
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

  /**
   * Returns what to wait for before the next one, as a function that resolves to whether to go on; null at the end.
   * @returns {Promise<(() => Promise<boolean>) | null>}
   */
  async #sendOldest() {
    const entries = await this.#device.outbox();
    if (!entries.length) {
      this.#on.waiting(entries);
      return null;
    }
    const held = entries.length === 1 ? this.#millisecondsHeld(entries[0]) : 0;
    if (held) return () => this.#rest(held);
    try {
      await this.#post(entries[0], entries.slice(1).every((entry) => this.#millisecondsHeld(entry)));
      return () => Promise.resolve(true);
    } catch (error) {
      if (error instanceof Unreachable) return () => this.#pause(entries);
      if (!(error instanceof Refusal)) throw error;
      return this.#refused(entries, error);
    }
  }

  /**
   * @param {QueuedAnswer} entry
   * @param {boolean} isLast
   */
  async #post(entry, isLast) {
    const holding = isLast ? this.#on.room(entry) : null;
    const body = holding ? { ...entry.answer, next: true, holding } : entry.answer;
    const reply = /** @type {{data: AnswerReply}} */ (await post(`${entry.api}${entry.assignment}/response/`, body));
    const { next, ...receipt } = reply.data;
    this.#tries = 0;
    await this.#device.settle(entry.assignment, receipt);
    if (next) await this.#on.next(next);
    this.#on.received(entry, receipt);
  }

  /**
   * @param {QueuedAnswer[]} entries
   * @param {Refusal} refusal
   */
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
    return () => Promise.resolve(true);
  }

  /** Whether the sign-in has changed hands. Where that cannot be asked it has not. */
  async #isSomebodyElse() {
    try {
      const { data } = /** @type {{data: {username: string}}} */ (await get(ME));
      return data.username !== this.#account;
    } catch {
      return false;
    }
  }

  /**
   * @param {QueuedAnswer[]} entries
   * @param {boolean} wrongAccount
   */
  #signIn(entries, wrongAccount) {
    this.#on.waiting(entries, WAITS_FOR.signIn);
    return this.#on.signIn(wrongAccount);
  }

  /**
   * @param {QueuedAnswer[]} entries
   * @returns {Promise<boolean>}
   */
  #pause(entries) {
    const seconds = WAITS_S[Math.min(this.#tries, WAITS_S.length - 1)];
    this.#tries += 1;
    this.#on.waiting(entries, WAITS_FOR.network);
    return this.#rest(seconds * 1000);
  }

  /**
   * Wait, or until there is something else to send.
   * @param {number} milliseconds
   * @returns {Promise<boolean>}
   */
  #rest(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(true), milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}

/**
 * Send an answer whose page ends before this device could say what waits. It stays in the outbox until its receipt is
 * there: the next visit sends the very same once more.
 * @param {SubmittedAnswer} entry
 */
export function sendFromLeftPage({ api, assignment, answer }) {
  post(`${api}${assignment}/response/`, answer).catch(() => {});
}

/**
 * Do something while no other window does it. Without locks the server alone keeps answers from being doubled.
 * @template Result
 * @param {() => Promise<Result>} act
 * @returns {Promise<Result>}
 */
async function alone(act) {
  return navigator.locks ? navigator.locks.request(LOCK, act) : act();
}
