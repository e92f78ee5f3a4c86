// How long it takes from a submit to the next picture on the screen, for whoever measures.

const SUBMIT_TO_PAINT = "submit-to-paint";
const MOST_MEASURES = 1000;

export class SubmitToPaint {
  /** @type {number | null} */
  #start = null;

  /** Something was submitted. */
  start() {
    this.#start = performance.now();
  }

  /** Another screen than the next picture is shown. */
  drop() {
    this.#start = null;
  }

  /**
   * The next picture is up, as soon as it is decoded.
   * @param {Promise<void>} decoded
   */
  async end(decoded) {
    const start = this.#start;
    if (start === null) return;
    this.#start = null;
    await decoded;
    await painted();
    performance.measure(SUBMIT_TO_PAINT, { start });
    if (performance.getEntriesByName(SUBMIT_TO_PAINT).length >= MOST_MEASURES) performance.clearMeasures(SUBMIT_TO_PAINT);
  }
}

/** Resolves when the next frame has been painted. */
function painted() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(resolve));
  });
}
