// The pictures at hand: the one on screen, and the next ones, already leased and decoded.

import { post, Refusal, Unreachable } from "./label_api.js";

const AHEAD = 2;

export class Pictures {
  #api;
  #ahead = [];
  #filling = null;
  #first;
  current = null;

  /** `api` is the address of the assignments; `first` the assignment the page came with, or null. */
  constructor(api, first) {
    this.#api = api;
    this.#first = first;
    this.current = first;
  }

  /** Whether the picture on screen is the one the page came with. */
  get isFirst() {
    return this.current !== null && this.current === this.#first;
  }

  get held() {
    return [this.current, ...this.#ahead.map(({ assignment }) => assignment)].filter(Boolean);
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
      while (this.current && this.#ahead.length < AHEAD) {
        const { data } = await this.#next();
        if (!data || this.held.some(({ id }) => id === data.id)) return;
        this.#ahead.push({ assignment: data, image: loaded(data.image.url) });
      }
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
    }
  }

  #next() {
    return post(`${this.#api}next/`, { holding: this.held.map(({ id }) => id) });
  }

  /**
   * Go on to the next picture: at once when one is at hand, else by asking. Returns {assignment} or
   * {retryAfter} when nothing is left; throws Refusal or Unreachable.
   */
  async advance() {
    this.current = null;
    if (!this.#ahead.length) await this.#filling;
    this.current = this.#ahead.shift()?.assignment ?? null;
    if (this.current) return { assignment: this.current };
    const { data, retryAfter } = await this.#next();
    this.current = data;
    if (data) await loaded(data.image.url);
    return data ? { assignment: data } : { retryAfter };
  }

  /** Forget a picture that is at hand no more. */
  drop(id) {
    this.#ahead = this.#ahead.filter(({ assignment }) => assignment.id !== id);
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
