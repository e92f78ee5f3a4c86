// The pictures at hand: the one on screen, and the next ones, already leased, loaded and decoded.

import { post, Refusal, Unreachable } from "./label_api.js";

/** @import { Held, Reply } from "./label_api.js" */
/** @import { Draft } from "./label_drafts.js" */
/** @import { Assignment } from "./label_words.js" */
/** @typedef {{assignment: Assignment, draft: Draft | null}} ReadyPicture */
/**
 * @typedef {object} PicturesOptions
 * @property {number} most how many are kept ready
 * @property {(assignment: Assignment) => Promise<Draft | null>} draftOf what was filled in before
 * @property {(assignment: Assignment) => void} onAhead hears of each that becomes ready
 * @property {() => void} onStopped hears that there are no more now
 */

// Why the server refuses more to somebody whose pictures it has taken back.
const GIVEN_BACK = new Set(["paused", "not_qualified"]);

export class Pictures {
  #api;
  #most;
  #draftOf;
  #onAhead;
  #onStopped;
  /** @type {(ReadyPicture & {image?: Promise<HTMLImageElement>})[]} */
  #ahead = []; // in the order in which they are shown
  /** @type {Promise<void> | null} */
  #filling = null;
  /** @type {Set<string>} */
  #submitted = new Set(); // ids of answers on their way: the server takes these pictures for held as yet
  /** @type {Assignment | null} */
  current = null;

  /**
   * @param {string} api the address of the assignments
   * @param {PicturesOptions} options
   */
  constructor(api, { most, draftOf, onAhead, onStopped }) {
    this.#api = api;
    this.#most = most;
    this.#draftOf = draftOf;
    this.#onAhead = onAhead;
    this.#onStopped = onStopped;
  }

  get held() {
    return [this.current, ...this.#ahead.map(({ assignment }) => assignment)].filter((each) => each !== null);
  }

  /**
   * An answer is on its way. Until it is settled nothing more is leased, or the same picture would come again.
   * @param {string} id
   */
  submitted(id) {
    this.#submitted.add(id);
  }

  /** @param {string} id */
  settled(id) {
    this.#submitted.delete(id);
  }

  /**
   * Nothing is on its way any more, save perhaps the one that is just being put into the outbox.
   * @param {string | null} id
   */
  settledBut(id) {
    this.#submitted = new Set(id !== null && this.#submitted.has(id) ? [id] : []);
  }

  /** How many answers are on their way. */
  get waiting() {
    return this.#submitted.size;
  }

  /** Lease and load ahead what is missing. A refusal is left for when the tasker gets there. */
  fill() {
    this.#filling ??= this.#fill().finally(() => {
      this.#filling = null;
    });
    return this.#filling;
  }

  async #fill() {
    try {
      while (this.current && !this.#submitted.size && this.#ahead.length < this.#most) {
        const { data } = await this.#next();
        if (!data || this.#holds(data.id)) return;
        await this.add(data);
      }
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      if (error instanceof Refusal && GIVEN_BACK.has(error.code)) this.#stopped();
    }
  }

  /**
   * The ids of the pictures at hand and of other answers on their way, where this one leaves room for another picture;
   * null where it does not.
   * @param {string} answered
   */
  roomAfter(answered) {
    const ids = [...new Set([...this.held.map(({ id }) => id), ...this.#submitted])].filter((id) => id !== answered);
    return this.#filling || ids.length > this.#most ? null : ids;
  }

  /**
   * Keep a leased picture ready.
   * @param {Assignment} assignment
   */
  async add(assignment) {
    const { id, image } = assignment;
    const ready = { assignment, image: loaded(image.url), draft: await this.#draftOf(assignment) };
    // Two replies may bring the same one, and another window may answer it meanwhile.
    if (this.#holds(id)) return;
    this.#ahead.push(ready);
    this.#onAhead(assignment);
  }

  /** What is at hand was given back: answers to it would not count any more. */
  #stopped() {
    this.#ahead = [];
    this.#onStopped();
  }

  /** @param {string} id */
  #holds(id) {
    return this.#submitted.has(id) || this.held.some((held) => held.id === id);
  }

  #next(holding = this.held) {
    const body = { holding: [...this.#submitted, ...holding.map(({ id }) => id)] };
    return /** @type {Promise<Reply<Assignment | null>>} */ (post(`${this.#api}next/`, body));
  }

  /** Go on to a picture at hand; returns it, or null when there is none. */
  take() {
    const ready = this.#ahead.shift() ?? null;
    this.current = ready && ready.assignment;
    return ready;
  }

  /**
   * Ask for a picture, to be taken; where none comes, `retryAfter` (seconds) and `held` say why. Throws as `post`.
   * @returns {Promise<{retryAfter: number, held: Held | null}>}
   */
  async ask() {
    await this.#filling;
    if (this.held.length) return { retryAfter: 0, held: null };
    const { data, retryAfter, held } = await this.#next();
    if (data) await this.add(data);
    await this.#ahead[0]?.image;
    return { retryAfter, held };
  }

  /**
   * Show another picture first; the one on screen waits for its turn.
   * @param {Assignment} assignment
   * @param {Draft | null} draft of the one on screen; null where that one does not wait: it was submitted, or is gone
   */
  interrupt(assignment, draft) {
    const { current } = this;
    this.drop(assignment.id);
    if (draft && current && current.id !== assignment.id) this.#ahead.unshift({ assignment: current, draft });
    this.current = assignment;
  }

  /**
   * Forget a picture that is at hand no more.
   * @param {string} id
   */
  drop(id) {
    this.#ahead = this.#ahead.filter(({ assignment }) => assignment.id !== id);
  }

  /**
   * Another window has changed a draft.
   * @param {string} id
   */
  async refresh(id) {
    const ahead = this.#ahead.find(({ assignment }) => assignment.id === id);
    if (ahead) ahead.draft = await this.#draftOf(ahead.assignment);
  }

  /** A fresh address for the picture on screen, whose old one has run out. */
  async renewed() {
    const { data } = await this.#next(this.held.filter(({ id }) => id !== this.current?.id));
    return data && data.id === this.current?.id ? data.image.url : null;
  }
}

/**
 * Fetch and decode a picture. One that fails says so when it is shown.
 * @param {string} url
 */
async function loaded(url) {
  const image = new Image();
  image.src = url;
  await image.decode().catch(() => {});
  return image;
}
