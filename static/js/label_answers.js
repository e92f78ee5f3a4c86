// What is submitted on this page: into the outbox, and what becomes of it there.

import { Outbox } from "./label_outbox.js";
import { data, fill, receiptWords, words } from "./label_words.js";

/** @import { Refusal } from "./label_api.js" */
/** @import { Bar } from "./label_bar.js" */
/** @import { Device, Draft, QueuedAnswer, Receipt } from "./label_drafts.js" */
/** @import { EmptyScreen } from "./label_empty.js" */
/** @import { WaitsFor } from "./label_outbox.js" */
/** @import { Pictures } from "./label_pictures.js" */
/** @import { Sheet } from "./label_sheet.js" */
/** @import { Windows } from "./label_windows.js" */
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
 * @property {() => number} revision of its draft
 * @property {() => void} close
 * @property {(assignment: Assignment, draft: Draft) => void} show another picture, at once
 * @property {(text: string) => void} advance to the next picture
 * @property {() => void} advanceIfFrozen where the form on screen was submitted
 * @property {() => Promise<boolean>} signIn resolves to whether somebody has signed in
 */

export class Answers {
  #parts;
  #form;
  #outbox;
  /** @type {string | null} */
  #queuing = null; // the id of the answer that is just being put into the outbox
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
      room: ({ api }) => (data.ahead && api === data.api ? parts.pictures.room : null),
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
    this.#form.close();
    this.#queuing = id;
    this.#sentHere.add(id);
    pictures.submitted(id);
    const revision = this.#form.revision();
    await device.queue({ assignment: id, api: data.api, shown: assignment, answer, form, revision });
    this.#queuing = null;
    windows.send({ queued: id });
    device.askToPersist().catch(() => {});
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
    pictures.settled(id);
    if (this.#form.isOpen()) {
      bar.show(text);
      pictures.fill();
    } else if (!this.#queuing) {
      this.#form.advance(text);
    }
  }

  /**
   * Back to the picture, with everything that was filled in. The one on screen waits for its turn.
   * @param {QueuedAnswer} entry
   * @param {Refusal} refusal
   * @param {Draft} draft
   */
  #refused({ assignment: id, api, shown }, refusal, draft) {
    const { bar, pictures, sheet, windows } = this.#parts;
    windows.send({ settled: id });
    pictures.settled(id);
    if (api === data.api) {
      const isOpen = this.#form.isOpen();
      pictures.interrupt(shown, isOpen ? { revision: this.#form.revision(), savedAt: Date.now(), form: sheet.draft } : null);
      this.#form.show(shown, draft);
      sheet.showErrors(refusal.fields);
    }
    bar.show(fill(words.notReceived, { detail: refusal.detail }), "error");
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
