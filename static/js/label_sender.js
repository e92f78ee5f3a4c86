// Sends one answer until its outcome is known. The very same bytes go out each time, so that a lost confirmation
// costs nothing: the server knows a repeated answer and gives the same receipt.

import { post, Refusal, Unreachable } from "./label_api.js";

const WAITS_S = [1, 2, 4, 8, 15, 30];

/**
 * `onWaiting(seconds)` is called before each pause, `askToSignIn()` resolves to true once signed in and to false
 * when put off. Outcomes: {receipt}, {refusal} or {putOff, uncertain}; uncertain when an earlier try may have arrived.
 */
export class Sender {
  #wake = () => {};
  #onWaiting;
  #askToSignIn;

  constructor({ onWaiting, askToSignIn }) {
    this.#onWaiting = onWaiting;
    this.#askToSignIn = askToSignIn;
    addEventListener("online", () => this.now());
  }

  /** End the present pause. */
  now() {
    this.#wake();
  }

  async send(url, answer) {
    for (let unanswered = 0; ; ) {
      try {
        return { receipt: (await post(url, answer)).data };
      } catch (error) {
        if (error instanceof Refusal && !error.needsSignIn) return { refusal: error };
        if (error instanceof Refusal) {
          if (!(await this.#askToSignIn())) return { putOff: true, uncertain: unanswered > 0 };
        } else if (error instanceof Unreachable) {
          await this.#pause(WAITS_S[Math.min(unanswered, WAITS_S.length - 1)]);
          unanswered += 1;
        } else {
          throw error;
        }
      }
    }
  }

  #pause(seconds) {
    this.#onWaiting(seconds);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, seconds * 1000);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
