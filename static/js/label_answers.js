// What is submitted on this page: into the outbox, and what becomes of it there.

import { Outbox, sendFromLeftPage } from "./label_outbox.js";
import { data, fill, receiptWords, words } from "./label_words.js";

/** @import { Refusal } from "./label_api.js" */
/** @import { Bar } from "./label_bar.js" */
/** @import { Device, Draft, QueuedAnswer, Receipt, SubmittedAnswer, Windows } from "./label_drafts.js" */
/** @import { EmptyScreen } from "./label_empty.js" */
/** @import { WaitsFor } from "./label_outbox.js" */
/** @import { Pictures } from "./label_pictures.js" */
/** @import { Sheet } from "./label_sheet.js" */
/** @import { Assignment } from "./label_words.js" */
/**
 * @typedef {object} AnswerParts
 * @property {Bar} bar
 * @property {Device} device
 * @property {EmptyScreen} empty
 * @property {Pictures} pictures
 * @property {Sheet} sheet
 * @property {Windows} windows
 */
/**
 * @typedef {object} FormOnScreen what the page does for its answers
 * @property {() => boolean} isOpen whether the picture on screen can be answered
 * @property {() => {revision: number, base: number}} revisions of its draft
 * @property {() => void} close
 * @property {(assignment: Assignment, draft: Draft) => void} show another picture, at once
 * @property {(text: string) => void} advance to the next picture
 * @property {() => void} advanceIfFrozen where the form on screen was submitted
 * @property {() => Promise<boolean>} signIn resolves to whether somebody has signed in
 */

const LEAVING_MS = 2000;

export class Answers {
  #parts;
  #form;
  #outbox;
  /** @type {string | null} */
  #queuing = null; // the id of the answer that is just being put into the outbox
  /** @type {SubmittedAnswer | null} */
  #unsettled = null; // the answer submitted last, until it is known what became of it
  #holding = 0; // the timer that runs while the newest answer can be taken back
  /** @type {Set<string>} */
  #sentHere = new Set(); // ids of answers that were submitted on this page

