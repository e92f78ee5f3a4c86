// The screen in place of a picture: nothing is free, nothing is left, or answers have to go out first.

import { byId } from "./dom.js";
import { anyOpen } from "./label_dialogs.js";
import { WAITS_FOR } from "./label_outbox.js";
import { clock, counted, words } from "./label_words.js";

/** @import { Held } from "./label_api.js" */
/** @import { Bar } from "./label_bar.js" */

const LOOK_AGAIN_S = 60;

export class EmptyScreen {
  #bar;
  #onLookAgain;
  #timer = 0;

  /**
   * @param {Bar} bar
   * @param {() => void} onLookAgain
   */
  constructor(bar, onLookAgain) {
    this.#bar = bar;
    this.#onLookAgain = onLookAgain;
  }

  hide() {
    clearTimeout(this.#timer);
    byId("empty").hidden = true;
    byId("label-form").hidden = false;
  }

  /**
   * Nothing is left, or others hold what is left.
   * @param {string} text
   * @param {number} retryAfter seconds; 0 for the usual time
   * @param {Held | null} held
   */
  showHeld(text, retryAfter, held) {
    if (!held) return this.show(text, retryAfter, words.nothingLeft, words.nothingLeftNext);
    const explanation = counted(words.nothingFreeNext, held.pictures, { until: clock(held.until) });
    return this.show(text, retryAfter, words.nothingFree, explanation);
  }

  /**
   * @param {string} text
   * @param {number} retryAfter seconds; 0 for the usual time
   * @param {string} title
   * @param {string} explanation
   */
  show(text, retryAfter, title, explanation) {
    byId("label-form").hidden = true;
    byId("empty").hidden = false;
    byId("empty-title").textContent = title;
    byId("empty-words").textContent = explanation;
    this.#bar.show(text);
    byId("look-again").focus({ preventScroll: true });
    this.lookAgainIn(retryAfter);
  }

  /**
   * Say how many answers wait, and for what.
   * @param {number} count
   * @param {string | undefined} why
   * @param {boolean} unkept whether this device would lose them
   */
  showWaiting(count, why, unkept) {
    const [title, forms] =
      why === WAITS_FOR.signIn ? [words.signInEnded, words.waitForSignIn] : [words.noConnection, words.waitForNetwork];
    const kept = unkept ? words.leaveOpen : words.goesOutByItself;
    this.show("", 0, title, `${counted(forms, count)} ${counted(kept, count)}`);
  }

  /** @param {number} seconds 0 for the usual time */
  lookAgainIn(seconds) {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#lookAgain(), (seconds || LOOK_AGAIN_S) * 1000);
  }

  #lookAgain() {
    if (anyOpen()) return;
    this.lookAgainIn(LOOK_AGAIN_S);
    if (document.visibilityState === "visible") this.#onLookAgain();
  }
}
