// What organizers publish while somebody labels: notices to the tasker, and new versions of the instructions.

import { post, Refusal, Unreachable } from "./label_api.js";
import * as dialogs from "./label_dialogs.js";
import { data } from "./label_words.js";

/** @import { Bar } from "./label_bar.js" */
/** @import { NewsItem, Notice } from "./label_dialogs.js" */

export class News {
  #bar;
  #read = data.instructionsRead; // the newest version of the instructions that was read
  /** @type {Map<number, Promise<NewsItem[] | null>>} */
  #news = new Map(); // version -> what changed up to it

  /** @param {Bar} bar */
  constructor(bar) {
    this.#bar = bar;
  }

  /** @param {Notice[]} notices */
  showNotices(notices) {
    for (const { id, text } of notices) {
      const onDismiss = () => post(`${data.noticesUrl}${id}/seen/`).catch(ignored);
      this.#bar.leave(text, { name: `notice-${id}`, onDismiss });
    }
  }

  async fetchNotices() {
    this.showNotices(await dialogs.notices(data.noticesUrl));
  }

  /**
   * What changed up to a version, fetched as soon as a picture under it is at hand; null where nothing did.
   * @param {number} version
   */
  fetch(version) {
    if (!(version > this.#read)) return null;
    const fetching = this.#news.get(version) ?? dialogs.newsSince(data.newsUrl, this.#read);
    this.#news.set(version, fetching);
    return fetching;
  }

  /**
   * Show what changed up to a version, until it is acknowledged.
   * @param {number} version
   * @param {Promise<NewsItem[] | null>} fetching
   */
  async show(version, fetching) {
    const news = await fetching;
    if (news === null) this.#news.delete(version);
    await dialogs.showNews(news);
    if (news === null || version <= this.#read) return;
    this.#read = version;
    remember({ instructions: version });
  }
}

const SOON_MS = 500;
let soon = {};
let timer = 0;

/**
 * Keep preferences once the tasker has stopped changing them.
 * @param {object} preferences
 */
export function rememberSoon(preferences) {
  soon = { ...soon, ...preferences };
  clearTimeout(timer);
  timer = setTimeout(() => {
    remember(soon);
    soon = {};
  }, SOON_MS);
}

/**
 * Keep preferences of the tasker.
 * @param {object} preferences
 */
function remember(preferences) {
  post(data.preferencesUrl, preferences).catch(ignored);
}

/**
 * Comfort alone: without an answer it is simply not remembered.
 * @param {unknown} error
 */
function ignored(error) {
  if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
}
