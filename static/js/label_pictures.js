// The pictures at hand: the one on screen, and the next ones, already leased, loaded and decoded.

import { post, Refusal, Unreachable } from "./label_api.js";

// Why the server refuses more to somebody whose pictures it has taken back.
const GIVEN_BACK = new Set(["paused", "not_qualified"]);

export class Pictures {
  #api;
  #most;
  #draftOf;
  #onAhead;
  #onStopped;
  #ahead = []; // {assignment, draft, image}, in the order in which they are shown
  #filling = null;
  #submitted = new Set(); // ids of answers on their way: the server takes these pictures for held as yet
  current = null;

  /**
   * `api` is the address of the assignments; `most` is how many are kept ready; `draftOf(id)` is what this device
   * keeps of one; `onAhead(assignment)` hears of each that becomes ready, `onStopped()` that there are no more now.
   */
  constructor(api, { most, draftOf, onAhead, onStopped }) {
    this.#api = api;
    this.#most = most;
    this.#draftOf = draftOf;
    this.#onAhead = onAhead;
    this.#onStopped = onStopped;
  }

  get held() {
    return [this.current, ...this.#ahead.map(({ assignment }) => assignment)].filter(Boolean);
  }

  /** An answer is on its way. Until it is settled nothing more is leased, or the same picture would come again. */
  submitted(id) {
    this.#submitted.add(id);
  }

  settled(id) {
    this.#submitted.delete(id);
  }

  /** Nothing is on its way any more, save perhaps the one that is just being put into the outbox. */
  settledBut(id) {
    this.#submitted = new Set([id].filter((each) => this.#submitted.has(each)));
  }

  /** Whether answers are on their way. */
  get waiting() {
    return this.#submitted.size > 0;
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
        this.#ahead.push({ assignment: data, draft: await this.#draftOf(data.id), image: loaded(data.image.url) });
        this.#onAhead(data);
      }
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      if (GIVEN_BACK.has(error.code)) this.#stopped();
    }
  }

  /** What is at hand was given back: answers to it would not count any more. */
  #stopped() {
    this.#ahead = [];
    this.#onStopped();
  }

  #holds(id) {
    return this.#submitted.has(id) || this.held.some((held) => held.id === id);
  }

  #next() {
    return post(`${this.#api}next/`, { holding: this.held.map(({ id }) => id) });
  }

  /** Go on to a picture at hand; returns {assignment, draft}, or null when there is none. */
  take() {
    const { assignment = null, draft } = this.#ahead.shift() ?? {};
    this.current = assignment;
    return assignment && { assignment, draft };
  }

  /** Ask for a picture. Returns {assignment, draft} or {retryAfter} when nothing is left; throws as `post`. */
  async ask() {
    await this.#filling;
    const ready = this.take();
    if (ready) return ready;
    const { data, retryAfter } = await this.#next();
    if (!data) return { retryAfter };
    await loaded(data.image.url);
    this.current = data;
    return { assignment: data, draft: await this.#draftOf(data.id) };
  }

  /** Show another picture first; the one on screen waits for its turn. */
  interrupt(assignment, draft) {
    const { current } = this;
    this.drop(assignment.id);
    if (current && current.id !== assignment.id) this.#ahead.unshift({ assignment: current, draft });
    this.current = assignment;
  }

  /** Forget a picture that is at hand no more. */
  drop(id) {
    this.#ahead = this.#ahead.filter(({ assignment }) => assignment.id !== id);
  }

  /** Another window has changed a draft. */
  async refresh(id) {
    const ahead = this.#ahead.find(({ assignment }) => assignment.id === id);
    if (ahead) ahead.draft = await this.#draftOf(id);
  }

  /** A fresh address for the picture on screen, whose old one has run out. */
  async renewed() {
    const others = this.held.filter(({ id }) => id !== this.current.id).map(({ id }) => id);
    const { data } = await post(`${this.#api}next/`, { holding: others });
    return data?.id === this.current.id ? data.image.url : null;
  }
}

/** Fetch and decode a picture. One that fails says so when it is shown. */
async function loaded(url) {
  const image = new Image();
  image.src = url;
  await image.decode().catch(() => {});
  return image;
}