  /**
   * @param {AnswerParts} parts
   * @param {FormOnScreen} form
   */
  constructor(parts, form) {
    this.#parts = parts;
    this.#form = form;
    this.#outbox = new Outbox(parts.device, data.username, {
      room: ({ api, assignment }) =>
        data.ahead && api === data.api ? parts.pictures.roomAfter(assignment) : null,
      next: (assignment) => parts.pictures.add(assignment),
      received: (entry, receipt) => this.#received(entry, receipt),
      refused: (entry, refusal, draft) => this.#refused(entry, refusal, draft),
      answered: (entry, { detail }) => this.#settled(entry.assignment, detail),
      waiting: (entries, why) => this.#waiting(entries, why),
      signIn: (wrongAccount) => this.#signIn(wrongAccount),
    });
  }

  /** Whether an answer is just being put into the outbox. */
  get isQueuing() {
    return this.#queuing !== null;
  }

  /** Send what waits. */
  send() {
    return this.#outbox.send();
  }

  /**
   * Put the form on screen into the outbox.
   * @param {Assignment} assignment
   */
  async queue(assignment) {
    const { device, pictures, sheet, windows } = this.#parts;
    const { id } = assignment;
    const { answer, draft: form } = sheet;
    const heldMs = data.holdSeconds * 1000;
    this.#form.close();
    this.#queuing = id;
    this.#sentHere.add(id);
    pictures.submitted(id);
    const sendAt = Date.now() + heldMs;
    const revisions = this.#form.revisions();
    this.#unsettled = { assignment: id, api: data.api, shown: assignment, answer, form, ...revisions, sendAt };
    await device.queue(this.#unsettled);
    this.#queuing = null;
    windows.send({ queued: id });
    this.#offerTakeBack(heldMs);
    device.askToPersist().catch(() => {});
  }

  /** Send at once, also what could still be taken back. */
  sendNow() {
    this.#offerTakeBack(0);
    return this.#outbox.sendNow();
  }

  /** Send what is held when the page is hidden or left. */
  listen() {
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.sendNow();
    });
    // There is no time any more to ask this device for what waits.
    addEventListener("pagehide", () => this.#unsettled && sendFromLeftPage(this.#unsettled));
    document.addEventListener("submit", (event) => this.#sendBefore(event), { capture: true });
  }

  /**
   * Send what is held before another form leaves the page: Sign out ends the session that it is sent with.
   * @param {SubmitEvent} event
   */
  async #sendBefore(event) {
    const form = /** @type {HTMLFormElement} */ (event.target);
    if (!this.isHolding || form.id === "label-form" || form.closest("dialog")) return;
    event.preventDefault();
    const patience = new Promise((resolve) => {
      setTimeout(resolve, LEAVING_MS);
    });
    await Promise.race([this.sendNow(), patience]);
    form.requestSubmit(event.submitter);
  }

  /** Whether the newest answer can still be taken back. */
  get isHolding() {
    return this.#holding !== 0;
  }

  /** @param {number} milliseconds */
  #offerTakeBack(milliseconds) {
    clearTimeout(this.#holding);
    this.#holding = milliseconds ? window.setTimeout(() => this.#offerTakeBack(0), milliseconds) : 0;
    this.#parts.bar.offerTakeBack(milliseconds > 0);
  }

  /** Back to the answer that was just submitted, while it has not gone out. */
  async takeBack() {
    const { bar } = this.#parts;
    const newest = this.isHolding ? this.#unsettled : null;
    const taken = newest && (await this.#outbox.takeBack(newest.assignment));
    if (!taken) return bar.show(words.nothingToTakeBack);
    this.#offerTakeBack(0);
    this.#sentHere.delete(taken.entry.assignment);
    this.#reopen(taken.entry, taken.draft);
    return bar.show(words.takenBack);
  }

  /**
   * @param {QueuedAnswer} entry
   * @param {Receipt} receipt
   */
  #received({ assignment: id, api }, receipt) {
    if (receipt.go && api === data.api) {
      location.assign(receipt.go);
      return;
    }
    const earlier = !this.#sentHere.has(id);
    if (!receipt.counted) this.#parts.bar.leave(fill(words.surplus, { receipt: receipt.receipt }));
    this.#settled(id, receiptWords(receipt, earlier));
  }

  /**
   * @param {string} id
   * @param {string} text
   */
  #settled(id, text) {
    const { bar, pictures, windows } = this.#parts;
    windows.send({ settled: id });
    this.#sentHere.delete(id);
    if (this.#unsettled?.assignment === id) this.#unsettled = null;
    pictures.settled(id);
    if (this.#form.isOpen()) {
      bar.show(text);
      pictures.fill();
    } else if (!this.#queuing) {
      this.#form.advance(text);
    }
  }

  /**
   * @param {QueuedAnswer} entry
   * @param {Refusal} refusal
   * @param {Draft} draft
   */
  #refused(entry, refusal, draft) {
    const { bar, sheet } = this.#parts;
    if (this.#reopen(entry, draft)) sheet.showErrors(refusal.fields);
    bar.show(fill(words.notReceived, { detail: refusal.detail }), "error");
  }

  /**
   * Back to a picture, with everything that was filled in. The one on screen waits for its turn. Returns whether it is
   * one of this page's.
   * @param {QueuedAnswer} entry
   * @param {Draft} draft
   */
  #reopen({ assignment: id, api, shown }, draft) {
    const { pictures, sheet, windows } = this.#parts;
    windows.send({ settled: id });
    if (this.#unsettled?.assignment === id) this.#unsettled = null;
    pictures.settled(id);
    if (api !== data.api) return false;
    const isOpen = this.#form.isOpen();
    pictures.interrupt(shown, isOpen ? { ...this.#form.revisions(), savedAt: Date.now(), form: sheet.draft } : null);
    this.#form.show(shown, draft);
    return true;
  }

  /**
   * @param {QueuedAnswer[]} entries
   * @param {WaitsFor} [why]
   */
  #waiting({ length: count }, why) {
    const { bar, device, empty, pictures } = this.#parts;
    bar.showWaiting(count, why, device.mayLose);
    if (count === 0) {
      pictures.settledBut(this.#queuing);
      this.#form.advanceIfFrozen();
    } else if (!this.#form.isOpen() && !this.#queuing) {
      empty.showWaiting(count, why, device.mayLose);
    }
  }

  /** @param {boolean} wrongAccount */
  async #signIn(wrongAccount) {
    const { bar } = this.#parts;
    if (wrongAccount) bar.show(fill(words.wrongAccount, { username: data.username }), "error");
    const signedIn = await this.#form.signIn();
    if (!signedIn) bar.show(words.signInPutOff, "error");
    return signedIn;
  }
}
