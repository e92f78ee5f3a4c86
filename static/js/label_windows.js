// Windows of one browser that label for the same account: each hears what the others have done.

/**
 * @typedef {object} WindowNews
 * @property {string} [drafted] the id of an assignment whose draft has changed
 * @property {number} [revision] of that draft
 * @property {string} [queued] the id of an assignment that was submitted
 * @property {string} [settled] the id of an assignment whose answer is settled
 */

export class Windows {
  #account;
  #channel = new BroadcastChannel("unanimous.labeling");

  /** @param {string} account */
  constructor(account) {
    this.#account = account;
  }

  /** @param {WindowNews} news */
  send(news) {
    this.#channel.postMessage({ ...news, account: this.#account });
  }

  /** @param {(news: WindowNews) => void} onNews */
  listen(onNews) {
    this.#channel.addEventListener("message", ({ data: { account, ...news } }) => {
      if (account === this.#account) onNews(news);
    });
  }
}
